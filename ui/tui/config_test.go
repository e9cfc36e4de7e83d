package tui

import (
	"image/color"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// The tables of keys and colours are themselves a valid config, and name each thing once.
func TestDefaultsAreAConfig(t *testing.T) {
	c := Config{Keys: map[string][]string{}, Colors: map[string][]string{}}
	for _, choice := range Choices() {
		table := c.Keys
		if choice.Table == ColorsTable {
			table = c.Colors
		}
		if _, twice := table[choice.Name]; twice {
			t.Errorf("%s.%s is there twice", choice.Table, choice.Name)
		}
		table[choice.Name] = choice.Values
		for _, key := range choice.Values {
			if k, _ := parseKey(key); choice.Table == KeysTable && k != key {
				t.Errorf("the key %q of %s is read as %q", key, choice.Name, k)
			}
		}
	}
	if e := c.Check(); e != nil {
		t.Errorf("%v; %s", e, e.Hint)
	}
}

func TestParseKey(t *testing.T) {
	for text, want := range map[string]string{
		"ctrl+x": "ctrl+x", "Ctrl-X": "ctrl+x", "alt-shift-Up": "alt+shift+up", "shift+ctrl+f5": "ctrl+shift+f5", "F12": "f12",
		"PgDn": "pgdown", "escape": "esc", "G": "G", "+": "+", "ctrl+-": "ctrl+-", "日": "日",
		"": "", "ctrl": "", "ctrl+": "", "f21": "", "foo": "", "ctrl+foo": "", " ": "",
	} {
		if got, ok := parseKey(text); got != want || ok != (want != "") {
			t.Errorf("parseKey(%q) = %q, %t; want %q", text, got, ok, want)
		}
	}
}

// A key that the user chose does what it is for, in place of the usual one, and is what help
// and hints name.
func TestConfiguredKeys(t *testing.T) {
	c := Config{Keys: map[string][]string{"filters": {"Ctrl-X"}, "help": {"f11"}}}
	if e := c.Check(); e != nil {
		t.Fatal(e)
	}
	d := drive(t, Options{Config: c, Query: "token"}, 160, 40)
	if screen := plainScreen(d.Model); !strings.Contains(screen, "F11 help") || !strings.Contains(screen, "Ctrl-X filter") {
		t.Errorf("the last line does not name the keys:\n%s", screen)
	}
	if d.keys("f2"); d.menu != nil {
		t.Error("the usual key still opens the filters")
	}
	if d.keys("ctrl+x"); d.menu == nil {
		t.Error("the key of the settings file does not open the filters")
	}
	d.keys("esc", "f11")
	if screen := plainScreen(d.Model); !strings.Contains(screen, "  Ctrl-X ") || strings.Contains(screen, "F2 Alt-M") {
		t.Errorf("help does not have the keys of the settings file:\n%s", screen)
	}
}

func TestConfiguredColors(t *testing.T) {
	colors := map[string][]string{"match": {"#a00000", "bright-yellow"}, "dim": {"250"}, "title": {"default"}}
	if e := (Config{Colors: colors}).Check(); e != nil {
		t.Fatal(e)
	}
	onLight, onDark := newStyles(light, colors), newStyles(dark, colors)
	if onLight.match.GetForeground() != lipgloss.Color("#a00000") || onDark.match.GetForeground() != lipgloss.Color("11") {
		t.Errorf("match is %v on light, %v on dark", onLight.match.GetForeground(), onDark.match.GetForeground())
	}
	if onDark.dim.GetForeground() != lipgloss.Color("250") || onDark.dim.GetFaint() {
		t.Errorf("dim is %v, faint %t", onDark.dim.GetForeground(), onDark.dim.GetFaint())
	}
	if onDark.prompt.GetForeground() != newStyles(dark, nil).prompt.GetForeground() {
		t.Error("a role that is not in the settings changed")
	}
}

// The selected line is readable: its background fits the one that the terminal, or else COLORFGBG, tells; if
// neither does, its colours are reversed. A colour of the settings is used as it is.
func TestSelectionIsReadable(t *testing.T) {
	for _, x := range []struct {
		environ  string
		answer   tea.Msg
		colors   map[string][]string
		reversed bool
		selected string // of 256 colours
	}{
		{environ: "TERM=xterm", reversed: true},
		{environ: "COLORFGBG=0;15", selected: "254"},
		{environ: "COLORFGBG=0;default;7", selected: "254"},
		{environ: "COLORFGBG=15;0", selected: "237"},
		{environ: "COLORFGBG=7;8", selected: "237"},
		{environ: "COLORFGBG=default;default", reversed: true},
		{environ: "COLORFGBG=15;0", answer: tea.BackgroundColorMsg{Color: color.White}, selected: "254"},
		{environ: "TERM=xterm", answer: tea.BackgroundColorMsg{Color: color.Black}, selected: "237"},
		{environ: "TERM=xterm", colors: map[string][]string{"selection": {"17"}}, selected: "17"},
		{environ: "TERM=xterm", colors: map[string][]string{"selection": {"17", "18"}}, reversed: true},
	} {
		m := testModel(t, Options{Backend: fake(), Environ: []string{x.environ}, Config: Config{Colors: x.colors}})
		if x.answer != nil {
			m.update(x.answer)
		}
		v := view{styles: &m.styles, chosen: true}
		line := v.paint(v.plain, "a") + v.paint(v.match, "b") + v.paint(v.dim, "c")
		shaded, reversed := strings.Count(line, "48;5;"+x.selected+"m"), strings.Count(line, "[7m")+strings.Count(line, ";7;4m")
		if x.reversed && (reversed != 3 || strings.Contains(line, "48;")) || !x.reversed && (shaded != 3 || reversed > 0) {
			t.Errorf("%s, %v, %v: the selected line is %q", x.environ, x.answer, x.colors, line)
		}
	}
}
