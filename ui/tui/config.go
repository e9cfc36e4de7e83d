package tui

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"charm.land/lipgloss/v2"

	"pigrep/internal/lists"
	"pigrep/internal/near"
	"pigrep/internal/session"
)

// Config is what users can change.
type Config struct {
	Keys   map[string][]string // keys of actions, in place of the keys of the table
	Colors map[string][]string // colours of roles: one, or one for light and one for dark backgrounds
}

// ConfigError says why a value of a Config cannot be used.
type ConfigError struct {
	Table  string // keys or colors
	Name   string // the action or role
	Reason string
	Hint   string
}

func (e *ConfigError) Error() string { return e.Table + "." + e.Name + ": " + e.Reason }

// The tables of a Config.
const (
	KeysTable   = "keys"
	ColorsTable = "colors"
)

// Choice is an action or a role of Config, with its values unless the user changes them.
type Choice struct {
	Table, Name, Help string
	Values            []string
}

// Choices lists what a Config can change.
func Choices() []Choice {
	var list []Choice
	for _, b := range bindings {
		if b.name != "" {
			list = append(list, Choice{KeysTable, b.name, b.help, b.keys})
		}
	}
	return append(list, lists.Map(roles, func(r role) Choice { return Choice{ColorsTable, r.name, r.help, r.colors} })...)
}

// Check returns the first mistake in the config; nil if there is none.
func (c Config) Check() *ConfigError {
	for _, name := range slices.Sorted(maps.Keys(c.Keys)) {
		i := slices.IndexFunc(bindings, func(b binding) bool { return b.name == name })
		if i < 0 {
			return unknownName(KeysTable, name)
		}
		for _, key := range c.Keys[name] {
			k, ok := parseKey(key)
			if !ok {
				return &ConfigError{KeysTable, name, fmt.Sprintf("there is no key %q", key), "keys are written ctrl+x, alt+x, shift+up, f5, pgdown, tab; names: " + strings.Join(namedKeys(), ", ")}
			}
			if utf8.RuneCountInString(k) == 1 && bindings[i].in&inText != 0 {
				return &ConfigError{KeysTable, name, fmt.Sprintf("%q would not be typed any more", key), "use a key with ctrl or alt, or a function key"}
			}
		}
	}
	if e := c.conflict(); e != nil {
		return e
	}
	for _, name := range slices.Sorted(maps.Keys(c.Colors)) {
		if !slices.ContainsFunc(roles, func(r role) bool { return r.name == name }) {
			return unknownName(ColorsTable, name)
		}
		values := c.Colors[name]
		if n := len(values); n == 0 || n > 2 {
			return &ConfigError{ColorsTable, name, fmt.Sprintf("%d colours", n), `give one colour, or one for light and one for dark backgrounds: ["red", "bright-red"]`}
		}
		for _, v := range values {
			if _, ok := parseColor(v); !ok {
				return &ConfigError{ColorsTable, name, fmt.Sprintf("there is no colour %q", v), "a colour is a number from 0 to 255, #rrggbb, default, or one of " + strings.Join(colorNames, ", ") + ", each also with bright-"}
			}
		}
	}
	return nil
}

func unknownName(table, name string) *ConfigError {
	choices := slices.DeleteFunc(Choices(), func(c Choice) bool { return c.Table != table })
	names := lists.Map(choices, func(c Choice) string { return c.Name })
	hint := "there are " + strings.Join(names, ", ")
	if found := near.Nearest(names, name); len(found) > 0 {
		hint = "the nearest is " + found[0] + "; " + hint
	}
	return &ConfigError{table, name, "there is no such name", hint}
}

// conflict returns the first key that would have two meanings in one place.
func (c Config) conflict() *ConfigError {
	table := c.bind()
	for i, b := range table {
		if _, changed := c.Keys[b.name]; !changed {
			continue
		}
		for j, other := range table {
			if i == j || b.in&other.in == 0 || other.name == "" && other.when != nil {
				continue
			}
			at := slices.IndexFunc(b.keys, func(key string) bool { return slices.Contains(other.keys, key) })
			if at < 0 {
				continue
			}
			e := &ConfigError{KeysTable, b.name, b.keys[at] + " is taken: " + other.help, "choose another key"}
			if other.name != "" {
				e.Reason = fmt.Sprintf("%s is also a key of %s (%s)", b.keys[at], other.name, other.help)
				e.Hint = fmt.Sprintf("choose another key, or give %[1]s other ones: %[1]s = [...]", other.name)
			}
			return e
		}
	}
	return nil
}

// bind returns the table of keys with the changes of the config applied.
func (c Config) bind() []binding {
	table := slices.Clone(bindings)
	for i := range table {
		keys, ok := c.Keys[table[i].name]
		if !ok || table[i].name == "" {
			continue
		}
		table[i].keys = nil
		for _, k := range keys {
			if k, ok := parseKey(k); ok {
				table[i].keys = append(table[i].keys, k)
			}
		}
	}
	return table
}

var otherKeyNames = map[string]string{
	"escape": "esc", "return": "enter", "pagedown": "pgdown", "pgdn": "pgdown", "pageup": "pgup", "del": "delete",
	"↑": "up", "↓": "down", "←": "left", "→": "right",
}

var (
	functionKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^f([1-9]|1[0-9]|20)$`) })
	modifiers   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:(?:ctrl|alt|shift)[+-])*(.)`) })
)

func namedKeys() []string {
	var names []string
	for name := range keyNames {
		if name != "ctrl" && name != "alt" && name != "shift" {
			names = append(names, name)
		}
	}
	return slices.Sorted(slices.Values(names))
}

// parseKey reads the name of a key as people write it: Ctrl-X, alt+x, F5.
func parseKey(text string) (key string, ok bool) {
	if utf8.RuneCountInString(text) == 1 && text != " " {
		return text, true
	}
	text = strings.ToLower(text)
	at := modifiers().FindStringSubmatchIndex(text)
	if at == nil {
		return "", false
	}
	mods, key := text[:at[2]], text[at[2]:]
	key = cmp.Or(otherKeyNames[key], key)
	if !slices.Contains(namedKeys(), key) && !functionKey().MatchString(key) && (mods == "" || utf8.RuneCountInString(key) != 1) {
		return "", false
	}
	for _, mod := range []string{"shift", "alt", "ctrl"} { // in the end in the order of bubbletea
		if strings.Contains(mods, mod) {
			key = mod + "+" + key
		}
	}
	return key, true
}

var colorNames = []string{"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"}

var hexColor = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$`) })

// parseColor returns a colour as lipgloss writes it, "" for the colour of the terminal.
func parseColor(text string) (color string, ok bool) {
	base, bright := strings.CutPrefix(text, "bright-")
	if i := slices.Index(colorNames, base); i >= 0 {
		if bright {
			i += 8
		}
		return strconv.Itoa(i), true
	}
	if n, err := strconv.Atoi(text); err == nil {
		return text, n >= 0 && n < 256
	}
	return strings.TrimSuffix(text, "default"), text == "default" || hexColor().MatchString(text)
}

// styles are the styles of the screen. No information is conveyed by colour alone: a
// word, a sign or an attribute repeats it.
type styles struct {
	plain, title, dim, match, found, current, prompt, notice, problem, mark lipgloss.Style

	selected color.Color // background of the selected line; nil to reverse its colours
	kinds    map[session.Kind]lipgloss.Style
}

// role is what a colour is for.
type role struct {
	name, help string
	colors     []string // as in a Config
}

// roles is the one table of colours; styles, docs and settings are made from it.
var roles = []role{
	{"match", "words that match, and the mark of the selection", []string{"red", "bright-red"}},
	{"prompt", "the sign before the query, and names of keys", []string{"blue", "bright-blue"}},
	{"title", "titles of sessions", []string{"default"}},
	{"dim", "directories, ages, hints and rules", []string{"default"}},
	{"notice", "messages, and toggles that are on", []string{"130", "yellow"}},
	{"error", "errors", []string{"red", "bright-red"}},
	{"selection", "background of the selected hit", []string{"254", "237"}},
	{"kind-prompt", "the word prompt before a hit", []string{"28", "green"}},
	{"kind-reply", "the word reply", []string{"blue", "bright-blue"}},
	{"kind-thinking", "the word thinking", []string{"magenta", "bright-magenta"}},
	{"kind-call", "the words call and shell", []string{"130", "yellow"}},
	{"kind-result", "the word result", []string{"30", "cyan"}},
}

// background is what is known of the background of the terminal.
type background uint8

const (
	unknown background = iota
	light
	dark
)

// backgroundOf returns what COLORFGBG says of the background, for terminals that do not answer when
// they are asked: 0;15 is light.
func backgroundOf(environ []string) (found background) {
	for _, e := range environ {
		if colors, ok := strings.CutPrefix(e, "COLORFGBG="); ok {
			found = unknown
			if n, err := strconv.Atoi(colors[strings.LastIndexByte(colors, ';')+1:]); err == nil {
				found = dark
				if n == 7 || n > 8 {
					found = light
				}
			}
		}
	}
	return found
}

// newStyles returns the styles for a background, with the colours of a Config. On an unknown one, which
// is taken for dark, the selected line has its colours reversed, which is readable everywhere.
func newStyles(on background, colors map[string][]string) styles {
	colour := func(name string) color.Color {
		values := colors[name]
		if len(values) == 0 {
			values = roles[slices.IndexFunc(roles, func(r role) bool { return r.name == name })].colors
		}
		onLight, _ := parseColor(values[0])
		onDark, _ := parseColor(values[len(values)-1])
		return lipgloss.LightDark(on != light)(lipgloss.Color(onLight), lipgloss.Color(onDark))
	}
	plain := lipgloss.NewStyle()
	in := func(name string) lipgloss.Style { return plain.Foreground(colour(name)) }
	call, selected := in("kind-call"), colour("selection")
	if on == unknown && len(colors["selection"]) != 1 {
		selected = nil
	}
	return styles{
		plain:    plain,
		title:    in("title").Bold(true),
		dim:      in("dim").Faint(len(colors["dim"]) == 0),
		match:    in("match").Bold(true),
		found:    plain.Reverse(true),
		current:  in("match").Bold(true).Reverse(true),
		prompt:   in("prompt").Bold(true),
		notice:   in("notice"),
		problem:  in("error").Bold(true),
		mark:     in("match").Bold(true),
		selected: selected,
		kinds: map[session.Kind]lipgloss.Style{
			session.KindPrompt: in("kind-prompt"), session.KindReply: in("kind-reply"), session.KindThinking: in("kind-thinking"),
			session.KindCall: call, session.KindShell: call, session.KindResult: in("kind-result"), session.KindError: in("error"),
		},
	}
}
