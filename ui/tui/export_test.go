package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// copies returns what the terminal was asked to copy.
func (d *driver) copies() []string {
	var got []string
	for _, msg := range d.msgs {
		if fmt.Sprintf("%T", msg) == "tea.setClipboardMsg" {
			got = append(got, fmt.Sprint(msg))
		}
	}
	return got
}

func TestCopy(t *testing.T) {
	d := drive(t, Options{}, 80, 24)
	d.keys("token", "alt+c")
	d.keys("tab", "alt+c")
	d.keys("alt+x", "the path", "enter", "alt+x", "the id", "enter")
	want := []string{"cd /home/u && pi --session /s/1.jsonl", "the text of e0", "/s/1.jsonl", "id1"}
	if diff := cmp.Diff(want, d.copies()); diff != "" {
		t.Errorf("copied (-want +got):\n%s", diff)
	}
}

// The menu of actions has all of them. Those that do not apply are dim, and say why.
func TestActionsThatDoNotApply(t *testing.T) {
	d := drive(t, Options{}, 120, 40)
	d.keys("alt+x", "down")
	if lines, _ := d.screen(); !strings.Contains(strings.Join(lines, "\n"), d.styles.dim.Render("copy the text of the entry")) {
		t.Fatalf("while a session is selected, not an entry, the menu is\n%s", plainScreen(d.Model))
	}
	d.keys("copy the text", "enter")
	if d.menu == nil || len(d.copies()) > 0 || !strings.Contains(plainScreen(d.Model), "no entry is selected") {
		t.Errorf("Enter on an action that does not apply:\n%s", plainScreen(d.Model))
	}
}

// A text that is longer than terminals take is only said to be copied if a program of the
// system has it.
func TestCopyOfALongText(t *testing.T) {
	for _, kept := range []bool{true, false} {
		b := fake()
		b.Text = func(context.Context, Place) (string, error) { return strings.Repeat("x", mostOSC52+1), nil }
		b.Copy = func(context.Context, string) bool { return kept }
		d := drive(t, Options{Backend: b}, 80, 24)
		d.keys("token", "tab", "alt+c")
		if said := strings.Contains(plainScreen(d.Model), "copied:"); said != kept || len(d.copies()) > 0 {
			t.Errorf("with a program %t: %d texts sent to the terminal\n%s", kept, len(d.copies()), plainScreen(d.Model))
		}
	}
}

// Marked sessions are exported together, whatever is searched meanwhile; an export says where
// it wrote.
func TestExport(t *testing.T) {
	d := drive(t, Options{}, 120, 40)
	d.keys("token", "shift+tab", "shift+tab")
	if screen := plainScreen(d.Model); !strings.Contains(screen, " ✓Why is the auth token") || !strings.Contains(screen, "2 marked") {
		t.Fatalf("marks do not show:\n%s", screen)
	}
	d.keys("ctrl+u", "alt+x", "export the marked")
	if d.menu != nil && len(d.menu.shown) > 0 {
		t.Fatal("a menu names what is not marked")
	}
	d.keys("esc", "alt+x", "2 marked html")
	d.keys("enter")
	if screen := plainScreen(d.Model); !strings.Contains(screen, "wrote ~/id1.html, ~/id2.html") || len(d.marked) > 0 {
		t.Errorf("after an export of two:\n%s", screen)
	}
	d.keys("token", "shift+tab", "shift+tab", "shift+tab", "alt+w", "enter")
	if screen := plainScreen(d.Model); !strings.Contains(screen, "2 of 3 exported (~/id1.md, ~/id2.md)") || !strings.Contains(screen, "the directory is read-only — do this instead") {
		t.Errorf("after an export that failed:\n%s", screen)
	}
	d.keys("esc")
	if len(d.marked) > 0 || d.query.text == "" {
		t.Error("Esc does not first take the marks away")
	}
}
