package indexer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/index/segment"
	"pigrep/internal/content"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
)

// longLine is the length of a line after which memory is released at once.
const longLine = 16 << 20

// smallFile is the size up to which files share a read buffer.
const smallFile = 1 << 20

// lineReader reads the lines of a session file, from the checkpoint of a record on, and
// adds what they say to the record.
type lineReader struct {
	adapter adapter.Adapter
	folder  *shellcmd.Folder
	rec     *session.Record
	marks   *marks
	parser  adapter.Parser
	lines   *jsonl.Reader
	source  io.ReaderAt // of the lines
	limits  adapter.Limits
	add     func(*segment.Document) (tokens int) // adds a document
	remove  func(offset int64)                   // removes the documents of an entry that were added before the checkpoint
	skimmed func(bytes int64) error              // is told of each piece of a line that is too long; an error ends reading
	visit   func(*session.Entry) (tokens int)    // is given entries with parts instead of add; nil: documents are added

	held      []heldEntry        // in file order
	abouts    map[string]int64   // of Notes: the offset of the last line about each session
	documents []segment.Document // memory for those of an entry
	entries   int
	own       string // where the session was started, as far as calls asked
}

// heldEntry is a pending entry whose documents wait until the checkpoint, because a later
// entry may shadow it until then.
type heldEntry struct {
	offset    int64
	documents []segment.Document
}

func newLines(a adapter.Adapter, rec *session.Record) lineReader {
	return lineReader{adapter: a, folder: shellcmd.NewFolder(), rec: rec, marks: newMarks(rec.Volatile), lines: new(jsonl.Reader)}
}

// seek continues at the checkpoint of the record. The file ends at a size.
func (r *lineReader) seek(f io.ReaderAt, size int64) {
	if r.parser == nil {
		r.parser = r.adapter.Parse(stateOf(r.rec))
	}
	r.source, r.limits = f, adapter.LimitsOf(r.adapter).Of(f)
	r.lines.Limit = r.limits.Line
	// The checkpoint follows the pieces of a line that is too long: if the line is still
	// being written, none of them is read again to index what follows.
	r.lines.Skim = func(piece []byte) error {
		if r.rec.Within == 0 {
			r.rec.AddProblem(session.Problem{Line: r.rec.Lines + 1, Offset: r.rec.Checkpoint.Offset, Reason: adapter.TooLong})
		}
		r.marks.add(piece)
		r.rec.Within += int64(len(piece))
		r.rec.Checkpoint.Offset += int64(len(piece))
		return r.skimmed(int64(len(piece)))
	}
	at := r.rec.Checkpoint.Offset
	r.lines.Reset(io.NewSectionReader(f, at, size-at), at, r.rec.Lines)
	r.lines.Within(r.rec.Within)
}

// stateOf returns the state of the parser at the checkpoint of a record.
func stateOf(rec *session.Record) adapter.State {
	s := adapter.State{Path: rec.Path, Header: rec.Header, Lines: rec.Lines, Facts: true, Memo: rec.Memo}
	if n := len(rec.Nodes); n > 0 {
		s.LastTime = rec.Nodes[n-1].Time
	}
	return s
}

// isFull reports whether reading stops here: the record has the most entries that an index takes of a file,
// and the file has more lines.
func (r *lineReader) isFull() bool {
	if r.rec.Within > 0 || !r.limits.Reached(r.rec) {
		return false
	}
	n, _ := r.source.ReadAt(make([]byte, 1), r.rec.Checkpoint.Offset)
	return n > 0
}

// next reads a line. It adds a complete one to the record, and leaves an unterminated one to
// the caller. The error is io.EOF at the end of the file, and when the index takes no more of it.
func (r *lineReader) next() (line adapter.Line, err error) {
	before := r.rec.Full
	if r.rec.Full = r.isFull(); r.rec.Full {
		if !before {
			r.rec.AddProblem(session.Problem{Line: r.rec.Lines + 1, Offset: r.rec.Checkpoint.Offset, Reason: adapter.EndOf(&r.rec.Checkpoint).Error()})
		}
		return line, io.EOF
	}
	line, err = r.lines.Next()
	switch {
	case err != nil:
	case !line.Ended: // the rest of it may still come
	case line.TooLong:
		r.rec.NoteLine(line.Length, true)
		r.rec.Within = 0
		r.rec.Lines++
	default:
		r.parse(line, r.rec)
		r.marks.add(line.Raw)
		r.rec.Checkpoint.Offset += int64(len(line.Raw))
		r.rec.Lines++
	}
	return line, err
}

// all reads all lines. An unterminated one counts if it is complete JSON.
func (r *lineReader) all(ctx context.Context) error {
	for {
		line, err := r.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !line.Ended && !line.TooLong:
			r.parse(line, r.rec)
		}
	}
}

// settle brings a record, which the parser has read to its end, to the state of the parser. It
// adds the documents of pending entries that were not shadowed.
func (r *lineReader) settle(rec *session.Record) {
	r.addHeld(rec)
	state, agent, notes := r.parser.State(), rec.Agent, rec.Notes
	rec.Header, rec.Memo = state.Header, state.Memo
	rec.Agent, rec.Notes = agent, notes
}

func (r *lineReader) addHeld(rec *session.Record) {
	for i := range r.held {
		h := &r.held[i]
		documents, tokens := r.addAll(h.documents, rec)
		if at := session.PendingAt(rec.Pending, h.offset); at >= 0 {
			rec.Pending[at].Documents, rec.Pending[at].Tokens = documents, tokens
		}
	}
	r.held = r.held[:0]
}

// parse adds the content of a line to a record. It reports whether there was any: an
// unterminated line that is not complete JSON does not count yet.
func (r *lineReader) parse(line adapter.Line, rec *session.Record) (found bool) {
	rec.NoteLine(line.Length, false)
	problems := r.parser.Parse(line, func(e *session.Entry) {
		found = true
		r.entries++
		switch {
		case !line.Ended: // it is read again, and only then decides about other entries
			e.Pending, e.Shadows = false, nil
		case rec.Notes:
			r.supersede(e)
		case e.Offset < rec.Volatile.Length:
			e.Pending = true // an overwritten one takes its place
		}
		rec.Add(e)
		if e.Repeats {
			return
		}
		for _, offset := range e.Shadows {
			r.shadow(offset)
		}
		if e.Facts != nil {
			tool := e.Tool
			if e.Context.CWD == "" || e.Context.CWD != r.own { // the state is expensive
				r.own = r.parser.State().Header.CWD
			}
			rec.AddUsage(r.folder.Add(rec.Facts, e, r.own))
			if e.Tool != tool {
				rec.AddTool(e.Tool)
			}
		}
		switch {
		case len(e.Parts) == 0:
		case r.visit != nil:
			rec.Documents += len(e.Parts)
			rec.Tokens += uint64(r.visit(e))
		default:
			r.documents = r.documents[:0]
			for i := range e.Parts {
				r.documents = append(r.documents, document(e, i, rec.File))
			}
			if e.Pending {
				if r.held = append(r.held, heldEntry{e.Offset, cloned(r.documents)}); len(r.held) > session.MaxPending && !rec.Notes { // the record has forgotten the first
					r.addAll(r.held[0].documents, rec)
					r.held = r.held[1:]
				}
			} else {
				r.addAll(r.documents, rec)
			}
		}
	})
	for _, p := range problems {
		if !p.Torn {
			found = true
			rec.AddProblem(session.Problem{Line: p.Line, Offset: p.Offset, Reason: p.Reason})
		}
	}
	return found
}

// supersede makes a complete line of Notes take the place of the last one about its session.
func (r *lineReader) supersede(e *session.Entry) {
	if r.abouts == nil {
		r.abouts = make(map[string]int64)
		for _, p := range r.rec.Pending {
			r.abouts[p.About] = p.Offset
		}
	}
	if offset, ok := r.abouts[e.About]; ok {
		e.Shadows = []int64{offset}
	}
	e.Pending, r.abouts[strings.Clone(e.About)] = true, e.Offset
}

// shadow removes the documents of an entry whose text a later one has.
func (r *lineReader) shadow(offset int64) {
	at, ok := slices.BinarySearchFunc(r.held, offset, func(h heldEntry, offset int64) int { return cmp.Compare(h.offset, offset) })
	if ok && at == 0 {
		r.held = r.held[1:]
	} else if ok {
		r.held = slices.Delete(r.held, at, at+1)
	} else if r.remove != nil {
		r.remove(offset)
	}
}

func (r *lineReader) addAll(list []segment.Document, rec *session.Record) (documents int, tokens uint64) {
	for i := range list {
		tokens += uint64(r.add(&list[i]))
	}
	rec.Documents += len(list)
	rec.Tokens += tokens
	return len(list), tokens
}

// cloned returns documents that share no memory with the parser.
func cloned(list []segment.Document) []segment.Document {
	list = slices.Clone(list)
	for i := range list {
		d := &list[i]
		d.Text = bytes.Clone(d.Text)
		for _, s := range []*string{&d.EntryID, &d.Role, &d.Tool, &d.Provider, &d.Model, &d.CustomType, &d.Image} {
			*s = strings.Clone(*s)
		}
	}
	return list
}

// fileRead is the work on one file.
type fileRead struct {
	lineReader
	worker *worker
	step   *Step
	file   *content.File
	now    time.Time // when the file's times were read
}

// readFile updates the index for one file that is new, grown, rewritten or
// truncated. It reads up to the size that the file had when it was opened, so that
// the recorded times are never newer than the bytes.
func (w *worker) readFile(ctx context.Context, s *Step) error {
	f, err := content.Open(s.File.Path, adapter.LimitsOf(w.Adapter).Text)
	if err != nil {
		return w.cannotRead(s, err)
	}
	defer f.Close()
	r := &fileRead{worker: w, step: s, file: f, now: w.Now()}
	if !s.File.Kept {
		s.File.Packed = f.Stored != nil && f.Stored.Name() != s.File.Path
		s.File.setStat(f.Info)
	}
	if err := r.begin(); r.rec == nil {
		return err
	}
	r.rec.Facts = cmp.Or(r.rec.Facts, &session.Facts{})
	r.adapter, r.folder, r.lines, r.add = w.Adapter, w.folder, &w.lines, func(d *segment.Document) int { return w.batch.Add(d) }
	r.remove = func(offset int64) { w.batch.DeleteEntry(r.rec.File, offset) }
	r.documents = w.documents
	defer func() { w.documents, w.entries = r.documents, w.entries+r.entries }()
	if s.File.Size > smallFile {
		r.lines = new(jsonl.Reader)
	}
	r.skimmed = func(bytes int64) error {
		w.read(bytes)
		return ctx.Err()
	}
	r.seek(f, f.Size())
	for {
		line, err := r.next()
		switch {
		case err == io.EOF, err != nil && adapter.NoteEnd(r.rec, err):
			return r.save(true)
		case err != nil && ctx.Err() != nil:
			return errors.Join(r.save(false), ctx.Err())
		case err != nil:
			return errors.Join(r.save(false), w.cannotRead(s, err))
		case line.TooLong:
		case !line.Ended:
			return r.put(r.tail(line), true)
		default:
			if err := r.ended(ctx, len(line.Raw)); err != nil {
				return err
			}
		}
	}
}

// ended commits what was read if that is enough, and returns memory, after a complete line
// of a length in bytes.
func (r *fileRead) ended(ctx context.Context, length int) error {
	w := r.worker
	w.read(int64(length))
	if ctx.Err() != nil {
		return cmp.Or(r.save(false), ctx.Err())
	}
	if length > longLine {
		// The line and its text are no longer needed, and committing it
		// takes as much memory again.
		r.settle(r.rec)
		r.parser, r.lines = nil, new(jsonl.Reader)
		r.seek(r.file, r.file.Size())
	}
	if w.batch.Size() < w.limit {
		return nil
	}
	if err := r.save(false); err != nil {
		return err
	}
	if err := w.commit(); err != nil {
		return err
	}
	w.dirty = true
	return nil
}

// tail returns the record with an unterminated last line; nil if that adds nothing. The
// header of the record itself must come from the lines before the checkpoint.
func (r *fileRead) tail(line adapter.Line) *session.Record {
	r.settle(r.rec)
	full := r.rec.Clone()
	found := r.parse(line, full)
	r.worker.read(int64(len(line.Raw)))
	r.settle(full)
	if !found && full.Header == r.rec.Header && full.LongestLine == r.rec.LongestLine {
		return nil
	}
	return full
}

// save puts the record into the batch after a complete line.
func (r *fileRead) save(whole bool) error {
	r.settle(r.rec)
	return r.put(nil, whole)
}

// put puts the record into the batch, and the one with the unterminated line if there is one.
// Unless the whole file was read, the next update continues.
func (r *fileRead) put(full *session.Record, whole bool) error {
	facts := r.rec.Facts
	if full != nil {
		facts = full.Facts // all of which are stored together
		_ = facts.Whole()
	}
	if err := facts.Err(); err != nil {
		return fmt.Errorf("read the facts of %s: %w", r.rec.Path, err)
	}
	r.marks.write(r.rec)
	length := r.rec.Checkpoint.Offset
	if whole && r.rec.Full && r.file.Packed() {
		length++ // at least
	} else if whole {
		length, _ = r.file.Length()                    // its end was read
		if r.file.Packed() && r.step.Change != Grown { // it was estimated
			r.worker.more(length - r.step.Pending)
			r.step.Pending = length
		}
	}
	stamp(&r.rec.Checkpoint, r.step.File, length, r.now)
	if !whole {
		r.rec.Size, r.rec.Ctime = length, unsettled
	}
	if full != nil {
		longest := full.LongestLine // which may be the unterminated one
		full.Checkpoint = r.rec.Checkpoint
		full.LongestLine = longest
		full.Blocks, full.Partial, full.Volatile = r.rec.Blocks, r.rec.Partial, r.rec.Volatile
		full.TailBytes = length - r.rec.Checkpoint.Offset
	}
	r.worker.batch.Put(r.rec, full)
	return nil
}

// begin finds the record to continue from, with the marks of the bytes before its
// checkpoint. It verifies that these bytes are as indexed, after the file's times were
// read, so that a later change shows in the times. If the bytes differ, the file counts as
// rewritten, and begin deletes its documents. There is no record if the file cannot be read.
func (r *fileRead) begin() error {
	w, s := r.worker, r.step
	var length int64
	if s.Known != nil {
		var err error
		if length, err = r.file.Length(); (errors.Is(err, content.ErrDamaged) || s.Known.Length > 0 && r.file.IsCut()) && !s.Known.Damaged {
			return r.spoilt()
		}
	}
	if s.Change == Grown {
		rec, err := w.target.RecordToContinue(s.Known.File)
		if err != nil {
			return fmt.Errorf("read the session record of %s: %w", s.File.Path, err)
		}
		s.Change, s.Reason = Rewritten, noRecord
		if rec != nil {
			same, err := sameBlocks(r.file, rec)
			if err != nil {
				return w.cannotRead(s, err)
			}
			m, err := resumeMarks(rec)
			switch at := rec.Checkpoint.Offset; {
			case !same || err != nil || at < rec.Volatile.Length:
				s.Reason = otherBytes
			case r.isOfAnother(rec):
				s.Reason = otherAgent
			case at == 0: // nothing is indexed but an unterminated line
				s.grown(length)
			case !r.overwritten(rec):
				s.Reason = otherBytes
			default:
				s.grown(length)
				m.volatile = rec.Volatile
				r.rec, r.marks = rec, m
				return nil
			}
		}
		w.more(s.File.text() - s.Pending)
		s.Pending = s.File.text()
	}
	rec, err := beginRecord(w.Adapter, s.File.Path, r.file)
	if err != nil {
		return w.cannotRead(s, err)
	}
	r.rec, r.marks = rec, newMarks(rec.Volatile)
	if s.Known != nil {
		if s.Known.Agent == rec.Agent {
			adapter.Keep(w.Adapter, &rec.Header, s.Known.Header)
		}
		r.rec.File = s.Known.File
		w.batch.DeleteFile(r.rec.File)
	} else {
		r.rec.File = w.target.NextFile()
	}
	return nil
}

// isOfAnother reports whether another agent recognizes the file, of which nobody knew a line so
// far: it was empty, or its first line was not complete.
func (r *fileRead) isOfAnother(rec *session.Record) bool {
	if rec.Version != 0 {
		return false
	}
	state, err := adapter.Begin(r.worker.Adapter, rec.Path, r.file)
	return err == nil && (state.Header.Agent != rec.Agent || state.Header.Notes != rec.Notes)
}

func beginRecord(a adapter.Adapter, path string, file io.ReaderAt) (*session.Record, error) {
	state, err := adapter.Begin(a, path, file)
	if err != nil {
		return nil, err
	}
	rec := &session.Record{}
	rec.Path, rec.Header, rec.Revision = path, state.Header, adapter.Revision(a, state.Header.Agent)
	rec.Volatile.Length, err = adapter.Volatile(a, state.Header.Agent, file)
	return rec, err
}

// overwritten brings a record up to date with lines at the start of its file that were
// overwritten in place, and reports whether it can.
func (r *fileRead) overwritten(rec *session.Record) bool {
	w := r.worker
	head, now := volatileOf(r.file, rec)
	if now == rec.Volatile {
		return true
	}
	with := &session.Record{Volatile: now, Facts: &session.Facts{}}
	with.Path, with.File, with.Agent = rec.Path, rec.File, rec.Agent
	lines := newLines(w.Adapter, with)
	lines.seek(bytes.NewReader(head), now.Length)
	for {
		line, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil || line.TooLong || !line.Ended {
			return false
		}
	}
	with.Header = lines.parser.State().Header
	if !rec.Overwrite(with) {
		return false
	}
	w.more(now.Length)
	w.read(now.Length)
	for i := range with.Nodes {
		w.batch.DeleteEntry(rec.File, with.Nodes[i].Offset)
	}
	lines.rec, lines.add = rec, w.batch.Overwrite
	lines.addHeld(rec)
	return true
}

// spoilt records that a fully indexed file has since been damaged. Its documents stay: half a
// file never replaces a whole one.
func (r *fileRead) spoilt() error {
	rec, err := r.worker.target.RecordToContinue(r.step.Known.File)
	if err != nil {
		return fmt.Errorf("read the session record of %s: %w", r.step.File.Path, err)
	}
	if r.step.Change = Unreadable; rec == nil || rec.TailBytes > 0 { // the next update reads it again
		return r.worker.cannotRead(r.step, content.ErrDamaged)
	}
	stamp(&rec.Checkpoint, r.step.File, rec.Length, r.now)
	rec.Spoilt, rec.LeftOut = true, false
	r.worker.batch.Put(rec, nil)
	return nil
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
		Names:      p.Names,
	}
	if part == 0 && !strings.HasPrefix(e.ID, "@") {
		d.EntryID = e.ID
	}
	return d
}

// marks computes the hashes that prove that the bytes before a checkpoint are unchanged.
// It hashes the same bytes that were parsed.
type marks struct {
	blocks []uint64
	block  *xxhash.Digest
	filled int // bytes in block

	volatile session.Volatile
	head     xxhash.Digest // of the volatile bytes
}

func newMarks(v session.Volatile) *marks {
	m := &marks{block: xxhash.New(), volatile: v}
	m.head.Reset()
	return m
}

// resumeMarks continues the marks of a record at its checkpoint.
func resumeMarks(rec *session.Record) (*marks, error) {
	m := newMarks(rec.Volatile)
	m.blocks = rec.Blocks
	m.filled = int(rec.Checkpoint.Offset % session.HashedBlock)
	return m, m.block.UnmarshalBinary(rec.Partial)
}

// add hashes the next bytes.
func (m *marks) add(b []byte) {
	if n := min(len(b), int(m.volatile.Length)-m.filled); n > 0 && len(m.blocks) == 0 {
		m.head.Write(b[:n])
		m.filled += n
		m.volatile.Hash = m.head.Sum64()
		b = b[n:]
	}
	for len(b) > 0 {
		n := min(len(b), session.HashedBlock-m.filled)
		m.block.Write(b[:n])
		b = b[n:]
		if m.filled += n; m.filled == session.HashedBlock {
			m.blocks = append(m.blocks, m.block.Sum64())
			m.block.Reset()
			m.filled = 0
		}
	}
}

func (m *marks) write(rec *session.Record) {
	rec.Blocks, rec.Volatile = m.blocks, m.volatile
	rec.Partial, _ = m.block.MarshalBinary() // never fails
}
