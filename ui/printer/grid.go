package printer

// Grid is the table of an answer as texts, for front doors that lay it out themselves.
type Grid struct {
	Columns []GridColumn
	Rows    [][]string
	Total   []string // nil for none
}

// GridColumn is a column of a Grid.
type GridColumn struct {
	Title string
	Right bool // aligned
}

// Grid returns the columns that text has on a terminal with room for all.
func (a *Audit) Grid() (*Grid, error) {
	g := &Grid{}
	for _, c := range a.table.shown(true) {
		g.Columns = append(g.Columns, GridColumn{c.Title, c.Right})
	}
	texts := func(r *sheetRow) (list []string) {
		for i := range r.cells {
			list = append(list, r.cells[i].Text)
		}
		return list
	}
	err := a.table.each(func(r *sheetRow) error {
		g.Rows = append(g.Rows, texts(r))
		return nil
	})
	if total := a.table.sum(); total != nil {
		g.Total = texts(total)
	}
	a.Rows = len(g.Rows)
	return g, err
}
