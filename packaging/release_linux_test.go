package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

const version = "v0.1.2"

// built is a release for one system that several tests look at; it lies in scratch.
var built = sync.OnceValues(func() (dir string, err error) {
	if scratch, err = os.MkdirTemp("", "pigrep-release-"); err != nil {
		return "", err
	}
	return scratch, (&release{root: "..", out: scratch, version: version}).run([]string{"linux/amd64"})
})

var scratch string

func TestMain(m *testing.M) {
	code := m.Run()
	if scratch != "" {
		_ = os.RemoveAll(scratch)
	}
	os.Exit(code)
}

func dist(t *testing.T) string {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, elem ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Two builds of a release give the same bytes, whatever the user's umask, zone,
// language and directories are.
func TestReproducible(t *testing.T) {
	first := dist(t)
	t.Setenv("TZ", "Asia/Kathmandu")
	t.Setenv("LC_ALL", "tr_TR.UTF-8")
	t.Setenv("GOFLAGS", "-trimpath=false")
	t.Setenv("TMPDIR", t.TempDir())
	second := filepath.Join(t.TempDir(), "elsewhere")
	defer syscall.Umask(syscall.Umask(0o077))
	if err := (&release{root: "..", out: second, version: version}).run([]string{"linux/amd64"}); err != nil {
		t.Fatal(err)
	}
	want, got := string(read(t, first, "SHA256SUMS")), string(read(t, second, "SHA256SUMS"))
	if strings.Count(want, "\n") != 5 || !regexp.MustCompile(`(?m)^[0-9a-f]{64}  pigrep_0.1.2_amd64.deb$`).MatchString(want) {
		t.Errorf("checksums:\n%s", want)
	}
	if got != want {
		t.Errorf("one build:\n%sanother:\n%s", want, got)
	}
}

// unpacked lists what a tar file has, with the modes, and checks that all of it belongs
// to root and has the time of the release.
func unpacked(t *testing.T, path string) map[string]fs.FileMode {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	r := &release{root: ".."}
	when, err := r.sourceTime()
	if err != nil {
		t.Fatal(err)
	}
	modes := make(map[string]fs.FileMode)
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if err == io.EOF {
			return modes
		}
		if err != nil {
			t.Fatal(err)
		}
		modes[h.Name] = h.FileInfo().Mode().Perm()
		if h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(when) {
			t.Errorf("%s belongs to %d:%d and is of %v", h.Name, h.Uid, h.Gid, h.ModTime)
		}
	}
}

func TestArchive(t *testing.T) {
	modes := unpacked(t, filepath.Join(dist(t), "pigrep-v0.1.2-linux-amd64.tar.gz"))
	const dir = "pigrep-v0.1.2-linux-amd64/"
	for name, mode := range map[string]fs.FileMode{
		"pigrep": 0o755, "LICENSE": 0o644, "THIRD-PARTY-LICENSES.txt": 0o644, "man/man1/pigrep-search.1": 0o644, "man/man7/pigrep-query.7": 0o644,
		"completions/pigrep.powershell": 0o644, "contrib/launchd/pigrep.watch.plist": 0o644, "docs/watch.md": 0o644, "extensions/pi/src/index.ts": 0o644,
	} {
		if modes[dir+name] != mode {
			t.Errorf("%s: mode %o, want %o", name, modes[dir+name], mode)
		}
	}
}

// An apk has no systemd unit; Alpine does not use systemd.
func TestAlpinePackage(t *testing.T) {
	modes := unpackedAPK(t, filepath.Join(dist(t), "pigrep_0.1.2_x86_64.apk"))
	for _, name := range []string{".PKGINFO", "usr/bin/pigrep", "usr/share/man/man1/pigrep.1.gz", "usr/share/zsh/site-functions/_pigrep", "usr/share/licenses/pigrep/LICENSE"} {
		if !slices.Contains(modes, name) {
			t.Errorf("no %s", name)
		}
	}
	if slices.ContainsFunc(modes, func(name string) bool { return strings.Contains(name, "systemd") }) {
		t.Error("it has a systemd unit")
	}
}

// unpackedAPK lists the files of an apk, which is several compressed tar files, one
// after the other, of which only the last has an end.
func unpackedAPK(t *testing.T, path string) (names []string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if err == io.EOF {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
}

// rpm accepts the package, where it is installed.
func TestRPM(t *testing.T) {
	path := filepath.Join(dist(t), "pigrep-0.1.2-1.x86_64.rpm")
	if data := read(t, path); !bytes.HasPrefix(data, []byte{0xed, 0xab, 0xee, 0xdb}) {
		t.Errorf("it begins with %x", data[:4])
	}
	rpm, err := exec.LookPath("rpm")
	if err != nil {
		t.Skip("rpm is not installed; only the first bytes of the package were read")
	}
	files := string(output(t, exec.Command(rpm, "-qlp", path)))
	for _, name := range []string{"/usr/bin/pigrep", "/usr/lib/systemd/user/pigrep-watch.service", "/usr/share/licenses/pigrep/LICENSE"} {
		if !strings.Contains(files, name+"\n") {
			t.Errorf("no %s", name)
		}
	}
	output(t, exec.Command(rpm, "-K", "--nosignature", path))
}

// The bill of materials names every module that the program is built from.
func TestBillOfMaterials(t *testing.T) {
	var bom cdx.BOM
	if err := json.Unmarshal(read(t, dist(t), "pigrep-v0.1.2-linux-amd64.cdx.json"), &bom); err != nil {
		t.Fatal(err)
	}
	if bom.Metadata.Component.Version != version || len(*(*bom.Dependencies)[0].Dependencies) != len(*bom.Components) {
		t.Errorf("%+v", bom.Metadata.Component)
	}
	listed := make(map[string]bool)
	for _, c := range *bom.Components {
		listed[c.PackageURL] = true
		if c.Name != "std" && c.Hashes == nil {
			t.Errorf("%s has no hash", c.Name)
		}
	}
	r := &release{root: ".."}
	out, err := r.command([]string{"GOOS=linux"}, "go", "list", "-deps", "-f", "{{with .Module}}{{if .Version}}{{.Path}}@{{.Version}}{{end}}{{end}}", ".")
	if err != nil {
		t.Fatal(err)
	}
	modules := slices.Compact(slices.Sorted(strings.FieldsSeq(string(out))))
	for _, m := range modules {
		if !listed["pkg:golang/"+m] {
			t.Errorf("no %s", m)
		}
	}
	if len(modules) < 30 || len(listed) != len(modules)+1 {
		t.Errorf("%d modules, %d components", len(modules), len(listed))
	}
}

func output(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Errorf("%v: %v\n%s%s", cmd.Args, err, out, &stderr)
	}
	return out
}

// The Debian package is installed below a directory of its own, used there by an
// ordinary user, and purged. The machine stays as it was.
func TestDebianPackage(t *testing.T) {
	deb := filepath.Join(dist(t), "pigrep_0.1.2_amd64.deb")
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("dpkg is not installed: this is no Debian")
	}
	if os.Getuid() != 0 {
		t.Skip("dpkg installs packages for root only")
	}
	root := t.TempDir()
	for _, dir := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	output(t, exec.Command("dpkg", "--root="+root, "--install", deb))
	at := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }

	// An ordinary user searches.
	home := t.TempDir()
	if err := os.CopyFS(filepath.Join(home, ".pi/agent/sessions"), os.DirFS("../testdata/sessions")); err != nil {
		t.Fatal(err)
	}
	user := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command(at("usr/bin/pigrep"), args...)
		cmd.Dir, cmd.Env = home, []string{"HOME=" + home}
		// A user without root's capabilities, who reaches the directories of this test.
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: 0, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: 0, Size: 1}},
		}
		return output(t, cmd)
	}
	if out := string(user("version")); !regexp.MustCompile(`^pigrep v0\.1\.2 \([0-9a-f]{12}(\+changes)?, go1\..*, linux/amd64, index schema \d+\)\n$`).MatchString(out) {
		t.Errorf("version: %s", out)
	}
	if out := string(user("search", "--quiet", `"exit code 137"`)); !strings.Contains(out, "exit code 137") {
		t.Errorf("search: %s", out)
	}

	// Pages, completions and the unit are where programs look for them.
	pages, err := filepath.Glob(at("usr/share/man/man[17]/pigrep*.gz"))
	if err != nil || len(pages) < 20 {
		t.Errorf("%d man pages, %v", len(pages), err)
	}
	if page := output(t, exec.Command("gzip", "-dc", at("usr/share/man/man1/pigrep-search.1.gz"))); !bytes.Contains(page, []byte(".SH FILTERS")) {
		t.Errorf("man page: %.300s", page)
	}
	script := at("usr/share/bash-completion/completions/pigrep")
	if out := string(output(t, exec.Command("bash", "-c", `. "$1" && complete -p pigrep`, "bash", script))); !strings.Contains(out, "-F __start_pigrep") {
		t.Errorf("completion: %s", out)
	}
	for _, name := range []string{"zsh/vendor-completions/_pigrep", "fish/vendor_completions.d/pigrep.fish"} {
		if !bytes.Contains(read(t, at("usr/share/"+name)), []byte("__complete")) {
			t.Errorf("%s completes nothing", name)
		}
	}
	unit := at("usr/lib/systemd/user/pigrep-watch.service")
	if text := string(read(t, unit)); !strings.HasPrefix(text, "[Unit]\n") || !strings.Contains(text, "ExecStart=/usr/bin/pigrep watch\n") {
		t.Errorf("unit:\n%s", text)
	}
	if analyze, err := exec.LookPath("systemd-analyze"); err == nil {
		// It looks for the program where the unit says.
		moved := filepath.Join(t.TempDir(), filepath.Base(unit))
		text := bytes.Replace(read(t, unit), []byte("/usr/bin/pigrep"), []byte(at("usr/bin/pigrep")), 1)
		if err := os.WriteFile(moved, text, 0o644); err != nil {
			t.Fatal(err)
		}
		verify := exec.Command(analyze, "--user", "verify", moved)
		verify.Env = append(os.Environ(), "HOME="+home, "XDG_RUNTIME_DIR="+home)
		output(t, verify)
	}
	if lintian, err := exec.LookPath("lintian"); err == nil {
		output(t, exec.Command(lintian, "--allow-root", "--fail-on", "error,warning", deb))
	}

	output(t, exec.Command("dpkg", "--root="+root, "--purge", "pigrep"))
	for _, left := range []string{"usr", "etc", "var/lib/dpkg/info/pigrep.list"} {
		if _, err := os.Lstat(at(left)); err == nil {
			t.Errorf("purging leaves %s", left)
		}
	}
	if status := read(t, root, "var/lib/dpkg/status"); len(bytes.TrimSpace(status)) > 0 {
		t.Errorf("purging leaves %s", status)
	}
}
