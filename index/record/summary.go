package record

import (
	"math"

	"pigrep/index/format"
	"pigrep/internal/session"
)

// decoder adds the encodings of this package to the primitives.
type decoder struct{ format.Decoder }

func appendSummary(b []byte, s *session.Summary) []byte {
	b = format.AppendUint(b, uint64(s.File))
	b = format.AppendString(b, s.Path)

	c := &s.Checkpoint
	b = format.AppendInt(b, c.Offset)
	b = format.AppendInt(b, c.Size)
	b = format.AppendFixed(b, uint64(c.Mtime))
	b = format.AppendFixed(b, uint64(c.Ctime))
	b = format.AppendUint(b, c.Inode)
	b = format.AppendInt(b, int64(c.Lines))
	b = format.AppendUint(b, c.Text())
	b = format.AppendInt(b, c.TailBytes)
	b = format.AppendInt(b, c.Within)
	b = format.AppendInt(b, c.LongestLine)
	b = format.AppendInt(b, c.ShortestLeft)
	b = format.AppendInt(b, int64(c.Revision))
	b = format.AppendString(b, s.Agent)
	return appendRest(b, s)
}

// appendRest appends what the stamp of a table does not have.
func appendRest(b []byte, s *session.Summary) []byte {
	h := &s.Header
	b = format.AppendString(b, h.ID)
	b = format.AppendString(b, h.CWD)
	b = format.AppendString(b, h.ParentSession)
	b = format.AppendInt(b, int64(h.Version))
	b = format.AppendTime(b, h.Timestamp)
	b = format.AppendInt(b, h.Offset)
	b = appendRare(b, s)

	b = format.AppendString(b, s.Name)
	b = format.AppendString(b, s.FirstPrompt)
	b = format.AppendString(b, s.Subject)
	b = format.AppendTime(b, s.LastMessage)
	b = format.AppendTime(b, s.Oldest)
	b = format.AppendTime(b, s.Newest)
	b = format.AppendInt(b, int64(s.Messages))
	b = format.AppendInt(b, int64(s.Entries))
	b = format.AppendStrings(b, s.Models)
	b = format.AppendInt(b, s.UsedTokens)
	b = format.AppendFixed(b, math.Float64bits(s.UsedCost))
	b = format.AppendStrings(b, s.LabelNames)
	b = format.AppendInt(b, int64(s.Documents))
	b = format.AppendUint(b, s.Tokens)
	return format.AppendInt(b, int64(s.Skipped))
}

// What few sessions have is preceded by flags that say whether it follows.
const (
	rareNotes = 1 << iota
	rareNested
	rareRelation // int relation
	rareFiles    // string part, the base: string session, string part, int ordinal, int offset; int ordinal
	rareGit      // string
	rareRank     // int
)

func appendRare(b []byte, s *session.Summary) []byte {
	h := &s.Header
	files := h.Part != "" || h.Base != session.Base{} || h.Ordinal != 0
	flags := flag(h.Notes, rareNotes) | flag(h.Nested, rareNested) | flag(h.Relation != 0, rareRelation) |
		flag(files, rareFiles) | flag(h.Git != "", rareGit) | flag(s.NameRank != 0, rareRank)
	b = format.AppendUint(b, uint64(flags))
	if h.Relation != 0 {
		b = format.AppendInt(b, int64(h.Relation))
	}
	if files {
		b = format.AppendString(b, h.Part)
		b = format.AppendString(b, h.Base.Session)
		b = format.AppendString(b, h.Base.Part)
		b = format.AppendInt(b, h.Base.Ordinal)
		b = format.AppendInt(b, h.Base.Offset)
		b = format.AppendInt(b, h.Ordinal)
	}
	if h.Git != "" {
		b = format.AppendString(b, h.Git)
	}
	if s.NameRank != 0 {
		b = format.AppendInt(b, int64(s.NameRank))
	}
	return b
}

func (d *decoder) rare(s *session.Summary) {
	h, flags := &s.Header, d.Uint()
	h.Notes, h.Nested = flags&rareNotes != 0, flags&rareNested != 0
	h.Relation, h.Part, h.Base, h.Ordinal, h.Git, s.NameRank = 0, "", session.Base{}, 0, "", 0
	if flags&rareRelation != 0 {
		h.Relation = session.Relation(d.Int())
	}
	if flags&rareFiles != 0 {
		h.Part = d.String()
		h.Base = session.Base{Session: d.String(), Part: d.String(), Ordinal: d.Int(), Offset: d.Int()}
		h.Ordinal = d.Int()
	}
	if flags&rareGit != 0 {
		h.Git = d.String()
	}
	if flags&rareRank != 0 {
		s.NameRank = uint8(d.Int())
	}
}

func (d *decoder) summary(s *session.Summary) {
	s.File = uint32(d.Count())
	s.Path = d.String()

	c := &s.Checkpoint
	c.Offset = d.Int()
	c.Size = d.Int()
	c.Mtime = int64(d.Fixed())
	c.Ctime = int64(d.Fixed())
	c.Inode = d.Uint()
	c.Lines = int(d.Int())
	c.SetText(d.Uint())
	c.TailBytes = d.Int()
	c.Within = d.Int()
	c.LongestLine = d.Int()
	c.ShortestLeft = d.Int()
	c.Revision = int(d.Int())
	s.Agent = d.String()
	d.rest(s)
}

func (d *decoder) rest(s *session.Summary) {
	d.beginning(s)
	s.Messages = int(d.Int())
	s.Entries = int(d.Int())
	s.Models = d.Strings()
	s.UsedTokens = d.Int()
	s.UsedCost = math.Float64frombits(d.Fixed())
	s.LabelNames = d.Strings()
	s.Documents = int(d.Int())
	s.Tokens = d.Uint()
	s.Skipped = int(d.Int())
}

// beginning reads the header, the names and the times.
func (d *decoder) beginning(s *session.Summary) {
	h := &s.Header
	h.ID = d.String()
	h.CWD = d.String()
	h.ParentSession = d.String()
	h.Version = int(d.Int())
	h.Timestamp = d.Time()
	h.Offset = d.Int()
	d.rare(s)

	s.Name = d.String()
	s.FirstPrompt = d.String()
	s.Subject = d.String()
	s.LastMessage = d.Time()
	s.Oldest = d.Time()
	s.Newest = d.Time()
}
