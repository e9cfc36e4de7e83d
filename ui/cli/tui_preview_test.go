package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"pigrep/query/engine/entry"
	"pigrep/scope"
	"pigrep/ui/tui"
)

// scan counts a text in what an entry says, without any index.
func scan(e *entry.Entry, text string, in scope.Scope) int {
	n := 0
	for i := range e.Parts {
		if in.Holds(e.Parts[i].Kind) {
			n += strings.Count(strings.ToLower(string(e.Parts[i].Text)), text)
		}
	}
	return n
}

// A search in a conversation counts what a plain scan of the file counts, as `pigrep grep -F -i
// -o` does, and each of its entries shows the text once it is unfolded.
func TestPreviewCounts(t *testing.T) {
	t.Parallel()
	b := newTestBackend(t)
	matches := 0
	for i, s := range summariesOf(t, b) {
		for _, text := range []string{"token", "the", "gateway", "e", "日", "getusername", "no such text"} {
			for _, in := range []scope.Scope{scope.Default, scope.All} {
				p := tui.Place{Path: s}
				got, err := b.find(t.Context(), p, text, in)
				if err != nil {
					t.Fatalf("%s: %v", s, err)
				}
				want := make(map[int]int)
				_, c, done, err := b.openPlace(p)
				if err != nil {
					t.Fatal(err)
				}
				for i := range c.Record.Nodes {
					e, err := c.Read(i)
					if err != nil {
						t.Fatal(err)
					}
					if n := scan(e, text, in); n > 0 {
						want[i] = n
					}
				}
				done()
				for _, f := range got {
					if f.Matches != want[f.Entry] {
						t.Errorf("%s entry %d: %d matches of %q, a scan finds %d", s, f.Entry, f.Matches, text, want[f.Entry])
					}
					delete(want, f.Entry)
					matches += f.Matches
					if i%3 == 0 && text == "token" {
						checkShown(t, b, p, f.Entry, text)
					}
				}
				for i, n := range want {
					t.Errorf("%s entry %d: no matches of %q, a scan finds %d", s, i, text, n)
				}
			}
		}
	}
	if matches < 1000 {
		t.Errorf("only %d matches in all samples", matches)
	}
}

func summariesOf(t *testing.T, b *tuiBackend) (paths []string) {
	t.Helper()
	x, err := b.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, s := range x.Reader.Summaries() {
		paths = append(paths, s.Path)
	}
	return paths
}

// checkShown checks that the preview of an entry shows the text when the entry is unfolded.
func checkShown(t *testing.T, b *tuiBackend, p tui.Place, entry int, text string) {
	t.Helper()
	page, err := b.preview(t.Context(), p, tui.Extent{Width: 100, At: entry, Around: 1, All: true})
	if err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	for _, l := range page.Lines {
		if l.Entry == entry {
			shown.WriteString(strings.ToLower(ansi.Strip(l.Text)))
		}
	}
	if !strings.Contains(strings.ReplaceAll(shown.String(), " ", ""), text) {
		t.Errorf("%s: entry %d has %q, its preview does not show it:\n%s", p.Path, entry, text, shown.String())
	}
}

// Every entry of a conversation can be reached, page by page.
func TestPreviewPages(t *testing.T) {
	t.Parallel()
	b := newTestBackend(t)
	for _, s := range summariesOf(t, b) {
		seen := 0
		for at := tui.AtStart; ; {
			page, err := b.preview(t.Context(), tui.Place{Path: s}, tui.Extent{Width: 80, At: at, Around: 2})
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Entries) == 0 {
				break
			}
			if first := page.Entries[0].Number; first > seen+1 {
				t.Fatalf("%s: the page around %d begins with entry %d, after %d", s, at, first, seen)
			}
			last := page.Entries[len(page.Entries)-1]
			seen = last.Number
			if !page.After {
				if seen != page.Total {
					t.Errorf("%s: %d of %d entries can be reached", s, seen, page.Total)
				}
				break
			}
			at = last.Index
		}
	}
}

// The command can be copied where pi is not installed; only running it needs pi.
func TestResumeWithoutPi(t *testing.T) {
	t.Parallel()
	b := newTestBackend(t)
	b.App.LookPath = func(string) (string, error) { return "", exec.ErrNotFound }
	dir := t.TempDir()
	path := filepath.Join(b.Location.Roots[0].Path, "new.jsonl")
	text := `{"type":"session","version":3,"id":"01a1aaaa-0000-7000-8000-000000000001","timestamp":"2026-03-01T10:00:00.000Z","cwd":"` + filepath.ToSlash(dir) + `"}` + "\n" +
		`{"type":"message","id":"e1","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"zyzzyva"}}` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := b.resume(t.Context(), tui.Place{Path: path}, tui.How{})
	if err != nil || !strings.Contains(r.Command, "pi") || !strings.Contains(r.Command, "new.jsonl") {
		t.Errorf("to be copied: %v, error %v", r, err)
	}
	if _, err := b.resume(t.Context(), tui.Place{Path: path}, tui.How{Run: true}); err == nil {
		t.Error("to be run: no error")
	}
}

// An export never overwrites a file, leaves nothing behind when it fails, and is private.
func TestTUIExport(t *testing.T) {
	t.Parallel()
	b := newTestBackend(t)
	b.App.WorkDir = t.TempDir()
	p := tui.Place{Path: summariesOf(t, b)[0]}
	var paths []string
	for _, format := range []string{"md", "md", "txt", "html", "json"} {
		path, err := b.export(t.Context(), p, format)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Size() == 0 || filepath.Ext(path) != "."+format {
			t.Errorf("%s: %v, %v", path, info, err)
		}
		for _, earlier := range paths {
			if earlier == path {
				t.Errorf("%s is written twice", path)
			}
		}
		paths = append(paths, path)
	}
	b.App.WorkDir = t.TempDir()
	if _, err := b.export(t.Context(), tui.Place{Path: p.Path + ".gone"}, "md"); err == nil {
		t.Error("a session that is not there is exported")
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, format := range exportFormats {
		if _, err := b.export(stopped, p, format); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: an export that was stopped: %v", format, err)
		}
	}
	if left, err := os.ReadDir(b.App.WorkDir); err != nil || len(left) > 0 {
		t.Errorf("exports that failed left %v, %v", left, err)
	}
	b.App.WorkDir = filepath.Join(b.App.WorkDir, "gone")
	_, err := b.export(t.Context(), p, "md")
	if h, ok := errors.AsType[tui.Hint](err); !ok || h.HintText() == "" || !strings.Contains(err.Error(), b.App.WorkDir) {
		t.Errorf("a directory that is not there: %v", err)
	}
}

func TestExportName(t *testing.T) {
	for _, test := range []struct{ title, want string }{
		{"Fix the login: token/expiry", "fix-the-login-token-expiry-01a1"},
		{"../../etc/passwd", "etc-passwd-01a1"},
		{"", "01a1"},
		{"修复登录", "修复登录-01a1"},
		{"\x1b]8;;x\x07", "8-x-01a1"},
	} {
		if got := exportName("", "--rm"); got != "rm" {
			t.Errorf("a name that is an option: %q", got)
		}
		if got := exportName(test.title, "01a1"); got != test.want {
			t.Errorf("exportName(%q) = %q, want %q", test.title, got, test.want)
		}
	}
}
