package printer

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
)

// Settings are the settings in force.
type Settings struct {
	Path   string // of the settings file; "" when there is no place for one
	Exists bool
	List   []Setting
}

// Setting is a value in force and where it came from.
type Setting struct {
	Key    string
	Values []string // none when what holds is no value
	Note   string   // what holds then, for people
	Type   string   // of the flag: bool, int, string, stringArray
	Source string   // default, file, environment, flag
	From   string   // path:line, $NAME or --flag; "" of a default
}

// text is the value in one line.
func (s *Setting) text(look Look) string {
	if len(s.Values) == 0 {
		return s.Note
	}
	var short []string
	for _, v := range s.Values {
		short = append(short, human.Path(v, look.Home))
	}
	return strings.Join(short, ", ")
}

// value is the value as JSON has it; nil for none.
func (s *Setting) value() any {
	switch {
	case len(s.Values) == 0:
		return nil
	case s.Type == "stringArray":
		return s.Values
	case s.Type == "bool":
		if v, err := strconv.ParseBool(s.Values[0]); err == nil {
			return v
		}
	case s.Type == "int":
		if v, err := strconv.Atoi(s.Values[0]); err == nil {
			return v
		}
	}
	return s.Values[0]
}

func (t *text) Settings(s *Settings) error {
	var b strings.Builder
	state := ""
	switch {
	case s.Path == "":
		state = "none"
	case !s.Exists:
		state = " (there is none, and none is needed)"
	}
	fmt.Fprintf(&b, "settings file: %s%s\n\n", terminal.Clean(human.Path(s.Path, t.Home)), state)

	texts, keyWidth, width := make([]string, len(s.List)), 0, 0
	for i := range s.List {
		texts[i] = terminal.Clean(s.List[i].text(t.Look))
		keyWidth = max(keyWidth, len(s.List[i].Key))
		width = max(width, min(28, terminal.Width(texts[i])))
	}
	for i := range s.List {
		row := &s.List[i]
		from := row.Source
		if row.From != "" {
			from = terminal.Clean(human.Path(row.From, t.Home))
		}
		cell := texts[i] + strings.Repeat(" ", max(0, width-terminal.Width(texts[i])))
		if row.Source == "default" {
			cell, from = t.dim(cell), t.dim(from)
		}
		fmt.Fprintf(&b, "%-*s  %s  %s\n", keyWidth, row.Key, cell, from)
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

func (p plain) Settings(s *Settings) error {
	for i := range s.List {
		row := &s.List[i]
		if err := p.record(row.Key, row.text(Look{}), row.Source, row.From); err != nil {
			return err
		}
	}
	return nil
}

// settingJSON is a setting as programs read it.
type settingJSON struct {
	Type   string `json:"type,omitempty"`
	Key    string `json:"key"`
	Value  any    `json:"value,omitempty"`
	Source string `json:"source"`
	From   string `json:"from,omitempty"`
}

func settingsJSON(s *Settings, kind string) []settingJSON {
	rows := make([]settingJSON, len(s.List))
	for i := range s.List {
		row := &s.List[i]
		rows[i] = settingJSON{kind, row.Key, row.value(), row.Source, row.From}
	}
	return rows
}

type settingsFile struct {
	Path   string `json:"path,omitempty"`
	Exists bool   `json:"exists"`
}

func (p jsonEnvelope) Settings(s *Settings) error {
	return encode(p.w, struct {
		head
		settingsFile
		List []settingJSON `json:"settings"`
	}{envelope("config"), settingsFile{s.Path, s.Exists}, settingsJSON(s, "")})
}

func (p jsonLines) Settings(s *Settings) error {
	if err := lines(p.w, settingsJSON(s, "setting")); err != nil {
		return err
	}
	return encode(p.w, struct {
		head
		settingsFile
	}{summary("config"), settingsFile{s.Path, s.Exists}})
}
