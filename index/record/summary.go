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
	b = format.AppendInt(b, c.TailBytes)
	b = format.AppendInt(b, c.Within)
	b = format.AppendInt(b, c.LongestLine)
	b = format.AppendInt(b, c.ShortestLeft)
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
	c.TailBytes = d.Int()
	c.Within = d.Int()
	c.LongestLine = d.Int()
	c.ShortestLeft = d.Int()
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

	s.Name = d.String()
	s.FirstPrompt = d.String()
	s.Subject = d.String()
	s.LastMessage = d.Time()
	s.Oldest = d.Time()
	s.Newest = d.Time()
}
