package record

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"sort"
	"strings"
	"unsafe"

	"pigrep/index/format"
	"pigrep/internal/session"
)

// A Table has the summaries of all files, for use without their records. It is
// immutable. It is read where it lies, row by row, because most commands need little of
// it. Its encoding:
//
//	uint   SchemaVersion
//	uint   Next
//	uint   number of rows, ordered by path, then file
//	uint   Documents, uint Tokens, uint Skipped
//	uint   number of readers, then string agent, int revision, uint flags: 1 notes
//	stamp  of each row, of 112 bytes: the end of its text, its file number and the length
//	       of its path, the checkpoint, and the number of its reader
//	text   of each row: the path and the rest of the summary
type Table struct {
	Next uint32 // the number of the next new file

	// Sums over all files, as in session.Summary.
	Documents int
	Tokens    uint64
	Skipped   int

	readers []Reader // few
	rows    int
	stamps  string
	texts   string
}

// Reader is what read a file: the parser of an agent, in a revision, and as what.
type Reader struct {
	Agent    string
	Revision int
	Notes    bool
}

// A stamp is a sequence of little-endian numbers.
const (
	stampEnd   = 0   // of the text, from the beginning of all texts; 8 bytes each unless said
	stampFile  = 8   // 4 bytes
	stampPath  = 12  // 4 bytes
	stampPoint = 16  // the checkpoint, in the order of appendStamp
	stampRead  = 104 // the number of the reader
	stampLen   = 112
)

// Len returns the number of files.
func (t *Table) Len() int {
	if t == nil {
		return 0
	}
	return t.rows
}

func (t *Table) number(i, field int) uint64 {
	return binary.LittleEndian.Uint64([]byte(t.stamps[i*stampLen+field:])) // which copies nothing
}

func (t *Table) File(i int) uint32 { return uint32(t.number(i, stampFile)) }

// Path returns the path of file i. It shares the memory of the table.
func (t *Table) Path(i int) string {
	at := t.start(i)
	return t.texts[at : at+t.number(i, stampFile)>>32]
}

func (t *Table) Checkpoint(i int) session.Checkpoint {
	at := func(k int) int64 { return int64(t.number(i, stampPoint+8*k)) }
	c := session.Checkpoint{
		Offset: at(0), Lines: int(at(1)), Within: at(2), Revision: t.reader(i).Revision,
		Stat:   session.Stat{Size: at(3), Mtime: at(4), Ctime: at(5), Inode: uint64(at(6))},
		Extent: session.Extent{TailBytes: at(7)}, Lengths: session.Lengths{LongestLine: at(8), ShortestLeft: at(9)},
	}
	c.SetBits(uint64(at(10)))
	return c
}

func (t *Table) reader(i int) Reader { return t.readers[t.number(i, stampRead)] }

// ReadBy returns a function that reports whether file i was read by one of the readers that
// pass a test.
func (t *Table) ReadBy(passes func(Reader) bool) func(i int) bool {
	if t == nil {
		return nil
	}
	passing := make([]bool, len(t.readers))
	for i, r := range t.readers {
		passing[i] = passes(r)
	}
	return func(i int) bool { return passing[t.number(i, stampRead)] }
}

// HasNotes reports whether some files are Notes.
func (t *Table) HasNotes() bool {
	return t != nil && slices.ContainsFunc(t.readers, func(r Reader) bool { return r.Notes })
}

// Agents lists the agents whose parsers read files, as of session.ShortAgent.
func (t *Table) Agents() (names []string) {
	if t == nil {
		return nil
	}
	for _, r := range t.readers {
		if name := session.ShortAgent(r.Agent); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (t *Table) start(i int) uint64 {
	if i == 0 {
		return 0
	}
	return t.number(i-1, stampEnd)
}

// Summary returns the summary of file i, which shares no memory with the table. It panics
// with ErrDamaged if it cannot be decoded; the checksum of the table was right then.
func (t *Table) Summary(i int) session.Summary {
	var s session.Summary
	t.decode(i, strings.Clone(t.texts[t.start(i):t.number(i, stampEnd)]), &s)
	return s
}

// Summaries is Summary for all files.
func (t *Table) Summaries() []session.Summary {
	texts := strings.Clone(t.texts)
	list := make([]session.Summary, t.rows)
	for i := range list {
		t.decode(i, texts[t.start(i):t.number(i, stampEnd)], &list[i])
	}
	return list
}

// Beginnings visits a part of the summary of each file: its number, path, header, names and
// times, and whether it is kept. It takes a fraction of the time and memory of Summaries. A summary is valid until
// the next one; its strings share the memory of the table.
func (t *Table) Beginnings() iter.Seq2[int, *session.Summary] {
	return func(yield func(int, *session.Summary) bool) {
		var s session.Summary
		for i := range t.Len() {
			s.File, s.Path, s.Agent = t.File(i), t.Path(i), t.reader(i).Agent
			s.Kept = t.Checkpoint(i).Kept
			c := coder{Decoder: format.NewDecoder(t.texts[t.start(i)+uint64(len(s.Path)) : t.number(i, stampEnd)])}
			c.beginning(&s)
			if c.Failed() {
				panic(errTable)
			}
			if !yield(i, &s) {
				return
			}
		}
	}
}

func (t *Table) decode(i int, text string, s *session.Summary) {
	s.File, s.Checkpoint, s.Agent = t.File(i), t.Checkpoint(i), t.reader(i).Agent
	path := int(t.number(i, stampFile) >> 32)
	s.Path = text[:path]
	c := coder{Decoder: format.NewDecoder(text[path:])}
	c.rest(s)
	if !c.Done() {
		panic(errTable)
	}
}

// Find returns the file at the path; ok is false if there is none.
func (t *Table) Find(path string) (i int, ok bool) {
	return sort.Find(t.Len(), func(i int) int { return strings.Compare(path, t.Path(i)) })
}

// With returns the table with these summaries in place of those of the same
// files, and without deleted files. Its Next is larger than every file
// number, and at least next.
func (t *Table) With(put []*session.Summary, deleted func(file uint32) bool, next uint32) *Table {
	n := &Table{Next: max(next, t.Next), Documents: t.Documents, Tokens: t.Tokens, Skipped: t.Skipped}
	put = slices.Clone(put)
	slices.SortFunc(put, func(a, b *session.Summary) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.File, b.File))
	})
	replaced := make(map[uint32]bool, len(put))
	for _, s := range put {
		n.Next = max(n.Next, s.File+1)
		n.Documents, n.Tokens, n.Skipped = n.Documents+s.Documents, n.Tokens+s.Tokens, n.Skipped+s.Skipped
		replaced[s.File] = true
	}
	stamps := make([]byte, 0, len(t.stamps)+stampLen*len(put))
	texts := make([]byte, 0, len(t.texts)+1024*len(put))
	if t != nil {
		n.readers = slices.Clip(t.readers)
	}
	numberOf := func(r Reader) int {
		if i := slices.Index(n.readers, r); i >= 0 {
			return i
		}
		n.readers = append(n.readers, r)
		return len(n.readers) - 1
	}
	add := func(s *session.Summary) {
		c := coder{out: append(texts, s.Path...), writes: true}
		c.rest(s)
		texts = c.out
		stamps = appendStamp(stamps, s, len(texts), numberOf(Reader{s.Agent, s.Revision, s.Notes}))
	}
	for i := range t.Len() {
		if replaced[t.File(i)] || deleted(t.File(i)) {
			old := t.Summary(i)
			n.Documents, n.Tokens, n.Skipped = n.Documents-old.Documents, n.Tokens-old.Tokens, n.Skipped-old.Skipped
			continue
		}
		for len(put) > 0 && cmp.Or(strings.Compare(put[0].Path, t.Path(i)), cmp.Compare(put[0].File, t.File(i))) < 0 {
			add(put[0])
			put = put[1:]
		}
		texts = append(texts, t.texts[t.start(i):t.number(i, stampEnd)]...)
		stamps = binary.LittleEndian.AppendUint64(stamps, uint64(len(texts)))
		stamps = append(stamps, t.stamps[i*stampLen+stampFile:(i+1)*stampLen]...)
	}
	for _, s := range put {
		add(s)
	}
	n.rows = len(stamps) / stampLen
	n.stamps = unsafe.String(unsafe.SliceData(stamps), len(stamps))
	n.texts = unsafe.String(unsafe.SliceData(texts), len(texts))
	return n
}

func appendStamp(b []byte, s *session.Summary, end, reader int) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, uint64(end))
	b = le.AppendUint32(b, s.File)
	b = le.AppendUint32(b, uint32(len(s.Path)))
	c := &s.Checkpoint
	for _, v := range [...]int64{
		c.Offset, int64(c.Lines), c.Within, c.Size, c.Mtime, c.Ctime, int64(c.Inode), c.TailBytes, c.LongestLine, c.ShortestLeft,
		int64(c.Bits()), int64(reader),
	} {
		b = le.AppendUint64(b, uint64(v))
	}
	return b
}

func (t *Table) AppendTo(b []byte) []byte {
	b = slices.Grow(b, 64+len(t.stamps)+len(t.texts))
	for _, v := range [...]uint64{
		format.SchemaVersion, uint64(t.Next), uint64(t.rows), uint64(t.Documents), t.Tokens, uint64(t.Skipped),
	} {
		b = format.AppendUint(b, v)
	}
	b = format.AppendUint(b, uint64(len(t.readers)))
	for _, r := range t.readers {
		b = format.AppendInt(format.AppendString(b, r.Agent), int64(r.Revision))
		b = format.AppendUint(b, uint64(flag(r.Notes, 1)))
	}
	return append(append(b, t.stamps...), t.texts...)
}

// OpenTable returns the table with these bytes, whose checksum the caller must have
// compared. The table shares their memory.
func OpenTable(b []byte) (*Table, error) {
	d := format.NewDecoder(unsafe.String(unsafe.SliceData(b), len(b)))
	if v := d.Uint(); v != format.SchemaVersion && !d.Failed() {
		return nil, format.OtherVersion(v)
	}
	next := d.Uint()
	rows, documents, tokens, skipped := d.Uint(), d.Uint(), d.Uint(), d.Uint()
	var readers []Reader
	for range d.Items(3) {
		r := Reader{Agent: strings.Clone(d.String()), Revision: int(d.Int())}
		r.Notes = d.Uint()&1 != 0
		readers = append(readers, r)
	}
	if d.Failed() || next > math.MaxUint32 || rows > uint64(d.Left()/stampLen) || documents > math.MaxInt || skipped > math.MaxInt {
		return nil, errTable
	}
	t := &Table{Next: uint32(next), Documents: int(documents), Tokens: tokens, Skipped: int(skipped), readers: readers, rows: int(rows)}
	t.stamps = d.Bytes(t.rows * stampLen)
	t.texts = d.Bytes(d.Left())
	end := uint64(0)
	for i := range t.rows {
		start := end
		if end = t.number(i, stampEnd); end < start || end-start < t.number(i, stampFile)>>32 || end > uint64(len(t.texts)) ||
			t.number(i, stampRead) >= uint64(len(readers)) {
			return nil, errTable
		}
	}
	if end != uint64(len(t.texts)) {
		return nil, errTable
	}
	return t, nil
}

var errTable = format.Damaged("table of summaries: unreadable")
