package audit

import (
	"context"
	"slices"
	"time"

	"pigrep/index/record"
	"pigrep/internal/timespec"
)

// BlockLength is how long a block lasts. A block is a window in which the plans of providers count what
// is used: it begins at the full hour (UTC) of the first use of tokens after the block before has
// ended. Each agent has blocks of its own. Filters do not move them.
const BlockLength = 5 * time.Hour

// blocks are when the blocks of each agent begin, in Unix milliseconds, ascending.
type blocks map[string][]int64

// findBlocks finds the blocks of all agents. Copies of a use do not move them, as they have its time.
func (x *auditor) findBlocks() (blocks, error) {
	found := make(blocks)
	err := x.each(x.facts.Entries(x.ids), func(f *file, p *record.Piece) error {
		for i := range p.Usages.Len {
			found[f.Agent] = append(found[f.Agent], f.millis(p.Usages.Time.At(i)))
		}
		return nil
	})
	for agent, times := range found {
		slices.Sort(times)
		starts := times[:0]
		for _, ms := range times {
			if n := len(starts); n == 0 || ms >= starts[n-1]+BlockLength.Milliseconds() {
				starts = append(starts, time.UnixMilli(ms).Truncate(time.Hour).UnixMilli())
			}
		}
		found[agent] = starts
	}
	return found, err
}

// narrow limits a day to its part in the block of an agent at a time, and names the block.
func (b blocks) narrow(d *day, agent string, ms int64) {
	i, found := slices.BinarySearch(b[agent], ms)
	if !found {
		i--
	}
	start := b[agent][i]
	d.from, d.to = max(d.from, start), min(d.to, start+BlockLength.Milliseconds())
	d.block = time.UnixMilli(start).UTC().Format(time.RFC3339)
}

// byBlock prepares a table whose rows are of blocks. If the sessions are of several agents, the blocks
// of each have rows of their own.
func (x *auditor) byBlock() (blocks, error) {
	at := slices.Index(x.req.By, "block")
	if at < 0 {
		return nil, nil
	}
	agent := ""
	for i := range x.files {
		switch f := &x.files[i]; {
		case !f.wanted || !f.IsSession():
		case agent == "":
			agent = f.Agent
		case agent != f.Agent && !slices.Contains(x.req.By, "agent"):
			x.req.By = slices.Insert(slices.Clone(x.req.By), at+1, "agent")
		}
	}
	return x.findBlocks()
}

// Recent is what was used today and in this week, which began on Monday.
type Recent struct {
	Today UsageRow `json:"today"`
	Week  UsageRow `json:"thisWeek"`
}

// RecentUsage adds up the tokens and cost of today and of this week in the time zone of now; nil for a
// request that names another time. usage is Usage, of whichever sessions.
func RecentUsage(ctx context.Context, usage func(context.Context, Request) (*UsageTable, error), req Request, now time.Time) (*Recent, error) {
	if !req.Since.IsZero() || !req.Until.IsZero() {
		return nil, nil
	}
	week, err := timespec.Parse("this week", now)
	if err != nil {
		return nil, err
	}
	req.Since, req.Until, req.Location = week.Start, week.End, now.Location()
	req.By, req.Rows = []string{"day"}, 0
	t, err := usage(ctx, req)
	if err != nil {
		return nil, err
	}
	recent, today := &Recent{Week: t.Total}, dayOf(now).day
	for _, row := range t.Rows {
		if row.Day == today {
			recent.Today = row
		}
	}
	recent.Today.Type, recent.Today.Key = recent.Week.Type, Key{}
	return recent, nil
}
