package grep

import (
	"bytes"
	"cmp"
	"io"
	"slices"

	"pigrep/index/record"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/literal"
)

// skipEntries drops the first candidates whose lines rule them out. If all are dropped
// the session record, which takes longer to load, is not needed.
func (w *worker) skipEntries() error {
	for w.JSONPrefilter != nil && len(w.task.entries) > 0 {
		may, err := w.lineMayMatch(w.task.entries[0])
		if may || err != nil {
			return err
		}
		w.task.entries = w.task.entries[1:]
	}
	return w.ctx.Err()
}

// lineMayMatch reports whether the line from an offset on may have a match. It reads
// the line through a window. Successive windows overlap by the longest literal, so that
// each literal is inside of one of them.
func (w *worker) lineMayMatch(offset int64) (bool, error) {
	buf := w.buffer(max(w.limits.window, 2*w.JSONPrefilter.Longest))
	for have, size := 0, min(probeRead, len(buf)); ; size = len(buf) {
		n, err := w.file.ReadAt(buf[have:size], offset)
		if err != nil && err != io.EOF {
			return false, err
		}
		data := buf[:have+n]
		ended := bytes.IndexByte(data[have:], '\n')
		if ended >= 0 {
			data = data[:have+ended]
		}
		if w.cursor.MayMatch(w.JSONPrefilter, data) {
			return true, nil
		}
		if ended >= 0 || err == io.EOF {
			return false, nil
		}
		offset += int64(n)
		start := len(data) - w.JSONPrefilter.Longest
		for start > 0 && data[start-1] == '\\' {
			start-- // in a run of backslashes the first one decides which are escaped
		}
		if start <= 0 {
			return true, nil
		}
		have = copy(buf, data[start:])
	}
}

// mayMatch reports whether raw JSON may have a match.
func (w *worker) mayMatch(data []byte) bool {
	return w.cursor.MayMatch(w.JSONPrefilter, data) && w.hasRest(data)
}

// hasRest reports whether raw JSON has what a match contains beside the literals of the prefilter.
func (w *worker) hasRest(data []byte) bool {
	return !slices.ContainsFunc(w.JSONRest, func(p *literal.Prefilter) bool { return !w.rest.MayMatch(p, data) })
}

// searchNamed searches the candidate entries. It fails with entry.ErrChanged if the
// file does not have them any more.
func (w *worker) searchNamed(rec *record.Outline) error {
	s := &rec.Record.Summary
	if !w.passes(s) {
		w.task.skipped = true
		return nil
	}
	w.entryReader.Use(s)
	walk, list := rec.Walk(), w.task.entries
	for len(list) > 0 {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		from := list[0]
		w.nodes = w.nodes[:0]
		end := from
		for len(list) > 0 {
			e, ok := walk.At(list[0])
			if !ok {
				return entry.ErrChanged
			}
			n := &e.Node
			if len(w.nodes) > 0 && (n.Offset > end+maxGap || n.Offset+int64(n.Length) > from+maxRead) {
				break
			}
			end = n.Offset + int64(n.Length)
			w.nodes = append(w.nodes, e)
			list = list[1:]
		}
		data := w.buffer(int(end - from))
		if n, err := w.file.ReadAt(data, from); n < len(data) {
			if err == io.EOF {
				err = entry.ErrChanged
			}
			return err
		}
		for i := range w.nodes {
			n := &w.nodes[i]
			at := int(n.Offset - from)
			if err := w.searchNode(s, n, data[at:at+n.Length]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *worker) searchNode(s *session.Summary, n *record.Entry, data []byte) error {
	if w.JSONPrefilter != nil && !w.mayMatch(data) {
		return nil
	}
	var err error
	changed := w.entryReader.Parse(entry.RefOf(&n.Node, n.Context), entry.Identity{ID: n.ID}, data, func(e *session.Entry) {
		err = w.searchEntry(e, s.TimeOf(&n.Node))
	})
	return cmp.Or(changed, err)
}
