package opensearch

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sort"
	"sync"
	"time"

	"pigrep/adapter"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/remote"
)

// sparse is a file of which some lines are there. The line at which a read begins is read when it is
// not. What is missing is blank, with as many line ends as lines, so that places and numbers of the
// others are right. It may be used by several goroutines.
type sparse struct {
	ctx    context.Context
	record *session.Record
	more   func(ctx context.Context, number int) ([]adapter.Line, error) // reads a line; nil: it stays blank

	mu    sync.Mutex
	lines []adapter.Line // in order
}

func (s *sparse) Close() error       { return nil }
func (s *sparse) ModTime() time.Time { return time.Unix(0, s.record.Mtime) }
func (s *sparse) Size() int64        { return s.record.Checkpoint.Length }

// end is behind the line end of a line.
func end(l *adapter.Line) int64 { return l.Offset + int64(len(l.Data)) + 1 }

func (s *sparse) ReadAt(p []byte, offset int64) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := max(0, s.Size()-offset); int64(len(p)) > left {
		p, err = p[:left], io.EOF
	}
	if len(p) > 0 {
		if err := s.read(offset); err != nil {
			return 0, err
		}
	}
	s.fill(p, offset)
	return len(p), err
}

// fill reads a piece of the file at an offset.
func (s *sparse) fill(p []byte, offset int64) {
	for i := range p {
		p[i] = ' '
	}
	to := offset + int64(len(p))
	i := s.from(offset)
	number, at := 0, int64(0) // of the line before, and its end
	if i > 0 {
		number, at = s.lines[i-1].Number, end(&s.lines[i-1])
	}
	blank := func(lines int) {
		for k := max(at, offset); k < min(at+int64(lines), to); k++ {
			p[k-offset] = '\n'
		}
	}
	for ; i < len(s.lines) && at < to; i++ {
		l := &s.lines[i]
		blank(l.Number - number - 1)
		if from := max(l.Offset, offset); from < min(end(l), to) {
			copy(p[from-offset:], l.Data[min(from-l.Offset, int64(len(l.Data))):])
		}
		if number, at = l.Number, end(l); at > offset && at <= to {
			p[at-1-offset] = '\n'
		}
	}
	blank(s.record.Lines - number)
}

// from returns the first line that ends behind an offset.
func (s *sparse) from(offset int64) int {
	return sort.Search(len(s.lines), func(i int) bool { return end(&s.lines[i]) > offset })
}

// read reads the line of the entry at an offset, unless it is there. Who reads more looks for the end
// of that line.
func (s *sparse) read(offset int64) error {
	if i := s.from(offset); i < len(s.lines) && s.lines[i].Offset <= offset {
		return nil
	}
	nodes := s.record.Nodes
	i := sort.Search(len(nodes), func(i int) bool { return nodes[i].Offset+int64(nodes[i].Length) > offset })
	if i == len(nodes) || s.more == nil {
		return nil
	}
	more, err := s.more(s.ctx, nodes[i].Line)
	if err == nil {
		s.lines = merged(slices.Concat(more, s.lines))
	}
	return err
}

// merged returns lines in order, each once, as far as they fit together.
func merged(lines []adapter.Line) []adapter.Line {
	lists.SortStable(lines, func(a, b adapter.Line) int { return cmp.Compare(a.Number, b.Number) })
	var last *adapter.Line
	return slices.DeleteFunc(lines, func(l adapter.Line) bool {
		number, at := 0, int64(0)
		if last != nil {
			number, at = last.Number, end(last)
		}
		gap := int64(l.Number) - int64(number) - 1
		if gap < 0 || l.Offset < 0 || l.Offset-at < gap {
			return true
		}
		last = &l
		return false
	})
}

// isUsable reports whether a record that comes from elsewhere may stand for a session file: its
// entries must be in order and of sizes that can be read.
func isUsable(r *session.Record) bool {
	if r.Lines < 0 || r.Checkpoint.Length < int64(r.Lines) {
		return false
	}
	at := int64(0)
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.Offset < at || n.Length < 0 || n.Length > remote.MostText || n.Offset > r.Checkpoint.Length-int64(n.Length) || n.Line < 0 {
			return false
		}
		at = n.Offset
	}
	return true
}
