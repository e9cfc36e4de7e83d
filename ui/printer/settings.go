package printer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
	"pigrep/scope"
)

// Settings are the settings in force.
type Settings struct {
	Path   string // of the settings file; "" if there is no directory for it
	Exists bool
	Named  bool // the user asked for these settings: their values are not clipped
	List   []Setting
}

// Setting is a value in force and its origin.
type Setting struct {
	Key    string
	Values []string // none if Note describes it instead
	Note   string   // in text
	Type   string   // of the flag: bool, int, string, stringArray
	Source string   // default, file, environment, flag
	From   string   // path:line, $NAME or --flag; "" for a default
}

// text is the value on one line.
func (s *Setting) text(layout Layout) string {
	if len(s.Values) == 0 {
		return s.Note
	}
	var short []string
	for _, v := range s.Values {
		short = append(short, human.Path(v, layout.Home))
	}
	return strings.Join(short, ", ")
}

// value is the value in JSON; nil for none.
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

func (s *Settings) sheet(layout Layout) table {
	// Defaults are dim.
	shown := func(set *Setting, c cell) cell {
		if set.Source == "default" {
			c.Style = dimStyle
		}
		return c
	}
	return &sheet[Setting]{
		columns: []sheetColumn[Setting]{
			{column{Name: "key", Title: "SETTING"}, func(s *Setting) cell { return textCell(s.Key) }},
			{column{Name: "value", Title: "VALUE", Flex: true, Left: true, Whole: s.Named}, func(s *Setting) cell {
				return shown(s, cell{Text: s.text(layout), Plain: s.text(Layout{})})
			}},
			{column{Name: "source"}, func(s *Setting) cell { return textCell(s.Source) }},
			{column{Name: "where", Title: "FROM", Left: true, Most: 32}, func(s *Setting) cell {
				return shown(s, cell{Text: cmp.Or(human.Path(s.From, layout.Home), s.Source), Plain: s.From})
			}},
		},
		rows: listed(s.List),
	}
}

func (s *Settings) text(t *text) {
	state := ""
	switch {
	case s.Path == "":
		state = "none"
	case !s.Exists:
		state = " (does not exist; it is optional)"
	}
	t.print("settings file: ", terminal.Clean(human.Path(s.Path, t.Home)), state, "\n\n")
	t.table(s.sheet(t.Layout))
}

type settingJSON struct {
	Key    string `json:"key"`
	Value  any    `json:"value,omitempty"`
	Source string `json:"source"`
	From   string `json:"from,omitempty"`
}

func (s *Settings) json(j *jsonWriter) {
	rows := make([]settingJSON, len(s.List))
	for i := range s.List {
		row := &s.List[i]
		rows[i] = settingJSON{row.Key, row.value(), row.Source, row.From}
	}
	file := struct {
		Path   string `json:"path,omitempty"`
		Exists bool   `json:"exists"`
	}{s.Path, s.Exists}
	rows = linesOf(j, "setting", rows)
	if j.lines {
		j.object("config", file)
		return
	}
	j.object("config", file, map[string]any{"settings": rows})
}

// Version says which pigrep this is.
type Version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Adapter  string `json:"adapter"`
	// IndexSchema is the version of the index that it reads and writes.
	IndexSchema int `json:"indexSchema"`
}

func (v *Version) json(j *jsonWriter) {
	if j.lines {
		j.object("version", v)
		return
	}
	j.object("version", v, map[string]any{"scopes": scope.Scopes})
}

func (v *Version) text(t *text) {
	parts := slices.DeleteFunc([]string{v.Revision, v.Go, v.Platform, fmt.Sprintf("index schema %d", v.IndexSchema)}, func(s string) bool { return s == "" })
	t.print("pigrep ", v.Version, " (", strings.Join(parts, ", "), ")\n")
}

// Resume is the command that resumes a session.
type Resume struct {
	Session   SessionFacts `json:"session"`
	EntryID   string       `json:"entryId,omitempty"` // of the hit that the session was found by
	Branch    string       `json:"branch,omitempty"`
	InContext *bool        `json:"inContext,omitempty"` // of the entry
	Dir       string       `json:"dir,omitempty"`       // where to run the command; "" runs it in the working directory
	Argv      []string     `json:"argv"`
	Command   string       `json:"shell"` // for the user's shell
	Fork      bool         `json:"fork"`
	Warnings  []string     `json:"warnings"`
}

// text writes the command and nothing else. Its quoting keeps all characters from
// acting on a terminal.
func (r *Resume) text(t *text) { t.print(r.Command, "\n") }

func (r *Resume) json(j *jsonWriter) {
	answer := *r
	answer.Warnings = list(r.Warnings)
	j.object("resume", answer)
}
