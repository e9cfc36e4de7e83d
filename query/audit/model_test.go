package audit_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
	"pigrep/query/audit"
	"pigrep/query/engine/filter"
)

// The tables are compared with those of a model that keeps all facts as they are and
// counts them one by one, while files are added, grow, are rewritten and deleted, on disk
// and in memory. With few copies most of the figures are from sums.
func TestTablesAgainstModel(t *testing.T) {
	for _, fewCopies := range []bool{false, true} {
		t.Run(fmt.Sprint("few copies ", fewCopies), func(t *testing.T) { tablesAgainstModel(t, fewCopies) })
	}
}

func tablesAgainstModel(t *testing.T, fewCopies bool) {
	rnd := rand.New(rand.NewPCG(21, 22))
	dir := t.TempDir()
	w, err := index.OpenWriter(dir, index.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	m := &model{rnd: rnd, files: make(map[uint32]*session.Record), fewCopies: fewCopies, most: 9}
	if fewCopies {
		m.most = 60
	}
	for round := range testkit.HowMany(4, 12, 12) {
		b := index.NewBatch()
		m.changed = make(map[uint32]bool)
		for range 1 + rnd.IntN(m.most*2/3) {
			m.change(t, w, b)
		}
		if err := w.Commit(b); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Publish(); err != nil {
			t.Fatal(err)
		}
		r, err := index.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		m.compare(t, fmt.Sprint("round ", round), r)
		if round%3 == 2 {
			b := index.NewBatch()
			m.changed = make(map[uint32]bool)
			committed := maps.Clone(m.files)
			m.change(t, w, b)
			with, err := r.With(b)
			if err != nil {
				t.Fatal(err)
			}
			m.compare(t, fmt.Sprint("in memory after round ", round), with)
			m.files = committed
			with.Close()
		}
		r.Close()
	}
}

type model struct {
	rnd       *rand.Rand
	files     map[uint32]*session.Record // with an unterminated last line
	copies    []session.Facts            // entries that forks may copy: their facts
	changed   map[uint32]bool            // in the current batch
	most      int                        // files
	fewCopies bool                       // and times that are close to one another
}

// change adds a change of some file to a batch, unless it has one of it.
func (m *model) change(t *testing.T, w *index.Writer, b *index.Batch) {
	number := uint32(1 + m.rnd.IntN(m.most))
	if m.changed[number] {
		return
	}
	m.changed[number] = true
	rec, err := w.RecordToContinue(number)
	if err != nil {
		t.Fatal(err)
	}
	switch n := m.rnd.IntN(8); {
	case n == 0 && rec != nil:
		b.DeleteFile(number)
		delete(m.files, number)
		return
	case n < 3 || rec == nil:
		rec = &session.Record{}
		rec.File, rec.Path, rec.ID, rec.CWD = number, fmt.Sprint("/s/", number), fmt.Sprint("id", number), fmt.Sprint("/work/", number%3)
		rec.Agent = []string{"", "one.v1", "two.v1"}[number%3]
		rec.Version, rec.Messages, rec.Mtime = 3, m.rnd.IntN(50), m.time()*1e6
		if m.rnd.IntN(5) > 0 {
			rec.Timestamp = time.UnixMilli(m.time()).UTC()
		}
		b.DeleteFile(number)
	}
	if rec.Facts == nil {
		rec.Facts = &session.Facts{}
	}
	m.grow(b, rec, m.rnd.IntN(3600/m.most)>>m.rnd.IntN(8))
	full := rec
	rec.TailBytes = 0
	if m.rnd.IntN(3) == 0 {
		full = rec.Clone()
		m.grow(b, full, 1)
		full.Checkpoint.Offset = rec.Checkpoint.Offset
		full.TailBytes = 1
		if err := full.Facts.Whole(); err != nil { // all of them are stored together
			t.Fatal(err)
		}
		b.Put(rec, full)
	} else {
		b.Put(rec, nil)
	}
	kept := *full
	if kept.Facts = full.Facts.Clone(); kept.Facts.Whole() != nil {
		t.Fatal(kept.Facts.Err())
	}
	m.files[number] = &kept
}

// time is in the nights when clocks change, and around the turn of a year.
func (m *model) time() int64 {
	days := []time.Time{time.Date(2025, 3, 30, 0, 0, 0, 0, time.UTC), time.Date(2025, 11, 2, 5, 0, 0, 0, time.UTC), time.Date(2025, 12, 31, 23, 0, 0, 0, time.UTC)}
	return days[m.rnd.IntN(len(days))].UnixMilli() + m.rnd.Int64N(100*3600*1000)
}

// bare says which entries have no parts, and so no documents. Their hashes are even, those
// of results odd.
func bare(hash uint64) bool { return hash%6 == 2 || hash%128 == 1 }

// grow adds entries, some of them copies of others.
func (m *model) grow(b *index.Batch, rec *session.Record, n int) {
	f, rnd := rec.Facts, m.rnd
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	many, now := 4, int64(0)
	if m.fewCopies {
		many, now = 200, m.time()
	}
	before := rec.Checkpoint.Offset
	offset := before
	defer func() {
		documents := make(map[int64]uint64)
		for _, u := range f.Usages { // among which earlier ones may be by now
			if u.Offset > before {
				documents[u.Offset] = u.Copy
			}
		}
		for _, c := range f.Calls {
			if c.Offset <= before {
				continue
			}
			documents[c.Offset] = c.Copy
			if c.HasResult {
				documents[c.Result] = c.ResultCopy
			}
		}
		for at, hash := range documents {
			if !bare(hash) {
				b.Add(&segment.Document{ID: segment.ID{File: rec.File, Offset: at}, Kind: session.KindCall, Copy: hash, Text: []byte("text")})
			}
		}
		rec.Checkpoint.Offset = offset + 50
	}()
	for range n {
		offset += 50 + rnd.Int64N(300)
		f.Begin()
		if len(m.copies) > 0 && rnd.IntN(many) == 0 {
			e := m.copies[rnd.IntN(len(m.copies))]
			orphans := rnd.IntN(4) == 0 // the fork has results only
			for _, u := range e.Usages {
				if u.Offset = offset; !orphans || rnd.IntN(2) == 0 {
					f.Usages = append(f.Usages, u)
				}
			}
			for _, c := range e.Calls {
				c.Offset = offset
				switch answered := c.HasResult && c.ResultCopy != c.Copy; {
				case answered && orphans:
					c = session.CallFact{Offset: offset, Time: c.Time, Copy: c.ResultCopy, Bare: bare(c.ResultCopy), Kind: session.CallMissing, Part: -1, Tool: c.Tool, Outcome: c.Outcome}
					offset++
				case answered:
					c.Result = offset + 7 + int64(c.Part)
				case orphans:
					continue
				case c.HasResult:
					c.Result = offset
				}
				f.AddCall(c)
			}
			continue
		}
		at, hash := m.time(), rnd.Uint64()<<8>>1
		if m.fewCopies {
			now += rnd.Int64N(20_000)
			at = now
		}
		if rnd.IntN(9) == 0 {
			hash = 0
			if rnd.IntN(many/2) == 0 {
				at = 0
			}
		}
		model := pick("", "a/one", "a/two", "b/three")
		var e session.Facts
		if rnd.IntN(3) > 0 {
			e.Usages = []session.UsageFact{{
				Offset: offset, Time: at, Copy: hash, Bare: bare(hash), Source: pick("assistant", "compaction", "usage"), Model: model,
				Usage: session.Usage{Input: rnd.Int64N(1e6), Output: rnd.Int64N(1e3), CacheRead: rnd.Int64N(1e12), CacheWrite: rnd.Int64N(9), Cost: float64(rnd.IntN(4096)*min(rnd.IntN(4), 1)) / 1024, Unusable: rnd.IntN(9) == 0},
			}}
			if u := &e.Usages[0]; rnd.IntN(6) == 0 {
				u.NoCost, u.Cost, u.CacheRead = true, 0, rnd.Int64N(1e6)
				u.Model = pick(u.Model, "openai/gpt-4.1-2025-04-14")
			}
		}
		for part := range rnd.IntN(4) {
			c := session.CallFact{
				Offset: offset, Time: at, Copy: hash, Bare: bare(hash), Part: part, Kind: session.CallKind(rnd.IntN(3)), Tool: pick("bash", "Bash", "read", "Edit", "!", ""), Deed: session.Deed(rnd.IntN(len(session.Deeds))), Model: model, Broken: rnd.IntN(9) == 0,
				Outcome: session.Outcome{Failed: rnd.IntN(5) == 0, Rejected: rnd.IntN(9) == 0, Bytes: rnd.Int64N(1e6), Exit: session.Unknown, Duration: session.Unknown},
			}
			if rnd.IntN(4) > 0 {
				c.Duration, c.Exit = rnd.Int32N(1<<20)>>rnd.IntN(20), int32(rnd.IntN(3))
			}
			for range rnd.IntN(4) {
				c.Programs = append(c.Programs, pick("git diff", "ls", "cat", "go test"))
			}
			c.Blamed, c.Failed = rnd.Uint64()>>60, c.Failed && !c.Rejected
			if c.Rejected || rnd.IntN(3) > 0 {
				c.HasResult, c.Result, c.ResultCopy = true, offset, hash
				if c.Kind == session.CallPlain && hash != 0 {
					c.Result, c.ResultCopy = offset+7+int64(part), hash+2*uint64(part)+1
				}
			}
			e.Calls = append(e.Calls, c)
		}
		f.Usages = append(f.Usages, e.Usages...)
		for _, c := range e.Calls {
			f.AddCall(c)
		}
		m.copies = append(m.copies, e)
	}
}

// request asks for something at random.
func (m *model) request() audit.Request {
	rnd := m.rnd
	req := audit.Request{Location: time.UTC}
	if rnd.IntN(2) == 0 {
		req.Location = time.FixedZone("", (rnd.IntN(27*4)-12*4)*15*60)
	}
	dimensions := slices.Clone(audit.CallDimensions)
	rnd.Shuffle(len(dimensions), func(i, k int) { dimensions[i], dimensions[k] = dimensions[k], dimensions[i] })
	req.By = dimensions[:rnd.IntN(4)]
	if rnd.IntN(4) == 0 {
		req.Tools = []string{"BASH", "edit"}[:1+rnd.IntN(2)]
	}
	if rnd.IntN(4) == 0 {
		req.Models = []string{"a/"}
	}
	if rnd.IntN(3) == 0 {
		req.Since = time.UnixMilli(m.time())
	}
	if rnd.IntN(4) == 0 {
		req.Until = time.UnixMilli(m.time())
	}
	if rnd.IntN(3) == 0 {
		req.Spec.Sessions = []string{"id1", "id4", "id5"}
	}
	req.Error, req.Rejected = rnd.IntN(5) == 0, rnd.IntN(7) == 0
	return req
}

func (m *model) compare(t *testing.T, when string, r *index.Reader) {
	t.Helper()
	files := slices.SortedFunc(maps.Values(m.files), func(a, b *session.Record) int {
		return cmp.Or(session.CompareStarts(a.Timestamp, b.Timestamp), cmp.Compare(a.Path, b.Path))
	})
	for range 12 {
		req := m.request()
		tools, err := audit.Tools(context.Background(), r, nil, nil, req)
		if err != nil {
			t.Fatal(err)
		}
		commands, err := audit.Commands(context.Background(), r, nil, nil, req)
		if err != nil {
			t.Fatal(err)
		}
		byUsage := req
		byUsage.By = slices.DeleteFunc(slices.Clone(req.By), isOfCalls)
		usage, err := audit.Usage(context.Background(), r, byUsage)
		if err != nil {
			t.Fatal(err)
		}
		want := count(files, req)
		for _, x := range []struct{ want, got any }{
			{want.tools, lines(tools.Rows)}, {want.toolTotal, lines([]audit.ToolRow{tools.Total})}, {want.copies, tools.Coverage.Copies},
			{want.commands, lines(commands.Rows)}, {want.shell, [2]int{commands.Calls, commands.Unparsed}}, {want.commandCopies, commands.Coverage.Copies},
			{want.usage, lines(usage.Rows)}, {want.usageTotal, lines([]audit.UsageRow{usage.Total})}, {want.sources, lines(usage.Sources)}, {want.usageCopies, usage.Coverage.Copies},
		} {
			if diff := gocmp.Diff(x.want, x.got); diff != "" {
				t.Fatalf("%s, %+v (-want +got):\n%s", when, req, diff)
			}
		}
	}
}

// lines writes down rows, which are ordered by what they count, in an order of their own.
func lines[T any](rows []T) []string {
	list := []string{}
	for _, r := range rows {
		b, _ := json.Marshal(r)
		list = append(list, string(b))
	}
	slices.Sort(list)
	return list
}

type counts struct {
	tools, toolTotal, commands, usage, usageTotal, sources []string
	copies, commandCopies, usageCopies                     int
	shell                                                  [2]int
}

type tally[T any] struct {
	row       *T
	files     map[string]bool
	durations []int
	last      int64
	answered  int
}

func tallyOf[T any](m map[string]*tally[T], key string, row T) *tally[T] {
	if m[key] == nil {
		m[key] = &tally[T]{row: &row, files: make(map[string]bool)}
	}
	return m[key]
}

// isOfCalls reports whether only calls have the dimension.
func isOfCalls(by string) bool { return by == "tool" || by == "action" }

// listed returns the list price of a use, if there is one: of the one model with a price.
func listed(u *session.UsageFact) (float64, bool) {
	if !u.NoCost || u.Unusable || u.Tokens() == 0 || !strings.Contains(u.Model, "gpt-4.1") {
		return 0, false
	}
	return float64(4*u.Input+16*u.Output+u.CacheRead+4*u.CacheWrite) / 2e6, true
}

func round(v float64) float64 { return math.Round(v*1e10) / 1e10 }

// count counts facts one by one.
func count(files []*session.Record, req audit.Request) (w counts) {
	wanted := func(f *session.Record, ms int64, model string) bool {
		at := f.TimeOf(&session.Node{Time: ms}).UnixMilli()
		return req.Spec.Compile().Session(&f.Summary) && (req.Since.IsZero() || at >= req.Since.UnixMilli()) && (req.Until.IsZero() || at <= req.Until.UnixMilli()) &&
			(len(req.Models) == 0 || filter.IsModel(model, req.Models))
	}
	key := func(by []string, f *session.Record, ms int64, tool, deed, model string) (k audit.Key, joined string) {
		at := f.TimeOf(&session.Node{Time: ms}).In(req.Location)
		for _, by := range by {
			switch by {
			case "tool":
				k.Tool = &tool
			case "action":
				k.Action = deed
			case "agent":
				k.Agent = new(session.ShortAgent(f.Agent))
			case "model":
				k.Model = &model
			case "project":
				k.Project = &f.CWD
			case "session":
				k.SessionPath, k.SessionID = f.Path, f.ID
			case "day":
				k.Day = at.Format("2006-01-02")
			case "month":
				k.Month = at.Format("2006-01")
			case "week":
				year, week := at.ISOWeek()
				k.Week = fmt.Sprintf("%04d-W%02d", year, week)
			}
		}
		b, _ := json.Marshal(k)
		return k, string(b)
	}
	type place struct {
		file   string
		offset int64
	}
	calls, uses, results := make(map[uint64]place), make(map[uint64]place), make(map[uint64]bool)
	first := func(seen map[uint64]place, copy uint64, p place) bool {
		if copy == 0 {
			return true
		}
		if _, ok := seen[copy]; !ok {
			seen[copy] = p
		}
		return seen[copy] == p
	}
	names := make(map[string]map[string]bool) // of the tools of a row, as written
	tools, commands, usage, sources := make(map[string]*tally[audit.ToolRow]), make(map[string]*tally[audit.CommandRow]), make(map[string]*tally[audit.UsageRow]), make(map[string]*tally[audit.SourceRow])
	toolTotal, usageTotal := tallyOf(map[string]*tally[audit.ToolRow]{}, "", audit.ToolRow{Type: "total"}), tallyOf(map[string]*tally[audit.UsageRow]{}, "", audit.UsageRow{Type: "total"})
	for _, f := range files {
		if f.Facts == nil {
			continue
		}
		for i := range f.Facts.Calls {
			c := &f.Facts.Calls[i]
			isFirst := first(calls, c.Copy, place{f.Path, c.Offset})
			if c.Kind == session.CallMissing && c.Copy != 0 {
				isFirst = isFirst && !results[c.Copy]
				results[c.Copy] = true
			} else if c.HasResult && c.Result != c.Offset {
				results[c.ResultCopy] = true
			}
			if !wanted(f, c.Time, c.Model) || req.Error && !c.Failed || req.Rejected && !c.Rejected ||
				len(req.Tools) > 0 && !slices.ContainsFunc(req.Tools, func(t string) bool { return strings.EqualFold(t, c.Tool) }) {
				continue
			}
			if !isFirst {
				w.copies++
				if len(c.Programs) > 0 || c.Broken {
					w.commandCopies++
				}
				continue
			}
			at := f.TimeOf(&session.Node{Time: c.Time}).UnixMilli()
			by := req.By
			if len(by) == 0 {
				by = []string{"tool"}
			}
			k, joined := key(by, f, c.Time, strings.ToLower(c.Tool), c.Deed.String(), c.Model)
			if slices.Contains(by, "tool") {
				if names[joined] == nil {
					names[joined] = make(map[string]bool)
				}
				names[joined][c.Tool] = true
			}
			for _, g := range []*tally[audit.ToolRow]{tallyOf(tools, joined, audit.ToolRow{Type: "tool", Key: k}), toolTotal} {
				g.files[f.Path] = true
				g.last = max(g.last, at)
				if c.Kind == session.CallMissing {
					g.row.NoCall++
					continue
				}
				g.row.Calls++
				g.row.Bytes += c.Bytes
				switch {
				case c.Rejected:
					g.row.Rejected++
				case c.HasResult:
					g.answered++
				default:
					g.row.NoResult++
				}
				if c.Kind == session.CallNested {
					g.row.Nested++
				}
				if c.Failed {
					g.row.Errors++
				}
				if c.Duration >= 0 {
					g.durations = append(g.durations, int(c.Duration))
				}
			}
			if len(c.Programs) == 0 && !c.Broken || c.Rejected && !req.Rejected {
				continue
			}
			w.shell[0]++
			if c.Broken {
				w.shell[1]++
			}
			for i, p := range c.Programs {
				g := tallyOf(commands, p, audit.CommandRow{Type: "command", Program: p})
				g.row.Runs++
				if slices.Contains(c.Programs[:i], p) {
					continue
				}
				g.row.Calls++
				for k := range c.Programs {
					if c.Failed && c.Programs[k] == p && c.Blamed>>k&1 != 0 {
						g.row.Failed++
						break
					}
				}
				g.files[f.Path] = true
				g.last = max(g.last, at)
			}
		}
		for i := range f.Facts.Usages {
			u := &f.Facts.Usages[i]
			isFirst := first(uses, u.Copy, place{f.Path, u.Offset})
			if !wanted(f, u.Time, u.Model) {
				continue
			}
			if !isFirst {
				w.usageCopies++
				continue
			}
			by := slices.DeleteFunc(slices.Clone(req.By), isOfCalls)
			if len(by) == 0 {
				by = []string{"model"}
			}
			k, joined := key(by, f, u.Time, "", "", u.Model)
			for _, g := range []*tally[audit.UsageRow]{tallyOf(usage, joined, audit.UsageRow{Type: "usage", Key: k}), usageTotal} {
				r := g.row
				g.files[f.Path] = true
				r.Input, r.Output, r.CacheRead, r.CacheWrite = r.Input+u.Input, r.Output+u.Output, r.CacheRead+u.CacheRead, r.CacheWrite+u.CacheWrite
				r.Tokens += u.Tokens()
				cost, isListed := listed(u)
				r.Cost += u.Cost + cost // costs of files are exact: 1/1024 each
				if r.Entries++; isListed {
					r.Listed++
					r.ListedCost += cost
				}
				if u.Unusable {
					r.Unusable++
				}
				if u.Tokens() > 0 && u.Cost == 0 && !u.Unusable && !isListed {
					r.Unpriced++
				}
				g.last = max(g.last, f.TimeOf(&session.Node{Time: u.Time}).UnixMilli())
			}
			s := tallyOf(sources, u.Source, audit.SourceRow{Source: u.Source})
			s.row.Tokens += u.Tokens()
			cost, isListed := listed(u)
			s.row.Cost += u.Cost + cost
			if u.Tokens() > 0 && u.Cost == 0 && !u.Unusable && !isListed {
				s.row.Unpriced++
			}
		}
	}
	finishTool := func(g *tally[audit.ToolRow]) audit.ToolRow {
		r := *g.row
		r.Sessions, r.Timed = len(g.files), len(g.durations)
		if g.last != 0 {
			r.Last = session.Time{Time: time.UnixMilli(g.last).UTC()}
		}
		if g.answered > 0 {
			r.ErrorRate = float64(r.Errors) / float64(g.answered)
		}
		if n := len(g.durations); n > 0 {
			slices.Sort(g.durations)
			p50, p95 := int32(g.durations[(50*n+99)/100-1]), int32(g.durations[(95*n+99)/100-1])
			r.P50, r.P95 = &p50, &p95
		}
		return r
	}
	var toolRows []audit.ToolRow
	for joined, g := range tools {
		row := finishTool(g)
		if list := slices.Sorted(maps.Keys(names[joined])); len(list) == 1 {
			row.Tool = &list[0]
		} else if len(list) > 1 { // bash and Bash, and the one without a capital is its name
			row.Tool, row.ToolNames = &list[len(list)-1], list
		}
		toolRows = append(toolRows, row)
	}
	var commandRows []audit.CommandRow
	for _, g := range commands {
		r := *g.row
		if req.Error && r.Failed == 0 {
			continue // it made nothing fail
		}
		r.Sessions, r.Last = len(g.files), session.Time{Time: time.UnixMilli(g.last).UTC()}
		commandRows = append(commandRows, r)
	}
	finishUsage := func(g *tally[audit.UsageRow]) audit.UsageRow {
		r := *g.row
		r.Sessions, r.Cost, r.ListedCost = len(g.files), round(r.Cost), round(r.ListedCost)
		if g.last != 0 {
			r.Last = session.Time{Time: time.UnixMilli(g.last).UTC()}
		}
		return r
	}
	var usageRows []audit.UsageRow
	for _, g := range usage {
		usageRows = append(usageRows, finishUsage(g))
	}
	var sourceRows []audit.SourceRow
	for _, g := range sources {
		g.row.Cost = round(g.row.Cost)
		sourceRows = append(sourceRows, *g.row)
	}
	w.tools, w.toolTotal, w.commands = lines(toolRows), lines([]audit.ToolRow{finishTool(toolTotal)}), lines(commandRows)
	w.usage, w.usageTotal, w.sources = lines(usageRows), lines([]audit.UsageRow{finishUsage(usageTotal)}), lines(sourceRows)
	return w
}
