package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/teatest/v2"
	"github.com/google/go-cmp/cmp"

	"pigrep/internal/terminal"
)

// updating reports whether goldens are written. The flag is that of teatest.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// probe asks a model in a program for its screen.
type probe struct{ answer chan snapshot }

type snapshot struct {
	screen string
	busy   bool // something is still to come
}

// probed is a model that answers probes.
type probed struct{ *Model }

func (p probed) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if msg, ok := msg.(probe); ok {
		lines, _ := p.screen()
		busy := p.search.running != nil || !p.search.answered || p.preview.running != nil || p.preview.find.running != nil || p.preview.touring != nil || p.asking != nil || p.menu != nil && p.menu.empty == reading || p.width == 0
		msg.answer <- snapshot{strings.Join(lines, "\n"), busy}
		return p, nil
	}
	_, cmd := p.Model.Update(msg)
	return p, cmd
}

// checkScreen checks the invariants of every screen.
func checkScreen(t testing.TB, m *Model) {
	t.Helper()
	lines, cursor := m.screen()
	if m.width >= 4 && m.height >= frame+1 && len(lines) != m.height {
		t.Errorf("%d lines on a screen of %d", len(lines), m.height)
	}
	for i, l := range lines {
		if w := terminal.Width(l); w > m.width || m.width >= 4 && m.height >= frame+1 && w != m.width {
			t.Errorf("line %d of %dx%d is %d cells wide: %q", i, m.width, m.height, w, l)
		}
		if i := strings.IndexFunc(ansi.Strip(l), func(r rune) bool { return unicode.IsControl(r) || r == '\u202e' }); i >= 0 {
			t.Errorf("line %d has a control character: %q", i, l)
		}
		for _, seq := range strings.Split(l, "\x1b")[1:] {
			if target, ok := strings.CutPrefix(seq, "]8;;"); ok && m.options.Links != nil {
				target, _, _ = strings.Cut(target, "\x07")
				if target != "" && !strings.HasPrefix(target, "file://") || strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r > '~' }) {
					t.Errorf("line %d links to %q", i, target)
				}
				continue
			}
			if end := strings.IndexFunc(seq, unicode.IsLetter); seq[0] != '[' || end < 0 || seq[end] != 'm' {
				t.Errorf("line %d has a sequence that is no look: %q", i, l)
			}
		}
	}
	if cursor != nil && (cursor.X < 0 || cursor.X >= max(1, m.width) || cursor.Y < 0 || cursor.Y >= max(1, m.height)) {
		t.Errorf("the cursor of %dx%d is at %d, %d", m.width, m.height, cursor.X, cursor.Y)
	}
}

// Every screen is looked at as a whole, at the sizes of a small pane, a usual
// terminal and a large one.
func TestScreens(t *testing.T) {
	steps := []struct {
		title string
		keys  []string
	}{
		{"the latest sessions", nil},
		{"a query", []string{"auth token"}},
		{"the next hit", []string{"down"}},
		{"a session in other scripts", []string{"down", "down"}},
		{"a line of 10,000 characters", []string{"down", "down", "down"}},
		{"a file that is gone", []string{"down", "down"}},
		{"reading", []string{"up", "tab"}},
		{"finding", []string{"/", "needle"}},
		{"the next place", []string{"enter", "n", "n"}},
		{"the prompts", []string{"esc", "p"}},
		{"another prompt", []string{"up", "enter"}},
		{"unfolded", []string{"O"}},
		{"the whole screen", []string{"esc", "z"}},
		{"the end", []string{"G"}},
		{"the list alone", []string{"esc", "alt+p"}},
		{"the preview below", []string{"alt+v", "alt+v"}},
		{"the filters", []string{"alt+v", "f2"}},
		{"narrowed", []string{"to"}},
		{"a filter set", []string{"backspace", "backspace", "down", "enter", "enter"}},
		{"nothing found", []string{"ctrl+u", "tokn"}},
		{"nothing found, word by word", []string{"ctrl+u", "zorblaxq +tokn"}},
		{"nothing found but without a filter", []string{"ctrl+u", "token project:nope"}},
		{"nothing found in this directory", []string{"ctrl+u", "token", "f5", "f6"}},
		{"only this session", []string{"f6", "down", "down", "down", "f7"}},
		{"all sessions again", []string{"f5", "f7"}},
		{"no hit with every word", []string{"ctrl+u", "zorblaxq token"}},
		{"no word", []string{"ctrl+u", "..."}},
		{"an error", []string{"ctrl+u", "broken"}},
		{"help", []string{"f1"}},
		{"a session that pi does not resume", []string{"esc", "ctrl+u", "token", "down", "down", "down", "down", "down", "alt+r"}},
		{"a conversation at its hit", []string{"enter"}},
		{"before an agent starts", []string{"esc", "up", "up", "enter", "r"}},
		{"back in the list", []string{"esc"}},
		{"a session without id and time", []string{"esc", "down", "down", "down", "down", "down"}},
	}
	for _, size := range []struct{ width, height int }{{40, 12}, {80, 24}, {200, 60}} {
		name := fmt.Sprintf("%dx%d", size.width, size.height)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := testModel(t, Options{WorkDir: "/home/u/empty"})
			m.state = State{Generation: 0, Ready: true}
			tm := teatest.NewTestModel(t, probed{m}, teatest.WithInitialTermSize(size.width, size.height))
			var got strings.Builder
			for _, step := range steps {
				for _, name := range step.keys {
					for _, k := range keyPresses(name) {
						tm.Send(k)
					}
					wait(t, tm)
				}
				fmt.Fprintf(&got, "=== %s\n", step.title)
				for line := range strings.Lines(wait(t, tm) + "\n") {
					got.WriteString(strings.TrimRight(ansi.Strip(line), " \n") + "\n")
				}
			}
			if err := tm.Quit(); err != nil {
				t.Fatal(err)
			}
			checkScreen(t, tm.FinalModel(t, teatest.WithFinalTimeout(time.Minute)).(probed).Model)
			golden(t, filepath.Join("testdata", name+".txt"), got.String())
		})
	}
}

// wait returns the screen when nothing more is to come.
func wait(t *testing.T, tm *teatest.TestModel) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		p := probe{make(chan snapshot, 1)}
		tm.Send(p)
		if s := <-p.answer; !s.busy {
			return s.screen
		}
		if time.Now().After(end) {
			t.Fatal("it never comes to rest")
		}
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if updating() {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), regenerate it with -update:\n%s", path, diff)
	}
}
