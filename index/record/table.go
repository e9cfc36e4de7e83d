package record

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"

	"pigrep/index/format"
	"pigrep/internal/session"
)

// A Table is what is known of all files without reading their records. It is
// immutable. Its encoding:
//
//	uint  SchemaVersion
//	uint  Next
//	uint  number of summaries
//	      that many summaries, ordered by path
type Table struct {
	Next uint32 // the number of the next new file
	Rows []Row  // ordered by path, then file
}

// A Row is a summary with its encoding, which is kept so that a commit encodes
// only the summaries that it changes.
type Row struct {
	session.Summary
	encoded []byte
}

// With returns the table with these summaries in place of those of the same
// files, and without deleted files. Its Next is larger than every file
// number, and at least next.
func (t *Table) With(put []*session.Summary, deleted func(file uint32) bool, next uint32) *Table {
	n := &Table{Next: max(next, t.Next)}
	replaced := make(map[uint32]bool, len(put))
	added := make([]Row, 0, len(put))
	for _, s := range put {
		n.Next = max(n.Next, s.File+1)
		replaced[s.File] = true
		added = append(added, Row{*s, appendSummary(nil, s)})
	}
	slices.SortFunc(added, compareRows)
	n.Rows = make([]Row, 0, len(t.Rows)+len(added))
	for _, old := range t.Rows {
		if replaced[old.File] || deleted(old.File) {
			continue
		}
		for len(added) > 0 && compareRows(added[0], old) < 0 {
			n.Rows = append(n.Rows, added[0])
			added = added[1:]
		}
		n.Rows = append(n.Rows, old)
	}
	n.Rows = append(n.Rows, added...)
	return n
}

func compareRows(a, b Row) int {
	if c := strings.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	return cmp.Compare(a.File, b.File)
}

// Summaries visits the summaries in order.
func (t *Table) Summaries() iter.Seq[*session.Summary] {
	return func(yield func(*session.Summary) bool) {
		for i := range t.Rows {
			if !yield(&t.Rows[i].Summary) {
				return
			}
		}
	}
}

// Find returns the summary of the file at the path, nil when there is none.
func (t *Table) Find(path string) *session.Summary {
	i, ok := slices.BinarySearchFunc(t.Rows, path, func(r Row, path string) int {
		return strings.Compare(r.Path, path)
	})
	if !ok {
		return nil
	}
	s := t.Rows[i].Summary
	return &s
}

// Encode returns the bytes of the table.
func (t *Table) Encode() []byte {
	n := 64
	for i := range t.Rows {
		n += len(t.Rows[i].encoded)
	}
	b := make([]byte, 0, n)
	b = format.AppendUint(b, format.SchemaVersion)
	b = format.AppendUint(b, uint64(t.Next))
	b = format.AppendUint(b, uint64(len(t.Rows)))
	for i := range t.Rows {
		b = append(b, t.Rows[i].encoded...)
	}
	return format.Seal(b)
}

// DecodeTable decodes a table for a writer. The table shares the memory of b.
func DecodeTable(b []byte) (*Table, error) {
	next, n, d, err := decodeHead(b)
	if err != nil {
		return nil, err
	}
	t := &Table{Next: next, Rows: make([]Row, n)}
	for i := range t.Rows {
		start := d.Offset()
		d.summary(&t.Rows[i].Summary)
		t.Rows[i].encoded = b[start:d.Offset()]
	}
	if !d.Done() {
		return nil, errTable
	}
	return t, nil
}

// DecodeSummaries decodes what a reader needs of a table: the summaries, which share the
// memory of b, and Next.
func DecodeSummaries(b []byte) (list []session.Summary, next uint32, err error) {
	next, n, d, err := decodeHead(b)
	if err != nil {
		return nil, 0, err
	}
	list = make([]session.Summary, n)
	for i := range list {
		d.summary(&list[i])
	}
	if !d.Done() {
		return nil, 0, errTable
	}
	return list, next, nil
}

// decodeHead decodes the values before the summaries, and returns a decoder at the
// first summary.
func decodeHead(b []byte) (next uint32, summaries int, d *decoder, err error) {
	s, ok := format.Unseal(b)
	if !ok {
		return 0, 0, nil, format.Damaged("table of summaries: wrong checksum")
	}
	d = &decoder{format.NewDecoder(s)}
	if v := d.Uint(); v != format.SchemaVersion && !d.Failed() {
		return 0, 0, nil, format.OtherVersion(v)
	}
	number := d.Uint()
	summaries = d.Items(minSummaryLen)
	if d.Failed() || number > math.MaxUint32 {
		return 0, 0, nil, errTable
	}
	return uint32(number), summaries, d, nil
}

var errTable = format.Damaged("table of summaries: unreadable")
