package record

import (
	"math"
	"time"

	"pigrep/index/format"
	"pigrep/internal/session"
)

// A coder writes values, or reads them, so that what a record consists of is said once, for
// both. Reading sets the values, and writing leaves them as they are.
type coder struct {
	format.Decoder
	writes bool
	out    []byte // what was written

	names   []string          // of entries: their types, roles and tools
	numbers map[string]uint64 // of these names, for writing
}

type integer interface {
	~int | ~int64 | ~uint8 | ~uint32 | ~uint64
}

func number[T integer](c *coder, values ...*T) {
	for _, v := range values {
		if c.writes {
			c.out = format.AppendInt(c.out, int64(*v))
		} else {
			*v = T(c.Int())
		}
	}
}

func natural[T integer](c *coder, v *T) {
	if c.writes {
		c.out = format.AppendUint(c.out, uint64(*v))
	} else {
		*v = T(c.Uint())
	}
}

// count is natural for a number that fits into 31 bits.
func count[T integer](c *coder, v *T) {
	if c.writes {
		c.out = format.AppendUint(c.out, uint64(*v))
	} else {
		*v = T(c.Count())
	}
}

func fixed[T integer](c *coder, v *T) {
	if c.writes {
		c.out = format.AppendFixed(c.out, uint64(*v))
	} else {
		*v = T(c.Fixed())
	}
}

func (c *coder) text(values ...*string) {
	for _, v := range values {
		if c.writes {
			c.out = format.AppendString(c.out, *v)
		} else {
			*v = c.String()
		}
	}
}

func (c *coder) strings(v *[]string) {
	if c.writes {
		c.out = format.AppendStrings(c.out, *v)
	} else {
		*v = c.Strings()
	}
}

func (c *coder) time(values ...*time.Time) {
	for _, v := range values {
		if c.writes {
			c.out = format.AppendTime(c.out, *v)
		} else {
			*v = c.Time()
		}
	}
}

// list codes the items of a list, of which each takes at least size bytes. A list that was
// read is nil if it is empty.
func list[L ~[]T, T any](c *coder, items *L, size int, item func(*T)) {
	if c.writes {
		c.out = format.AppendUint(c.out, uint64(len(*items)))
	} else if n := c.Items(size); n > 0 {
		*items = make(L, n)
	}
	for i := range *items {
		item(&(*items)[i])
	}
}

func (c *coder) summary(s *session.Summary) {
	count(c, &s.File)
	c.text(&s.Path)

	p := &s.Checkpoint
	number(c, &p.Offset, &p.Size)
	fixed(c, &p.Mtime)
	fixed(c, &p.Ctime)
	natural(c, &p.Inode)
	number(c, &p.Lines)
	text := p.Bits()
	natural(c, &text)
	if !c.writes {
		p.SetBits(text)
	}
	number(c, &p.TailBytes, &p.Within, &p.LongestLine, &p.ShortestLeft)
	number(c, &p.Revision)
	c.text(&s.Agent)
	c.rest(s)
}

// rest codes what the stamp of a table does not have.
func (c *coder) rest(s *session.Summary) {
	c.beginning(s)
	number(c, &s.Messages, &s.Entries)
	c.strings(&s.Models)
	number(c, &s.UsedTokens)
	cost := math.Float64bits(s.UsedCost)
	fixed(c, &cost)
	if !c.writes {
		s.UsedCost = math.Float64frombits(cost)
	}
	list(c, &s.Unpriced, leastModelUsage, c.modelUsage)
	c.strings(&s.LabelNames)
	number(c, &s.Documents)
	natural(c, &s.Tokens)
	number(c, &s.Skipped)
}

// leastModelUsage is how many bytes a session.ModelUsage takes at least.
const leastModelUsage = 9

func (c *coder) modelUsage(m *session.ModelUsage) {
	c.text(&m.Model)
	flags, cost := uint64(flag(m.Unusable, usageUnusable)|flag(m.NoCost, usageNoCost)|flag(m.Faster, usageFaster)), math.Float64bits(m.Cost)
	natural(c, &flags)
	natural(c, &cost)
	m.Unusable, m.NoCost, m.Faster, m.Cost = flags&usageUnusable != 0, flags&usageNoCost != 0, flags&usageFaster != 0, math.Float64frombits(cost)
	number(c, &m.Uses)
	number(c, &m.Input, &m.Output, &m.CacheRead, &m.CacheWrite, &m.LongWrite)
}

// beginning codes the header, the names and the times.
func (c *coder) beginning(s *session.Summary) {
	h := &s.Header
	c.text(&h.ID, &h.CWD, &h.ParentSession)
	number(c, &h.Version)
	c.time(&h.Timestamp)
	number(c, &h.Offset)
	c.rare(s)
	c.text(&s.Name, &s.FirstPrompt, &s.Subject)
	c.time(&s.LastMessage, &s.Oldest, &s.Newest)
	fixed(c, &s.Begins)
}

// What few sessions have is preceded by flags that say whether it follows.
const (
	rareNotes = 1 << iota
	rareNested
	rareRelation // int relation
	rareFiles    // string part, the base: string session, string part, int ordinal, int offset; int ordinal
	rareGit      // string
	rareRank     // int
	rareDelegated
	rareQueued
	rareStrange // uint number of names; each: string, int
	rareFollows // string
)

func (c *coder) rare(s *session.Summary) {
	h := &s.Header
	files := h.Part != "" || h.Base != session.Base{} || h.Ordinal != 0
	flags := flag(h.Notes, rareNotes) | flag(h.Nested, rareNested) | flag(h.Relation != 0, rareRelation) |
		flag(files, rareFiles) | flag(h.Git != "", rareGit) | flag(s.NameRank != 0, rareRank) | flag(s.Delegated, rareDelegated) |
		flag(s.Queued, rareQueued) | flag(len(s.Strange) > 0, rareStrange) |
		flag(s.Follows != "", rareFollows)
	natural(c, &flags)
	if !c.writes {
		h.Notes, h.Nested, s.Delegated, s.Queued = flags&rareNotes != 0, flags&rareNested != 0, flags&rareDelegated != 0, flags&rareQueued != 0
		s.Strange, s.Follows = nil, ""
		h.Relation, h.Part, h.Base, h.Ordinal, h.Git, s.NameRank = 0, "", session.Base{}, 0, "", 0
	}
	if flags&rareRelation != 0 {
		number(c, &h.Relation)
	}
	if flags&rareFiles != 0 {
		c.text(&h.Part, &h.Base.Session, &h.Base.Part)
		number(c, &h.Base.Ordinal, &h.Base.Offset, &h.Ordinal)
	}
	if flags&rareGit != 0 {
		c.text(&h.Git)
	}
	if flags&rareRank != 0 {
		number(c, &s.NameRank)
	}
	if flags&rareStrange != 0 {
		n := len(s.Strange)
		if count(c, &n); !c.writes {
			s.Strange = make([]session.Strange, min(n, session.MaxStrange))
		}
		for i := range s.Strange {
			c.text(&s.Strange[i].Name)
			number(c, &s.Strange[i].Count)
		}
	}
	if flags&rareFollows != 0 {
		c.text(&s.Follows)
	}
}
