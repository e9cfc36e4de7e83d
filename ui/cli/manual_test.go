package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"pigrep/lab/testkit"
	"pigrep/ui/cli/help"
)

// help --man writes a page for every command, with all its flags, its examples and the exit
// codes, and for every topic. groff finds nothing wrong in them.
func TestManual(t *testing.T) {
	a, _, errs := testApp(t)
	dir := filepath.Join(t.TempDir(), "man")
	if code := Run(t.Context(), a, []string{"help", "--man", dir}); code != 0 || !strings.Contains(errs.String(), "man -M") {
		t.Fatalf("exit code %d, stderr %q", code, errs)
	}
	page := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(data), `\-`, "-")
	}
	for _, c := range everyCommand(newRootCommand(a)) {
		text := page("man1/" + strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1")
		for _, want := range append(strings.Split(c.Example, "\n"), ".SH EXIT STATUS", ".SH SEE ALSO", "pigrep(1)") {
			if !strings.Contains(text, strings.ReplaceAll(want, `\`, `\e`)) {
				t.Errorf("the page of %s lacks %q", c.CommandPath(), want)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if listed := f.Name != "help" && !f.Hidden; listed != strings.Contains(text, "--"+f.Name) && listed {
				t.Errorf("the page of %s lacks --%s", c.CommandPath(), f.Name)
			}
		})
	}
	if strings.Contains(page("man1/pigrep-version.1"), "--session-dir") {
		t.Error("the page of version lists a flag that means nothing to it")
	}
	for _, topic := range help.Topics {
		page("man7/pigrep-" + topic + ".7")
	}
	groff := testkit.Program(t, "groff")
	files, _ := filepath.Glob(filepath.Join(dir, "man*", "*"))
	for _, file := range files {
		if out, err := exec.Command(groff, "-man", "-ww", "-z", "-Tutf8", "-K", "utf8", file).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v %s", file, err, out)
		}
	}
}
