package printer

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/lists"
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
	Unit   string   // of the value; "" for none
	Source string   // default, file, environment, flag
	From   string   // path:line, $NAME or --flag; "" for a default
}

// Text returns the value on one line.
func (s *Setting) Text(layout Layout) string {
	if len(s.Values) == 0 {
		return s.Note
	}
	short := lists.Map(s.Values, func(v string) string { return human.Path(v, layout.Home) })
	return strings.Join(short, ", ") + human.When(s.Unit != "", " "+s.Unit)
}

// value returns the value in JSON; nil for none.
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

func (s *Settings) Sheet(layout Layout) table {
	// Defaults are dim.
	shown := func(set *Setting, c cell) cell {
		if set.Source == "default" {
			c.Style = DimStyle
		}
		return c
	}
	return &sheet[Setting]{
		columns: []sheetColumn[Setting]{
			{column{Name: "key", Title: "SETTING"}, func(s *Setting) cell { return textCell(s.Key) }},
			{column{Name: "value", Title: "VALUE", Flex: true, Left: true, Whole: s.Named}, func(s *Setting) cell {
				return shown(s, cell{Text: s.Text(layout), Plain: s.Text(Layout{})})
			}},
			{column{Name: "source"}, func(s *Setting) cell { return textCell(s.Source) }},
			{column{Name: "where", Title: "FROM", Left: true, Most: 32}, func(s *Setting) cell {
				return shown(s, cell{Text: cmp.Or(human.Path(s.From, layout.Home), s.Source), Plain: s.From})
			}},
		},
		rows: listed(s.List),
	}
}

func (s *Settings) Text(t *Text) {
	file := "none"
	if s.Path != "" {
		file = terminal.Clean(human.Path(s.Path, t.Home)) + human.When(!s.Exists, " (does not exist; it is optional)")
	}
	t.Print("settings file: ", file, "\n\n")
	t.table(s.Sheet(t.Layout))
}

type settingJSON struct {
	Key    string `json:"key"`
	Value  any    `json:"value,omitempty"`
	Source string `json:"source"`
	From   string `json:"from,omitempty"`
}

func (s *Settings) JSON(j *JSON) {
	rows := lists.Map(s.List, func(x Setting) settingJSON { return settingJSON{x.Key, x.value(), x.Source, x.From} })
	file := struct {
		Path   string `json:"path,omitempty"`
		Exists bool   `json:"exists"`
	}{s.Path, s.Exists}
	j.Object("config", file, j.inObject("settings", linesOf(j, "setting", rows)))
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

func (v *Version) JSON(j *JSON) {
	j.Object("version", v, j.inObject("scopes", scope.Scopes))
}

func (v *Version) Text(t *Text) {
	t.Print("pigrep ", v.Version, " (", human.Joined(", ", v.Revision, v.Go, v.Platform, fmt.Sprintf("index schema %d", v.IndexSchema)), ")\n")
}
