package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/lab/testkit"
	"pigrep/query/blame"
)

// checkout is a repository of the git program, whose user has no settings.
type checkout struct {
	dir  string
	env  []string
	made int // commits
}

func (c *checkout) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", c.dir}, args...)...)
	now := time.Unix(firstCommit+int64(c.made)*60, 0).UTC().Format(time.RFC3339)
	cmd.Env = append(append(os.Environ(), c.env...), "GIT_AUTHOR_DATE="+now, "GIT_COMMITTER_DATE="+now)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, errs.String())
	}
	return strings.TrimSpace(string(out))
}

const firstCommit = 1768471200

// commit writes files, and commits everything, a minute after the commit before.
func (c *checkout) commit(t *testing.T, subject string, files map[string]string) {
	t.Helper()
	c.made++
	for name, text := range files {
		testkit.Check(t, os.MkdirAll(filepath.Dir(filepath.Join(c.dir, name)), 0o755))
		testkit.Check(t, os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644))
	}
	c.git(t, "add", "-A")
	c.git(t, "commit", "-q", "--allow-empty", "-m", subject)
}

// log is what logged says of a directory or file below the checkout, as text.
func (c *checkout) log(t *testing.T, name string, env ...string) (list []string, warned string) {
	t.Helper()
	a, _, errs := testApp(t)
	a.WorkDir = c.dir
	a.Environ = func() []string { return append(append(os.Environ(), c.env...), env...) }
	dir, commits, err := logged(t.Context(), a, name, 100)
	if err == nil {
		_, err = addPatches(t.Context(), a, dir, commits)
	}
	if err != nil {
		return []string{err.Error()}, errs.String()
	}
	for i := range commits {
		list = append(list, told(&commits[i]))
	}
	return list, errs.String()
}

func told(c *blame.Commit) string {
	return fmt.Sprintf("%d %s %q", c.Time.Unix(), c.Subject, c.Added)
}

// subjects are the subjects of commits alone.
func subjects(list []string) string {
	var b strings.Builder
	for _, l := range list {
		_, rest, _ := strings.Cut(l, " ")
		b.WriteString(rest[:strings.Index(rest, " map[")] + "\n")
	}
	return b.String()
}

// oddText has lines that look like the output of git.
var oddText = []string{
	"\x01" + strings.Repeat("0123456789", 4) + "\x00"[:0] + " \x01 a line of controls", "++ b/other.go", "-- a/other.go", "+@@ -1,9 +1,9 @@",
	"@@ -1,9 +1,9 @@", "diff --git a/other.go b/other.go", strings.Repeat("a", 40), `\ No newline at end of file`, "commit " + strings.Repeat("b", 40), "", "the last line without an end",
}

// manyCommits makes a repository with what is hard to read in it, and returns what log is to say.
func manyCommits(t *testing.T) (c *checkout, want []string) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Check(t, err)
	c = &checkout{dir: filepath.Join(dir, "app"), env: []string{
		"GIT_CONFIG_GLOBAL=" + filepath.Join(dir, "none"), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=n@example.org", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=n@example.org",
	}}
	testkit.Check(t, os.Mkdir(c.dir, 0o755))
	c.git(t, "init", "-q", "-b", "main", ".")
	expect := func(subject string, added map[string][]string) {
		want = append([]string{fmt.Sprintf("%d %s %q", firstCommit+c.made*60, subject, added)}, want...)
	}
	c.commit(t, "the first", map[string]string{"plain.go": "one\ntwo\nthree\n", "logo.png": "\x89PNG\x00\n"})
	expect("the first", map[string][]string{"plain.go": {"one", "two", "three"}})

	c.commit(t, "odd \x01 text", map[string]string{"plain.go": "one\n2\nthree\n", "src/odd.txt": strings.Join(oddText, "\n"), "src/crlf.txt": "one\r\ntwo\r\n"})
	expect("odd \x01 text", map[string][]string{"plain.go": {"2"}, "src/odd.txt": oddText, "src/crlf.txt": {"one\r", "two\r"}})

	odd := map[string]string{"src/with space.go": "spaces\n", "src/[id].go": "brackets\n", "src/i.go": "what brackets match\n", "src/ümlaut.go": "beyond ASCII\n",
		"src/-x.go": "an option\n", "src/--output=owned.go": "another option\n"}
	if runtime.GOOS != "windows" { // which has no such names
		odd["src/a\tb \"quoted\"\n.go"] = "quoted\n"
	}
	added := make(map[string][]string)
	for name, text := range odd {
		added[name] = []string{strings.TrimSuffix(text, "\n")}
	}
	c.git(t, "config", "i18n.commitEncoding", "ISO-8859-1")
	c.commit(t, "odd names \xe9", odd)
	c.git(t, "config", "--unset", "i18n.commitEncoding")
	expect("odd names é", added)

	c.git(t, "mv", "plain.go", "moved.go")
	c.git(t, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",module")
	testkit.Check(t, os.Mkdir(filepath.Join(c.dir, "module"), 0o755))
	c.commit(t, "moved, with a submodule", nil)
	expect("moved, with a submodule", map[string][]string{"moved.go": {"one", "2", "three"}})

	c.commit(t, "nothing", nil)
	expect("nothing", nil)
	c.git(t, "checkout", "-q", "-b", "side")
	c.commit(t, "aside", map[string]string{"side.go": "aside\n"})
	expect("aside", map[string][]string{"side.go": {"aside"}})
	c.git(t, "checkout", "-q", "main")
	c.made++
	c.git(t, "merge", "-q", "--no-ff", "-m", "merged", "side")
	expect("merged", nil)
	return c, want
}

// What log says of commits is the same whatever a repository or its user sets, and no program runs
// that they name.
func TestSettingsChangeNoCommit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git makes the repositories")
	}
	t.Parallel()
	c, want := manyCommits(t)
	mark := filepath.Join(filepath.Dir(c.dir), "a program ran")
	trap := filepath.Join(filepath.Dir(c.dir), "trap")
	testkit.Check(t, os.WriteFile(trap, []byte("#!/bin/sh\necho trapped\necho >'"+mark+"'\n"), 0o755))
	plain := c.git(t, "config", "--local", "--list")
	// Settings may be in other files, and programs in the directory of hooks.
	included := filepath.Join(filepath.Dir(c.dir), "included")
	programs := "[diff]\n\texternal = " + trap + "\n[core]\n\tfsmonitor = " + trap + "\n\tpager = " + trap + "\n\thooksPath = " + filepath.Dir(trap) + "\n[diff \"go\"]\n\ttextconv = " + trap + "\n\tcommand = " + trap + "\n[filter \"go\"]\n\tclean = " + trap + "\n\tprocess = " + trap + "\n"
	for _, file := range []string{included, filepath.Join(c.dir, ".git", "config.worktree")} {
		testkit.Check(t, os.WriteFile(file, []byte(filepath.ToSlash(programs)), 0o644))
	}
	for _, hook := range []string{"fsmonitor-watchman", "post-index-change", "pre-auto-gc", "reference-transaction", "post-checkout", "query-watchman"} {
		testkit.Check(t, os.WriteFile(filepath.Join(c.dir, ".git", "hooks", hook), []byte("#!/bin/sh\nexec '"+trap+"'\n"), 0o755))
	}
	for name, set := range map[string][]string{
		"nothing":        nil,
		"prefixes":       {"diff.noprefix", "true", "diff.mnemonicPrefix", "true", "diff.srcPrefix", "x/", "diff.dstPrefix", "y/"},
		"colours":        {"color.ui", "always", "color.diff", "always", "diff.colorMoved", "zebra", "diff.wsErrorHighlight", "all"},
		"how log writes": {"log.showRoot", "false", "log.follow", "true", "log.decorate", "full", "log.date", "raw", "log.abbrevCommit", "true", "log.diffMerges", "separate", "format.pretty", "oneline", "core.abbrev", "4", "i18n.logOutputEncoding", "ISO-8859-1"},
		"how diff works": {"diff.renames", "copies", "diff.relative", "true", "diff.context", "9", "diff.interHunkContext", "9", "diff.algorithm", "patience", "diff.suppressBlankEmpty", "true", "diff.orderFile", "none", "diff.submodule", "diff", "diff.ignoreSubmodules", "none"},
		"quoted paths":   {"core.quotePath", "true"},
		"programs": {
			"core.pager", trap, "pager.log", trap, "pager.diff-tree", trap, "pager.rev-list", trap, "diff.external", trap, "core.fsmonitor", trap, "core.editor", trap, "core.sshCommand", trap, "core.askPass", trap, "credential.helper", trap,
			"diff.go.command", trap, "diff.go.textconv", trap, "filter.go.clean", trap, "filter.go.smudge", trap, "filter.go.process", trap,
			"core.gitProxy", trap, "core.alternateRefsCommand", trap, "uploadpack.packObjectsHook", trap, "sequence.editor", trap, "interactive.diffFilter", trap, "trailer.x.command", trap, "merge.go.driver", trap, "diff.trustExitCode", "true",
			"remote.origin.url", "ext::" + trap, "remote.origin.promisor", "true", "remote.origin.vcs", trap, "protocol.ext.allow", "always", "submodule.module.url", "ext::" + trap, "submodule.module.update", "!" + trap, "submodule.recurse", "true",
			"gpg.ssh.program", trap, "gpg.x509.program", trap, "commit.gpgSign", "true", "web.browser", trap, "browser.x.cmd", trap, "man.x.cmd", trap, "gc.auto", "1", "gc.recentObjectsHook", trap, "maintenance.auto", "true",
			"gpg.program", trap, "log.showSignature", "true", "alias.log", "!" + trap, "alias.rev-list", "!" + trap, "alias.diff-tree", "!" + trap, "core.hooksPath", filepath.Dir(trap),
		},
		"includes":        {"include.path", included, "includeIf.gitdir:**.path", included},
		"of the worktree": {"extensions.worktreeConfig", "true"},
		"a mailmap":       {"log.mailmap", "true", "mailmap.file", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Check(t, os.WriteFile(filepath.Join(c.dir, ".git", "info", "attributes"), []byte("*.go diff=go filter=go\n"), 0o644))
			for i := 0; i < len(set); i += 2 {
				c.git(t, "config", set[i], set[i+1])
				defer c.git(t, "config", "--unset", set[i])
			}
			list, warned := c.log(t, "")
			if diff := cmp.Diff(want, list); diff != "" || warned != "" {
				t.Errorf("log (-want +got):\n%s%s", diff, warned)
			}
			list, _ = c.log(t, "src")
			if diff := cmp.Diff(want[4:6], list); diff != "" {
				t.Errorf("log src (-want +got):\n%s", diff)
			}
			if list, _ := c.log(t, filepath.Join(c.dir, "src", "[id].go")); subjects(list) != "odd names é\n" {
				t.Errorf("log of a name with brackets: %q", list)
			}
			for _, option := range []string{"-x.go", "--output=owned.go"} {
				if list, warned := (&checkout{dir: filepath.Join(c.dir, "src"), env: c.env}).log(t, option); subjects(list) != "odd names é\n" || warned != "" {
					t.Errorf("log of %s: %q, %s", option, list, warned)
				}
			}
			if _, err := os.Stat(filepath.Join(c.dir, "src", "owned.go")); err == nil {
				t.Error("the name of a file was an option")
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("a program ran")
			}
		})
	}
	if now := c.git(t, "config", "--local", "--list"); now != plain {
		t.Errorf("settings are left:\n%s", now)
	}

	for name, env := range map[string][]string{
		"paths":    {"GIT_GLOB_PATHSPECS=1", "GIT_ICASE_PATHSPECS=1", "GIT_LITERAL_PATHSPECS=0"},
		"diff":     {"GIT_DIFF_OPTS=--unified=9", "GIT_EXTERNAL_DIFF=" + trap},
		"pager":    {"GIT_PAGER=" + trap, "PAGER=" + trap, "GIT_PAGER_IN_USE=1"},
		"traces":   {"GIT_TRACE=1", "GIT_TRACE_SETUP=1"},
		"language": {"LANGUAGE=de", "LC_ALL=de_DE.UTF-8", "LANG=de_DE.UTF-8"},
		"settings": {"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=" + trap, "GIT_CONFIG_KEY_1=diff.noprefix", "GIT_CONFIG_VALUE_1=true"},
		"where":    {"GIT_DIR=" + filepath.Join(c.dir, ".git"), "GIT_WORK_TREE=" + c.dir},
	} {
		list, warned := c.log(t, "", env...)
		if diff := cmp.Diff(want, list); diff != "" || warned != "" {
			t.Errorf("%s (-want +got):\n%s%s", name, diff, warned)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the environment ran")
	}

	// The trap works: a plain git falls into it.
	c.git(t, "-c", "diff.external="+trap, "log", "-p", "--ext-diff")
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the trap does not work: %v", err)
	}
}

// Other kinds of repositories: what they have is listed, and what they lack is said; nothing is fetched.
func TestKindsOfRepositories(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git makes the repositories")
	}
	t.Parallel()
	c, want := manyCommits(t)
	beside := filepath.Dir(c.dir)
	at := func(name string) *checkout { return &checkout{dir: filepath.Join(beside, name), env: c.env} }
	mark := filepath.Join(beside, "a program ran")
	trap := filepath.Join(beside, "trap")
	testkit.Check(t, os.WriteFile(trap, []byte("#!/bin/sh\necho >'"+mark+"'\nexec git-upload-pack \"$@\"\n"), 0o755))

	c.git(t, "worktree", "add", "-q", at("tree").dir, "side")
	c.git(t, "clone", "-q", "--bare", c.dir, at("bare.git").dir)
	c.git(t, "config", "uploadpack.allowFilter", "true")
	c.git(t, "clone", "-q", "--depth", "2", "file://"+filepath.ToSlash(c.dir), at("shallow").dir)
	c.git(t, "clone", "-q", "--bare", "--filter=blob:none", "file://"+filepath.ToSlash(c.dir), at("partial.git").dir)
	at("partial.git").git(t, "config", "remote.origin.uploadpack", trap)
	testkit.Check(t, os.WriteFile(filepath.Join(c.dir, ".mailmap"), []byte("other <o@example.org> <n@example.org>\n"), 0o644))

	for name, wanted := range map[string][]string{"app": want, "tree": want[1:], "bare.git": want} {
		if list, warned := at(name).log(t, ""); !cmp.Equal(wanted, list) || warned != "" {
			t.Errorf("%s (-want +got):\n%s%s", name, cmp.Diff(wanted, list), warned)
		}
	}
	if list, _ := at("shallow").log(t, ""); subjects(list) != "merged\naside\nnothing\n" {
		t.Errorf("a shallow clone has %q", list)
	}
	a, _, _ := testApp(t)
	if _, err := commitOf(t.Context(), a, at("shallow").dir, want[len(want)-1]); err == nil || !strings.Contains(fmt.Sprintf("%+v", err), "there is no commit") {
		t.Errorf("a commit that a shallow clone lacks: %v", err)
	}
	if list, warned := at("partial.git").log(t, ""); subjects(list) != subjects(want) || !strings.Contains(warned, "git cannot say what some of the commits changed") {
		t.Errorf("a partial clone has %q, %s", list, warned)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the program of the remote ran")
	}
	at("partial.git").git(t, "log", "-p") // fetches
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the trap does not work: %v", err)
	}
	if list, _ := c.log(t, "", "GIT_TEST_ASSUME_DIFFERENT_OWNER=1"); !strings.Contains(list[0], "git does not trust the repository") {
		t.Errorf("a repository of somebody else: %q", list)
	}
	if runtime.GOOS != "windows" {
		testkit.Symlink(t, c.dir, at("linked").dir)
		if list, _ := at("linked").log(t, "moved.go"); subjects(list) != "moved, with a submodule\n" {
			t.Errorf("through a link: %q", list)
		}
	}
	for name, wanted := range map[string]string{"gone.go": "", "plain.go": "moved, with a submodule\nodd \x01 text\nthe first\n", "src/../moved.go": "moved, with a submodule\n"} {
		if list, warned := c.log(t, name); subjects(list) != wanted || warned != "" {
			t.Errorf("log %s: %q, %s", name, list, warned)
		}
	}
}

// Lines beyond what is kept are never taken for none: the commit is marked.
func TestReadPatchesMarksWhatItDoesNotKeep(t *testing.T) {
	patch := func(hash string, lines ...string) string {
		return fmt.Sprintf("%s\n--- a/f\n+++ b/f\n@@ -0,0 +1,%d @@\n+%s\n", hash, len(lines), strings.Join(lines, "\n+"))
	}
	text := patch("aa", "one", "two") + patch("bb", "three", "four", "five") + patch("cc") + patch("dd", "six") + "ee\n"
	for _, c := range []struct {
		most, all int
		want      string
	}{
		{100, 100, `aa ["one" "two"] bb ["three" "four" "five"] cc [] dd ["six"] ee []`},
		{9, 100, `aa ["one" "two"] bb ["three" "four"] unread cc [] dd ["six"] ee []`},
		{100, 12, `aa ["one" "two"] bb [] unread cc [] dd [] unread ee []`},
	} {
		list := []blame.Commit{{Hash: "aa"}, {Hash: "bb"}, {Hash: "cc"}, {Hash: "dd"}, {Hash: "ee"}}
		last := readPatches(bufio.NewReader(strings.NewReader(text)), list, c.most, c.all)
		var got []string
		for _, l := range list {
			got = append(got, fmt.Sprintf("%s %q", l.Hash, l.Added["f"]))
			if l.Unread {
				got = append(got, "unread")
			}
		}
		if have := strings.Join(got, " "); have != c.want || last.Hash != "ee" {
			t.Errorf("readPatches(%d, %d) = %s, want %s", c.most, c.all, have, c.want)
		}
	}
}
