package grep

import (
	"io"
	"sync"

	"pigrep/adapter"
	"pigrep/index/segment"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
)

// searches knows which parts are calls and results of this program: session.Part.Search,
// which an entry that is read alone does not have. It looks only once something matches.
type searches struct {
	once  sync.Once
	parts map[segment.ID]bool // as indexed
	err   error
}

// isSearch reports whether a part of an entry of the task is one.
func (w *worker) isSearch(offset int64, part int) (bool, error) {
	if t := w.task; t.Known != nil && w.reader != nil && offset < t.Indexed {
		s := &w.searches
		s.once.Do(func() { s.parts, s.err = w.indexedSearches() })
		return s.parts[segment.ID{File: t.Known.File, Offset: offset, Part: part}], s.err
	}
	if w.pending == nil {
		var err error
		if w.pending, err = w.readSearches(); err != nil {
			return false, err
		}
	}
	return w.pending[segment.ID{Offset: offset, Part: part}], nil
}

// indexedSearches reads them from the index.
func (g *run) indexedSearches() (map[segment.ID]bool, error) {
	parts := make(map[segment.ID]bool)
	for _, s := range g.reader.Segments() {
		docs, err := s.Bitmap(segment.FieldSearch, []byte(segment.Yes))
		if err != nil {
			return nil, err
		}
		for it := docs.Iterator(); it.HasNext(); {
			id, err := s.ID(it.Next())
			if err != nil {
				return nil, err
			}
			parts[id] = true
		}
	}
	return parts, nil
}

// readSearches reads them from the file of the task, from its beginning: a result is
// joined with a call that may be anywhere before it.
func (w *worker) readSearches() (map[segment.ID]bool, error) {
	parts := make(map[segment.ID]bool)
	facts, folder := &session.Facts{}, shellcmd.NewFolder()
	parser := w.adapter.Parse(adapter.State{Path: w.task.Path, Facts: true})
	lines := adapter.Lines(w.adapter, io.NewSectionReader(w.file, 0, w.file.Size()), 0, 0)
	for {
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		line, err := lines.Next()
		if err == io.EOF {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		adapter.Parse(parser, line, func(e *session.Entry) {
			folder.Add(facts, e)
			for i := range e.Parts {
				if e.Parts[i].Search {
					parts[segment.ID{Offset: e.Offset, Part: i}] = true
				}
			}
		})
	}
}
