package printer

// Stores are the kinds of file that an agent keeps.
type Stores []Store

// Store is a kind of file.
type Store struct {
	Name     string `json:"name"`
	Role     string `json:"role"`
	Format   string `json:"format"`
	Path     string `json:"path"`
	Coverage string `json:"coverage"`
	Exists   *bool  `json:"exists,omitempty"` // nil for a private file, which is never checked
}

func (s Stores) json(j *jsonWriter) error {
	if !j.lines {
		return j.object("status", struct {
			Stores []Store `json:"stores"`
		}{list(s)})
	}
	if err := rowsOf(j, "store", s); err != nil {
		return err
	}
	return j.object("status", struct {
		Total int `json:"total"`
	}{len(s)})
}

func (s Stores) sheet(look Look) *sheet[Store] {
	return &sheet[Store]{
		columns: []sheetColumn[Store]{
			{column{Name: "name", Title: "STORE"}, func(s *Store) cell { return textCell(s.Name) }},
			{column{Name: "coverage", Title: "COVERAGE"}, func(s *Store) cell { return textCell(s.Coverage) }},
			{column{Name: "there", Title: "THERE"}, func(s *Store) cell { return textCell(there(s)) }},
			{column{Name: "format"}, func(s *Store) cell { return textCell(s.Format) }},
			{column{Name: "path", Title: "PATH", Flex: true, Left: true}, func(s *Store) cell { return look.pathCell(s.Path) }},
			{column{Name: "role"}, func(s *Store) cell { return textCell(s.Role) }},
		},
		rows:   listed(s),
		finish: func(s *Store, r *sheetRow) { r.below = []string{s.Role + " (" + s.Format + ")"} },
	}
}

func (s Stores) plain(p plain) error {
	_, err := p.table(s.sheet(Look{}))
	return err
}

func (s Stores) text(t *text) error {
	_, err := t.table(s.sheet(t.Look))
	return err
}

// there is whether the store exists.
func there(s *Store) string {
	switch {
	case s.Exists == nil:
		return "not looked at"
	case *s.Exists:
		return "yes"
	}
	return "no"
}
