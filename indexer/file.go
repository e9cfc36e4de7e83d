package indexer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"pigrep/adapter"
	"pigrep/index/segment"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
)

// longLine is the length of a line after which memory is released at once.
const longLine = 16 << 20

// smallFile is the size up to which files share a read buffer.
const smallFile = 1 << 20

// readFile updates the index for one file that is new, grown, rewritten or
// truncated. It reads up to the size that the file had when it was opened, so that
// the recorded times are never newer than the bytes.
func (w *worker) readFile(ctx context.Context, s *Step) error {
	f, err := openSession(s.File.Path)
	if err != nil {
		return w.cannotRead(s, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return w.cannotRead(s, err)
	}
	now := w.Now()
	s.File.setStat(info)
	rec, marks, err := w.begin(s, f)
	if rec == nil {
		return err
	}
	if rec.Facts == nil {
		rec.Facts = &session.Facts{}
	}
	parser := w.Adapter.Parse(adapter.State{Path: rec.Path, Header: rec.Header, Lines: rec.Lines, LastTime: lastTime(rec), Facts: true})
	lines := &w.lines
	if s.File.Size > smallFile {
		lines = new(jsonl.Reader)
	}
	seek := func() {
		lines.Limit = adapter.MaxLine(w.Adapter)
		// The checkpoint follows the pieces of a line that is too long: if the line is still
		// being written, none of them is read again to index what follows.
		lines.Skim = func(piece []byte) error {
			marks.add(piece)
			skim(rec, piece)
			w.read(int64(len(piece)))
			return ctx.Err()
		}
		at := rec.Checkpoint.Offset
		lines.Reset(io.NewSectionReader(f, at, s.File.Size-at), at, rec.Lines)
		lines.Within(rec.Within)
	}
	seek()
	// rec.Header must come from the lines before the checkpoint, never from an
	// unterminated one.
	put := func(full *session.Record, whole bool) {
		marks.write(rec)
		stamp(&rec.Checkpoint, s.File, now)
		if !whole {
			rec.Size, rec.Ctime = rec.Checkpoint.Offset, unsettled
		}
		if full != nil {
			longest := full.LongestLine // which may be the unterminated one
			full.Checkpoint = rec.Checkpoint
			full.LongestLine = longest
			full.Blocks, full.Partial = rec.Blocks, rec.Partial
			full.TailBytes = s.File.Size - rec.Checkpoint.Offset
		}
		w.batch.Put(rec, full)
	}
	for {
		line, err := lines.Next()
		if err == io.EOF {
			put(nil, true)
			return nil
		}
		if err != nil {
			put(nil, false)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return w.cannotRead(s, err)
		}
		if line.TooLong {
			skimmed(rec, line)
			continue
		}
		if !line.Ended {
			full := rec.Clone()
			found := w.readLine(parser, line, full)
			if full.Header = parser.State().Header; !found && full.Header == rec.Header && full.LongestLine == rec.LongestLine {
				full = nil
			}
			w.read(int64(len(line.Raw)))
			put(full, true)
			return nil
		}
		w.readLine(parser, line, rec)
		rec.Header = parser.State().Header
		marks.add(line.Raw)
		rec.Checkpoint.Offset += int64(len(line.Raw))
		rec.Lines++
		w.read(int64(len(line.Raw)))
		if ctx.Err() != nil {
			put(nil, false)
			return ctx.Err()
		}
		if len(line.Raw) > longLine {
			// The line and its text are no longer needed, and committing it
			// takes as much memory again.
			parser, lines = w.Adapter.Parse(parser.State()), new(jsonl.Reader)
			seek()
		}
		if w.batch.Size() >= w.limit {
			put(nil, false)
			if err := w.commit(); err != nil {
				return err
			}
			w.dirty = true
		}
	}
}

// begin returns the record to continue from, with the marks of the bytes before its
// checkpoint. It verifies that these bytes are as indexed, after the file's times were
// read, so that a later change shows in the times. If they are not, the file counts as
// rewritten, and begin deletes its documents. It returns no record if the file cannot be
// read.
func (w *worker) begin(s *Step, f io.ReaderAt) (*session.Record, *marks, error) {
	if s.Change == Grown {
		rec, err := w.target.RecordToContinue(s.Known.File)
		if err != nil {
			return nil, nil, fmt.Errorf("read the session record of %s: %w", s.File.Path, err)
		}
		s.Change, s.Reason = Rewritten, noRecord
		if rec != nil {
			same, err := sameBlocks(f, rec)
			if err != nil {
				return nil, nil, w.cannotRead(s, err)
			}
			if m, err := resumeMarks(rec); same && err == nil {
				s.grown()
				return rec, m, nil
			}
			s.Reason = otherBytes
		}
		w.more(s.File.Size - s.Pending)
		s.Pending = s.File.Size
	}
	rec := &session.Record{}
	rec.Path = s.File.Path
	if s.Known != nil {
		rec.File = s.Known.File
		w.batch.DeleteDocuments(rec.File)
	} else {
		rec.File = w.target.NextFile()
	}
	return rec, newMarks(), nil
}

// cannotRead records a file that cannot be read. Its documents stay, unless the file
// is gone by now.
func (w *worker) cannotRead(s *Step, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		s.Change = Gone
		if s.Known != nil {
			w.batch.DeleteFile(s.Known.File)
		}
		return nil
	}
	s.Change, s.Err = Unreadable, err
	w.mu.Lock()
	defer w.mu.Unlock()
	w.res.Errors = append(w.res.Errors, FileError{s.File.Path, err})
	return nil
}

// readLine adds the content of a line to the record and the batch. It reports
// whether there was any: an unterminated line that is not complete JSON does not
// count yet.
func (w *worker) readLine(parser adapter.Parser, line adapter.Line, rec *session.Record) bool {
	found := false
	rec.NoteLine(line.Length, false)
	problems := parser.Parse(line, func(e *session.Entry) {
		found = true
		rec.Add(e)
		addFacts(w.folder, e, rec)
		w.addDocuments(e, rec)
	})
	for _, p := range problems {
		if !p.Torn {
			found = true
			rec.AddProblem(session.Problem{Line: p.Line, Offset: p.Offset, Reason: p.Reason})
		}
	}
	return found
}

// skim moves the checkpoint behind a piece of a line that is too long.
func skim(rec *session.Record, piece []byte) {
	if rec.Within == 0 {
		rec.AddProblem(session.Problem{Line: rec.Lines + 1, Offset: rec.Checkpoint.Offset, Reason: adapter.TooLong})
	}
	rec.Within += int64(len(piece))
	rec.Checkpoint.Offset += int64(len(piece))
}

// skimmed records the end of a line that is too long. Without one, the rest of the line
// is still to come.
func skimmed(rec *session.Record, line adapter.Line) {
	if line.Ended {
		rec.NoteLine(line.Length, true)
		rec.Within = 0
		rec.Lines++
	}
}

// addDocuments adds the documents of an entry. Its facts must have been added.
func (w *worker) addDocuments(e *session.Entry, rec *session.Record) {
	w.entries++
	for i := range e.Parts {
		d := document(e, i, rec.File)
		rec.Tokens += uint64(w.batch.Add(&d))
		rec.Documents++
	}
}

// addFacts adds the facts of an entry for audits.
func addFacts(o *shellcmd.Folder, e *session.Entry, rec *session.Record) {
	if e.Facts == nil {
		return
	}
	if e.Facts.HasUsage {
		rec.AddUsage(e.Facts.Usage)
	}
	o.Add(rec.Facts, e)
}

// document returns the document of one part of an entry.
func document(e *session.Entry, part int, file uint32) segment.Document {
	p := &e.Parts[part]
	d := segment.Document{
		ID:         segment.ID{File: file, Offset: e.Offset, Part: part},
		Kind:       p.Kind,
		Role:       e.Role,
		Tool:       p.Tool,
		Provider:   e.Provider,
		Model:      e.Model,
		CustomType: e.CustomType,
		Error:      e.IsError,
		Search:     p.Search,
		Image:      segment.ImageTerm(e.Images),
		Copy:       e.Copy,
		Text:       p.Text,
	}
	if part == 0 && !strings.HasPrefix(e.ID, "@") {
		d.EntryID = e.ID
	}
	return d
}

// lastTime returns the time of the last entry in Unix milliseconds, 0 if there is
// none.
func lastTime(rec *session.Record) int64 {
	if len(rec.Nodes) == 0 {
		return 0
	}
	return rec.Nodes[len(rec.Nodes)-1].Time
}
