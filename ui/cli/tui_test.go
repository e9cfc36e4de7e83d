package cli

import (
	"runtime"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"pigrep/ui/tui"
)

// Flags of the commands that open the interface become text of its query.
func TestSeed(t *testing.T) {
	tests := []struct{ args, want string }{
		{"tui login redirect", "login redirect"},
		{"tui --kind call --tool bash docker", "docker kind:call tool:bash"},
		{"tui --kind call,result x", "x kind:call,result"},
		{"tui --since 2w --error --branch abandoned", "after:2w is:error branch:abandoned"},
		{"tui --project app --model opus --role user --session 01a1", "role:user session:01a1 project:app model:opus"},
		{"tui --project a --project b,c x", `x project:a,b,c`},
		{"tui --until 2026-01-31", "before:2026-02-01T00:00:00Z"},
		{"tui --cwd /src/app", "cwd:/src/app"},
	}
	for _, test := range tests {
		a, _, _ := testApp(t)
		if runtime.GOOS == "windows" && strings.Contains(test.args, "--cwd") {
			continue
		}
		o := &tuiOptions{}
		cmd := withFlags(o, "tui")
		if err := cmd.ParseFlags(strings.Fields(test.args)[1:]); err != nil {
			t.Fatal(err)
		}
		req, err := o.Request(a)
		if err != nil {
			t.Fatal(err)
		}
		if got := seed(&o.Shared, strings.Join(cmd.Flags().Args(), " "), req); got != test.want {
			t.Errorf("pigrep %s begins with %q, want %q", test.args, got, test.want)
		}
	}
}

func TestEditCommand(t *testing.T) {
	quote := func(s string) string { return "'" + s + "'" }
	tests := []struct {
		editor string
		line   int
		want   string
	}{
		{"vim", 7, "vim +7 '/s/a b.jsonl'"},
		{"/usr/bin/nvim -R", 7, "/usr/bin/nvim -R +7 '/s/a b.jsonl'"},
		{"code --wait", 7, "code --wait --goto '/s/a b.jsonl':7"},
		{"hx", 7, "hx '/s/a b.jsonl':7"},
		{"ed", 7, "ed '/s/a b.jsonl'"},
		{"vim", 0, "vim '/s/a b.jsonl'"},
	}
	for _, test := range tests {
		if got := editCommand(test.editor, "/s/a b.jsonl", test.line, quote); got != test.want {
			t.Errorf("editCommand(%q, %d) = %s, want %s", test.editor, test.line, got, test.want)
		}
	}
}

// settle runs a command of the model, and those that come of it.
func settle(m *tui.Model, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			settle(m, c)
		}
	case nil:
	default:
		_, next := m.Update(msg)
		settle(m, next)
	}
}

// --here begins with a toggle, which a key switches off, not with text of the query.
func TestHereIsAToggle(t *testing.T) {
	a, _, _ := testApp(t)
	o := &tuiOptions{}
	cmd := withFlags(o, "tui")
	if err := cmd.ParseFlags([]string{"--here", "--all-words", "--tool", "bash"}); err != nil {
		t.Fatal(err)
	}
	ui, err := o.beginning(a)
	if err != nil {
		t.Fatal(err)
	}
	if !ui.Here || ui.WorkDir != a.WorkDir || ui.Query != "tool:bash" || !ui.Request.AllWords {
		t.Errorf("begins here %t in %s, with %q, all words %t", ui.Here, ui.WorkDir, ui.Query, ui.Request.AllWords)
	}
}
