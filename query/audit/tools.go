package audit

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/record"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
)

// ToolRow is a row of the table of tools.
type ToolRow struct {
	Type string `json:"type"` // "tool"
	Key
	Calls     int          `json:"calls"`
	Errors    int          `json:"errors"`
	ErrorRate float64      `json:"errorRate"` // of the calls that ran and have a result
	Sessions  int          `json:"sessions"`
	P50       *int32       `json:"p50Ms,omitempty"` // of the known durations; absent without any
	P95       *int32       `json:"p95Ms,omitempty"`
	Timed     int          `json:"timed"` // calls whose duration is known
	Bytes     int64        `json:"outputBytes"`
	Last      session.Time `json:"lastUsed,omitzero"`
	NoResult  int          `json:"withoutResult"`      // calls without a result
	NoCall    int          `json:"resultWithoutCall"`  // results without a call, which Calls does not count
	Nested    int          `json:"nested"`             // calls that another tool made
	Rejected  int          `json:"rejected,omitempty"` // calls that the person did not let run: they did not fail

	Asks bool `json:"-"` // all calls ask the person, so that their durations say how long answers took
}

// ToolTable is the answer of Tools.
type ToolTable struct {
	By    []string
	Rows  []ToolRow
	Total ToolRow
	Covered

	Parts []ToolPart `json:",omitempty"` // of the rows and of the total, with Request.Together
}

// A ToolPart has the data for merging a row.
type ToolPart struct {
	Durations [][2]int32 `json:",omitempty" wire:"signed"` // the known durations, ascending, each with its number of calls
	Answered  int        // calls that ran and have a result
	Asked     int        // calls that ask the person
}

// part returns what merging the row takes.
func (g *toolGroup) part() ToolPart {
	p := ToolPart{Answered: g.answered, Asked: g.asked}
	slices.Sort(g.durations)
	for i, d := range g.durations {
		if i == 0 || d != g.durations[i-1] {
			p.Durations = append(p.Durations, [2]int32{d, 0})
		}
		p.Durations[len(p.Durations)-1][1]++
	}
	return p
}

// toolGroup is a row of the table under construction.
type toolGroup struct {
	row       ToolRow
	keys      []string
	durations []int32
	files     fileCount
	answered  int   // calls that ran and have a result
	asked     int   // calls that ask the person
	last      int64 // Unix milliseconds
}

// add adds call i.
func (g *toolGroup) add(f *file, c *record.Calls, i int) {
	g.files.add(f)
	g.last = max(g.last, f.millis(c.Time.At(i)))
	flags := c.Flags(i)
	if flags.Kind() == session.CallMissing {
		g.row.NoCall++
		return
	}
	g.row.Calls++
	g.row.Bytes += c.Bytes.At(i)
	if flags.Kind() == session.CallNested {
		g.row.Nested++
	}
	switch {
	case !flags.HasResult():
		g.row.NoResult++
	case flags.Rejected():
		g.row.Rejected++
	default:
		g.answered++
	}
	if c.Deed(i) == session.DeedAsk {
		g.asked++
	}
	if flags.Failed() {
		g.row.Errors++
	}
	if d := c.Duration(i); d != session.Unknown {
		if len(g.durations) == cap(g.durations) {
			g.durations = slices.Grow(g.durations, max(len(g.durations), 64)) // append would grow it in more steps
		}
		g.durations = append(g.durations, d)
	}
}

// finish returns the row once all calls are added.
func (g *toolGroup) finish() ToolRow {
	r := g.row
	r.Sessions, r.Timed = g.files.n, len(g.durations)
	r.Last, r.Asks = timeAt(g.last), g.asked > 0 && g.asked == r.Calls
	if g.answered > 0 {
		r.ErrorRate = float64(r.Errors) / float64(g.answered)
	}
	if len(g.durations) > 0 {
		p50, p95 := percentiles(g.durations, 50, 95)
		r.P50, r.P95 = &p50, &p95
	}
	return r
}

// Tools counts the calls of tools.
func Tools(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*ToolTable, error) {
	if len(req.By) == 0 {
		req.By = []string{"tool"}
	}
	x, err := newAuditor(ctx, r, &req, record.CallFacts)
	if err != nil {
		return nil, err
	}
	if err := x.matchText(a, src); err != nil {
		return nil, err
	}
	table := newTable(&req, func(keys []string) *toolGroup { return &toolGroup{keys: keys, row: ToolRow{Type: "tool"}} })
	total := &toolGroup{row: ToolRow{Type: "total"}}
	groups := func(i int) [2]*toolGroup { return [2]*toolGroup{table.row(i), total} }
	err = x.eachPiece(x.facts.All, func(f *file, p *record.Piece) error {
		c := &p.Calls
		table.begin(f, f, &c.Time, &c.Tool, c.Deed, &c.Model)
		return x.visitCalls(f, p, func(i int) {
			for _, g := range groups(i) {
				g.add(f, c, i)
			}
		})
	})
	if err != nil {
		return nil, err
	}
	t := &ToolTable{By: req.By, Covered: x.covered()}
	var finishing sync.WaitGroup
	finishing.Go(func() { t.Total = total.finish() }) // takes as long as all rows
	rows := slices.SortedFunc(maps.Values(table.rows), func(a, b *toolGroup) int {
		return cmp.Or(ComparePeriods(req.By, a.keys, b.keys), cmp.Compare(b.row.Calls, a.row.Calls), slices.Compare(a.keys, b.keys))
	})
	for _, g := range rows {
		row := g.finish()
		row.Key = req.key(r, g.keys)
		row.addNames(table.written[g])
		t.Rows = append(t.Rows, row)
		if req.Together {
			t.Parts = append(t.Parts, g.part())
		}
	}
	finishing.Wait()
	if req.Together {
		t.Parts = append(t.Parts, total.part())
	}
	req.mask(t)
	return t, nil
}

// percentiles returns, for each of two percentages, the smallest number that at least so
// many percent of the numbers do not exceed. There must be some, none negative; it may
// reorder them.
func percentiles(list []int32, low, high int) (atLow, atHigh int32) {
	place := func(percent int) int { return max((percent*len(list)+99)/100, 1) - 1 } // rounded up
	return quickselect(list, place(low)), quickselect(list, place(high))
}

// quickselect returns the number that would have the index k if the list were sorted. It
// reorders them.
func quickselect(list []int32, k int) int32 {
	// The number that belongs at k is between lo and hi.
	for lo, hi := 0, len(list)-1; lo < hi; {
		i, j, pivot := lo, hi, list[lo+(hi-lo)/2]
		for i <= j {
			for list[i] < pivot {
				i++
			}
			for list[j] > pivot {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return pivot
		}
	}
	return list[k]
}
