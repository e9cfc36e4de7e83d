package opensearch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/semaphore"

	"pigrep/adapter"
	"pigrep/index/analysis"
	"pigrep/indexer"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/search"
	"pigrep/remote"
)

// A Push says what to send.
type Push struct {
	Host, User string // of this machine
	Adapter    adapter.Adapter
	Files      entry.Source
	Sessions   []session.Summary // of session files of this machine, as they are indexed
	Vanished   func(string) bool // reports whether a session file is no longer there; nil: nobody looks
	Reveal     bool              // secrets are not masked
	DryRun     bool              // only count
	Replace    bool              // replace what the archive has of files that were rewritten or cut off
	Again      bool              // send what was deleted from the archive
	Patient    bool              // try for as long as the context lives
	Memory     *Memory           // of the earlier pushes of a watch; nil: a push on its own
	Now        func() time.Time  // the clock
	// Progress says how many bytes of session files are sent, from one goroutine at a time; it may be nil.
	Progress func(done, total int64)
}

// A Report says what a push did.
type Report struct {
	Sessions    int       `json:"sessions"`    // that were sent, or in part
	Unchanged   int       `json:"unchanged"`   // that were there already
	Rewritten   int       `json:"rewritten"`   // of Sessions: sent again from the start
	NotReplaced int       `json:"notReplaced"` // files that were rewritten here, and not in the archive
	Gone        int       `json:"vanished"`    // files that were marked
	Documents   int       `json:"documents"`   // confirmed
	Bytes       int64     `json:"bytes"`       // of session files
	Retried     int       `json:"retried"`     // documents that the engine rejected and took later
	Newer       int       `json:"newer"`       // session files that are in the archive in a newer generation
	Deleted     int       `json:"deleted"`     // session files that were deleted from the archive, and stay so
	Repaired    int       `json:"repaired"`    // of Sessions: sent again because parts of them were lost
	Lost        int       `json:"lost"`        // session files of this machine of which parts are lost, and not sent again
	TooLong     int       `json:"tooLong"`     // lines that are left out because they are too long
	Damaged     int       `json:"damaged"`     // states of this machine that no push has written
	Refused     []Refusal `json:"refused"`

	// Of a push that only counts.
	Projects []Project      `json:"projects,omitempty"` // what would be sent of each, the largest first
	Masked   map[string]int `json:"masked,omitempty"`   // secrets in it, by kind

	Failed []string `json:"failed"` // files that cannot be read, and why
}

// A Project is a directory in which sessions were started.
type Project struct {
	CWD      string `json:"cwd"`
	Sessions int    `json:"sessions"`
	Bytes    int64  `json:"bytes"`
}

// pushing is a push that runs.
type pushing struct {
	*Push
	archive  *Archive
	projects map[string]Project // by directory, of a push that only counts
	chosen   []session.Summary  // all session files
	renew    map[string]int64   // by file key: to be sent whole, at least in this generation
	sent     map[string]int64   // by file key, in which generation
	named    map[string]bool    // the paths under which files were sent
	stale    []state            // files of which earlier generations have to be deleted
	total    int64
	done     int64

	analyzer analysis.Analyzer

	patience time.Duration      // how long nothing may be confirmed; 0 for ever
	current  *batch             // that is being filled
	put      func(*batch) error // hands a batch over, and waits until there is room for it

	mu        sync.Mutex // guards the fields below
	report    *Report
	refused   map[string]tally // by file key
	conflicts map[string]int64 // by file key, the versions of documents that refused ours
	settled   []claim
}

var (
	errRewritten = errors.New("rewritten") // the archive has other bytes of the file
	errNoRecord  = errors.New("no record") // the archive has no record of the file that this version can continue
)

// Push sends what the archive does not have. It may be killed at any time, and run again: what
// the archive claims to have, it has.
func (a *Archive) Push(ctx context.Context, in Push) (report *Report, err error) {
	p := a.pushing(&in)
	forget := p.Memory
	defer func() {
		if err != nil {
			forget.known = nil
		}
	}()
	if err := p.recall(ctx); err != nil {
		return nil, err
	}
	p.report.Damaged = p.Memory.damaged
	for key, lost := range p.Memory.lost {
		if lost {
			p.renew[key] = p.known()[key].Gen + 1
			p.report.Lost++
		}
	}
	err = p.send(ctx)
	if err == nil {
		err = p.settleConflicts(ctx)
	}
	if err != nil {
		return p.report, err
	}
	if p.DryRun {
		p.report.Projects = slices.SortedFunc(maps.Values(p.projects), func(a, b Project) int {
			return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.CWD, b.CWD))
		})
		return p.report, nil
	}
	for i := range p.stale {
		if err := p.clean(ctx, &p.stale[i]); err != nil {
			return p.report, err
		}
	}
	p.remember()
	if err := p.account(ctx); err != nil || p.report.Documents == 0 || p.Memory.watching {
		return p.report, err
	}
	return p.report, a.refresh(ctx, a.sent()+","+a.sessionsIndex(a.config.Owner)) // what was pushed can be found at once
}

func (a *Archive) pushing(in *Push) *pushing {
	in.Host, in.User = hostOf(a.config.Owner, in.Host), cmp.Or(a.config.Owner, in.User)
	p := &pushing{
		projects: make(map[string]Project), Push: in, archive: a, chosen: in.Sessions, named: make(map[string]bool), patience: patience, current: &batch{}, renew: make(map[string]int64), sent: make(map[string]int64),
		report: &Report{Refused: []Refusal{}, Failed: []string{}}, refused: make(map[string]tally), conflicts: make(map[string]int64),
	}
	if in.Memory == nil {
		in.Memory = &Memory{}
	}
	if in.Patient {
		p.patience = 0
	}
	return p
}

// known returns the states of this machine, by file key.
func (p *pushing) known() map[string]*state { return p.Memory.known }

// remember keeps what was claimed for the next push.
func (p *pushing) remember() {
	for i := range p.settled {
		c := &p.settled[i]
		if now := p.known()[c.FileKey]; now != nil && now.Gen > c.Gen {
			continue
		}
		p.known()[c.FileKey] = &c.state
		if p.Memory.lost[c.FileKey] = false; p.Memory.watching && c.record != nil {
			p.Memory.records[c.FileKey] = c.record
		}
	}
}

// refresh makes what was added to indices visible for searches.
func (a *Archive) refresh(ctx context.Context, index string) error {
	return a.call(ctx, http.MethodPost, index+"/_refresh?ignore_unavailable=true", nil, nil)
}

// all fills batches with all files, those first that were changed last, and claims that those which vanished are gone.
func (p *pushing) all(ctx context.Context) error {
	p.Sessions = slices.Clone(p.Sessions)
	paths := make([]string, len(p.Sessions)) // on this machine
	for i := range p.Sessions {
		s := &p.Sessions[i]
		paths[i] = s.Path
		*s = p.masked(*s)
		p.total += s.Size
		if k := p.known()[keyOf(p.Host, s.Path)]; k != nil && k.Offset <= s.Size {
			p.total -= k.Offset
		}
	}
	for i := range p.Sessions {
		err := p.session(ctx, &p.Sessions[i], paths[i])
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, fs.ErrNotExist): // it vanishes between two looks
		case err != nil:
			var engine *StatusError
			if errors.As(err, &engine) {
				return err
			}
			p.report.Failed = append(p.report.Failed, err.Error())
		}
	}
	for _, k := range p.known() {
		if p.Vanished == nil || k.Gone || redact.Masked(k.Path) || !p.Vanished(k.Path) {
			continue
		}
		p.report.Gone++ // what was sent of it stays
		if !p.DryRun {
			k.Gone, k.Pushed = true, millis(p.Now())
			p.claim(*k, nil)
		}
	}
	return nil
}

// masked returns a summary as it is sent.
func (p *pushing) masked(s session.Summary) session.Summary {
	if p.Reveal {
		return s
	}
	return search.Masked(s)
}

// confirmed is told of each batch.
func (p *pushing) confirmed(documents int, source int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Documents += documents
	p.report.Bytes += source
	if p.done += source; p.Progress != nil {
		p.Progress(p.done, max(p.total, p.done))
	}
}

// session sends what the archive lacks of a session file. path is its path on this machine; the path in
// the summary may be masked.
func (p *pushing) session(ctx context.Context, s *session.Summary, path string) error {
	f, err := p.Files.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if p.named[s.Path] {
		return fmt.Errorf("%s is not sent: its masked path is the path of another session file", path)
	}
	p.named[s.Path] = true
	st := state{FileKey: keyOf(p.Host, s.Path), Host: p.Host, User: p.User, Path: s.Path, Month: p.month(s.Created()), Gen: 1, Pushed: millis(p.Now())}
	known, renew := p.known()[st.FileKey], p.renew[st.FileKey]
	if stone := p.Memory.deleted[st.FileKey]; stone != nil {
		if !p.Again {
			p.report.Deleted++
			return nil
		}
		renew = max(renew, stone.Gen+1)
	}
	if known != nil {
		st.Facts.Manifest = known.Facts.Manifest
		st.Month, st.Gen, st.Offset, st.Lines, st.Refused, st.Stale = known.Month, known.Gen, known.Offset, known.Lines, known.Refused, known.Stale
		st.Documents, st.Tokens = known.Documents, known.Tokens
	}
	st.describe(s)
	mtime := millis(f.ModTime())
	if renew == 0 && known != nil && known.Size == f.Size() && known.Mtime == mtime {
		p.report.Unchanged++
		if st.Stale {
			p.stale = append(p.stale, st)
		}
		// Its summary may have changed: a name may come from another file.
		if st.Size, st.Mtime, st.Pushed = known.Size, known.Mtime, known.Pushed; !p.DryRun && !reflect.DeepEqual(&st, known) {
			st.Pushed = millis(p.Now())
			p.claim(st, nil)
		}
		return nil
	}
	if !p.Memory.months[st.Month] && !p.DryRun { // an engine need not create indices by itself
		p.Memory.months[st.Month] = true
		err := p.archive.create(ctx, p.archive.monthly(st.Month))
		if owner := p.archive.config.Owner; err == nil && owner != "" && !p.Memory.months[""] {
			p.Memory.months[""] = true
			err = p.archive.create(ctx, p.archive.sessionsIndex(owner))
		}
		if err != nil {
			return err
		}
	}
	p.begins(&st)
	from, err := checkpoint{}, errNoRecord
	if renew == 0 {
		from, err = p.resume(ctx, &st, f.Size())
	} else if st.Offset > f.Size() {
		err = errRewritten
	}
	if err == nil {
		err = p.read(ctx, f, s, &st, from, mtime)
	}
	switch rewritten := errors.Is(err, errRewritten); {
	case rewritten && !p.Replace:
		p.report.NotReplaced++
		return nil
	case rewritten || errors.Is(err, errNoRecord):
		switch {
		case renew == 0:
			p.report.Rewritten++
		case p.Memory.lost[st.FileKey]:
			p.report.Repaired, p.report.Lost = p.report.Repaired+1, p.report.Lost-1
		}
		st.Gen, st.Offset, st.Lines, st.Refused, st.Stale = max(st.Gen+1, renew), 0, 0, 0, true
		st.Facts.Manifest = manifest{}
		p.begins(&st)
		err = p.read(ctx, f, s, &st, checkpoint{}, mtime)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	p.mu.Lock()
	p.report.Sessions++
	p.mu.Unlock()
	if p.DryRun {
		sent := p.projects[s.CWD]
		p.projects[s.CWD] = Project{s.CWD, sent.Sessions + 1, sent.Bytes + st.Offset - from.offset}
	}
	if st.Stale {
		p.stale = append(p.stale, st)
	}
	return nil
}

// month returns where the parts of a session are that began at a time.
func (p *pushing) month(t time.Time) string {
	month := monthOf(t)
	if owner := p.archive.config.Owner; owner != "" {
		month = owner + "-" + month
	}
	return month
}

// begins notes in which generation a file is sent.
func (p *pushing) begins(st *state) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent[st.FileKey] = st.Gen
}

// checkpoint is where to go on with a file: behind so many bytes with this sum, of which the
// archive has the record.
type checkpoint struct {
	offset int64
	sum    string
	record *session.Record
}

// resume returns where to go on with a file of a size. If the archive has some of it, but no
// record that this version can continue, it is sent again.
func (p *pushing) resume(ctx context.Context, st *state, size int64) (at checkpoint, err error) {
	if st.Offset == 0 {
		return at, nil
	}
	k := p.Memory.records[st.FileKey]
	if k == nil {
		kept, err := p.archive.records(ctx, []*state{st})
		if err != nil {
			return at, err
		}
		k = kept[st.FileKey]
	}
	switch {
	case st.Offset > size, k != nil && k.Through > size:
		return at, errRewritten
	case k == nil || k.Sum == "":
		return at, errNoRecord
	}
	if at.record, _, err = unpack(k, st); err != nil {
		return at, errNoRecord
	}
	at.offset, at.sum = k.Through, k.Sum
	return at, nil
}

// read sends the lines of a file after a checkpoint, and claims them.
func (p *pushing) read(ctx context.Context, f entry.File, s *session.Summary, st *state, from checkpoint, mtime int64) error {
	st.Facts.Manifest.All = st.Facts.Manifest.Recorded
	o := p.begin(s, st, from)
	put := func(ctx context.Context, put func(*rawLine) error) error { return o.lines(ctx, f, from, put) }
	take := func(l *rawLine, kept []byte) error {
		defer o.room.Release(l.weight())
		return o.take(ctx, l, kept)
	}
	if err := inOrder(ctx, mostLines, put, o.kept, take); err != nil {
		return err
	}
	st.Size, st.Mtime = f.Size(), mtime
	o.claim(true)
	if p.full() || p.DryRun {
		return o.flush(ctx, false)
	}
	return nil
}

// Lines are masked by several goroutines while those before are sent. Not more wait than these.
const (
	mostLines = 64
	lineBytes = 4 << 20 // of all; a longer line is alone
)

// rawLine is a line as it is in the session file.
type rawLine struct {
	adapter.Line
	end int64  // of the line in the file
	sum string // of all bytes up to there
}

func (l *rawLine) weight() int64 { return min(int64(len(l.Data)), lineBytes) }

// outgoing is a session file that is being sent.
type outgoing struct {
	*pushing
	st       *state
	summary  *session.Summary
	base     document // what all documents of the file say
	recorder *indexer.Recorder
	room     *semaphore.Weighted // for lines
	sum      string              // of the bytes that were sent
	tail     bool                // the last line is not ended, and was sent: what follows may be another one

	number    int // of the line
	at        *int64
	raw       string // of the line, until a document has it
	failed    error
	whole     tally // the documents of whole lines
	uncounted bool  // an older pigrep, which does not count, has begun it

	claimed int64 // how much of the lines as they are kept the last record was of
	packed  int64 // its size; 0 if this run has sent none
}

// begin begins a file, or continues a record.
func (p *pushing) begin(s *session.Summary, st *state, from checkpoint) *outgoing {
	o := &outgoing{pushing: p, st: st, summary: s, room: semaphore.NewWeighted(lineBytes), sum: from.sum}
	o.whole = st.Facts.Manifest.Recorded
	o.uncounted = from.offset > 0 && o.whole.N == 0
	o.base = document{FileKey: st.FileKey, Gen: st.Gen, Host: p.Host, User: p.User, Agent: st.Agent, Session: st.Session, CWD: st.CWD}
	rec := from.record
	if rec == nil {
		rec = &session.Record{}
		rec.Path, rec.Agent, rec.Notes = remote.Name(p.Host, s.Path), s.Agent, s.Notes
	}
	o.recorder = indexer.NewRecorder(p.Adapter, rec, o.parts)
	return o
}

// lines puts the lines of a file after a checkpoint. The bytes before must be those of which the
// archive has the record.
func (o *outgoing) lines(ctx context.Context, f entry.File, from checkpoint, put func(*rawLine) error) error {
	hash := xxhash.New()
	sum := func() string { return strconv.FormatUint(hash.Sum64(), 16) }
	lines := adapter.Lines(o.Adapter, io.NewSectionReader(f, 0, f.Size()), 0, 0)
	lines.Skim = func(piece []byte) error {
		_, _ = hash.Write(piece) // never fails
		return ctx.Err()
	}
	for end, ended := int64(0), true; ended; {
		if end == from.offset && end > 0 && sum() != from.sum {
			return errRewritten
		}
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if end < from.offset && line.Offset+int64(len(line.Raw)) > from.offset {
			return errRewritten
		}
		if ended = line.Ended; ended {
			_, _ = hash.Write(line.Raw)
			end = line.Offset + max(int64(len(line.Raw)), line.Length+1)
		}
		if line.Offset < from.offset {
			continue
		}
		l := &rawLine{line, end, sum()}
		l.Data, l.Raw = bytes.Clone(line.Data), nil
		if err = o.room.Acquire(ctx, l.weight()); err == nil {
			err = put(l)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// take adds the documents of a line, and sends what is full.
func (o *outgoing) take(ctx context.Context, l *rawLine, kept []byte) error {
	if err := o.line(l, kept); err != nil || !l.Ended {
		return err
	}
	o.current.source += l.end - l.Offset
	o.st.Offset, o.st.Lines, o.sum = l.end, l.Number, l.sum
	o.whole = o.st.Facts.Manifest.All
	if !o.full() {
		return nil
	}
	// Now and then a record is sent before the file is whole, so that a push that is killed goes on
	// from there.
	return o.flush(ctx, o.packed == 0 || o.recorder.Offset()-o.claimed >= recordsShare*o.packed)
}

// line adds the documents of a line. A blank one has none.
func (o *outgoing) line(line *rawLine, kept []byte) error {
	if line.TooLong {
		if !line.Ended {
			return nil
		}
		o.report.TooLong++
	}
	at := o.recorder.Offset()
	o.number, o.at, o.raw = line.Number, &at, string(kept)
	found := o.recorder.Line(kept, line.Ended)
	o.tail = !line.Ended && found
	if o.failed != nil || o.raw == "" || !line.Ended && !found {
		return o.failed
	}
	d := o.base
	d.Offset = at
	return o.add(&d)
}

// parts adds the documents of an entry.
func (o *outgoing) parts(e *session.Entry) (tokens int) {
	for i := range e.Parts {
		part, d := &e.Parts[i], o.base
		d.Offset, d.Part = e.Offset, i
		d.Kind, d.Role, d.Tool = part.Kind, e.Role, part.Tool
		d.Provider, d.Model, d.Error = e.Provider, e.Model, e.IsError
		if i == 0 && !strings.HasPrefix(e.ID, "@") {
			d.Entry = e.ID
		}
		d.Time = cmp.Or(millis(e.Timestamp), millis(o.summary.Created()))
		var n int
		d.Terms, n = termsOf(&o.analyzer, part.Text)
		tokens += n
		if o.failed == nil {
			o.failed = o.add(&d)
		}
	}
	return tokens
}

// add adds a document of the line; the first one has the line itself.
func (o *outgoing) add(d *document) error {
	if d.Line = o.number; o.raw != "" {
		d.At, d.Raw, o.raw = o.at, o.raw, ""
	}
	if m := &o.st.Facts.Manifest; !o.uncounted {
		m.All.add(tally{1, d.Offset + int64(d.Part)})
	}
	return o.current.document(o.archive.monthly(o.st.Month), idOf(d.FileKey, d.Offset, d.Part), d)
}

// recordsShare is how much longer than a record the lines must be that are sent before the next
// one.
const recordsShare = 8

// claim claims the state of the file, with its record if that is wanted.
func (o *outgoing) claim(withRecord bool) {
	if !withRecord {
		o.pushing.claim(*o.st, nil)
		return
	}
	rec := o.recorder.Record()
	d := o.base
	o.st.Facts.Manifest.Recorded = o.whole
	d.Record, d.Through, d.outline = pack(rec), o.st.Offset, pack(outlineOf(rec))
	if !o.tail {
		d.Sum = o.sum
	}
	o.claimed, o.packed = rec.Checkpoint.Offset, int64(len(d.Record))
	o.st.Documents, o.st.Tokens = rec.Documents, rec.Tokens
	o.pushing.claim(*o.st, &d)
}

// flush claims what was added, and hands it over.
func (o *outgoing) flush(ctx context.Context, withRecord bool) error {
	if o.DryRun {
		o.confirmed(len(o.current.items), o.current.source)
		o.current = &batch{}
		return ctx.Err()
	}
	o.claim(withRecord)
	return o.pushing.flush()
}

// cutTerm stands for what is missing of terms that are cut.
const cutTerm = "…"

// termsOf returns the terms of a text in their order, which the engine only splits, and how many
// count.
func termsOf(a *analysis.Analyzer, text []byte) (terms string, tokens int) {
	joined := make([]byte, 0, len(text)+len(text)/2)
	tokens = a.Walk(text, func(t analysis.Token) { joined = append(append(joined, t.Term...), ' ') })
	if a.Cut() {
		joined = append(joined, cutTerm...)
	}
	return string(bytes.TrimRight(joined, " ")), tokens
}

// kept returns a line as it is kept: masked, and without images and other data that nobody can
// search or mask; nothing of a blank one.
func (o *outgoing) kept(_ context.Context, l *rawLine) ([]byte, error) {
	if len(bytes.TrimSpace(l.Data)) == 0 {
		return nil, nil
	}
	line := withoutData(l.Data)
	if o.Reveal {
		return line, nil
	}
	masked := redact.JSON(line)
	if o.DryRun && !bytes.Equal(masked, line) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.countMasks(masked, 1)
		o.countMasks(line, -1) // what was masked before
	}
	return masked, nil
}

// countMasks counts what is masked in a line, by kind. The caller holds mu.
func (p *pushing) countMasks(line []byte, by int) {
	begin, end, _ := bytes.Cut([]byte(redact.Mask(" ")), []byte(" "))
	for {
		_, rest, ok := bytes.Cut(line, begin)
		kind, _, whole := bytes.Cut(rest[:min(len(rest), 60)], end)
		if line = rest; !ok {
			return
		}
		if whole {
			if p.report.Masked == nil {
				p.report.Masked = make(map[string]int)
			}
			p.report.Masked[string(kind)] += by
		}
	}
}

// mostData is the length of the longest run of base64 that is kept.
const mostData = 16 << 10

// withoutData replaces long runs of base64 by their length.
func withoutData(line []byte) []byte {
	if len(line) < mostData {
		return line
	}
	var out []byte
	kept, begin := 0, 0
	for i := 0; i <= len(line); i++ {
		if i < len(line) && isData[line[i]] {
			continue
		}
		if i-begin > mostData {
			out = append(append(out, line[kept:begin]...), fmt.Sprintf("[%d bytes of data left out]", i-begin)...)
			kept = i
		}
		begin = i + 1
	}
	if kept == 0 {
		return line
	}
	return append(out, line[kept:]...)
}

var isData = func() (set [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=" {
		set[c] = true
	}
	return set
}()

// create creates an index unless it exists.
func (a *Archive) create(ctx context.Context, index string) error {
	err := a.call(ctx, http.MethodPut, index, nil, nil)
	if e, ok := errors.AsType[*StatusError](err); ok && e.Type == "resource_already_exists_exception" {
		return nil
	}
	return err
}

// clean deletes the documents of earlier generations of a file.
func (p *pushing) clean(ctx context.Context, st *state) error {
	old := all(term("file_key", st.FileKey), within("gen", "lt", st.Gen))
	if err := p.archive.deleteFrom(ctx, p.archive.sent(), old, st.FileKey); err != nil {
		if isStatus(err, http.StatusForbidden) { // another role may
			return nil
		}
		return err
	}
	done := *st
	for i := range p.settled {
		if c := &p.settled[i].state; c.FileKey == st.FileKey {
			done = *c
		}
	}
	done.Stale = false
	var b batch
	if err := b.state(p.archive, &done); err != nil {
		return err
	}
	if err := p.bulk(ctx, b.items); err != nil {
		return err
	}
	p.settled = append(p.settled, claim{state: done})
	return nil
}
