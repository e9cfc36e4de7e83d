package index

import (
	"encoding/binary"
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"pigrep/internal/session"
)

// Both binary formats are a sequence of values without padding:
//
//	uint     unsigned varint (LEB128)
//	int      zigzag varint
//	string   uint length, bytes
//	fixed    8 bytes, little endian
//	time     uint 0 for the zero time, else uint 1+nanoseconds and fixed seconds since 1970
//
// and end with the xxhash of everything before as a fixed. Every length is
// checked against the bytes that are left before anything is made of it, so
// that damaged bytes cost neither memory nor a panic.

const (
	checksumLen   = 8
	minSummaryLen = 66 // of an encoded summary: every field takes one byte, or 8
)

// A decoder reads values off a string, so that decoded strings are slices of it.
// After the first value that is not there, bad is set and every value is zero.
type decoder struct {
	s   string
	pos int
	bad bool
}

func (d *decoder) fail() { d.bad, d.pos = true, len(d.s) }

func (d *decoder) uint() uint64 {
	if d.pos < len(d.s) && d.s[d.pos] < 0x80 {
		d.pos++
		return uint64(d.s[d.pos-1])
	}
	var v uint64
	for shift := uint(0); shift < 64; shift += 7 {
		if d.pos >= len(d.s) {
			break
		}
		b := d.s[d.pos]
		d.pos++
		if b < 0x80 {
			if shift == 63 && b > 1 {
				break
			}
			return v | uint64(b)<<shift
		}
		v |= uint64(b&0x7f) << shift
	}
	d.fail()
	return 0
}

func (d *decoder) int() int64 {
	u := d.uint()
	return int64(u>>1) ^ -int64(u&1)
}

func (d *decoder) count() int {
	v := d.uint()
	if v > math.MaxInt32 {
		d.fail()
		return 0
	}
	return int(v)
}

// items reads the number of items that follow, each of which takes at least
// size bytes.
func (d *decoder) items(size int) int {
	v := d.uint()
	if v > uint64(len(d.s)-d.pos)/uint64(size) {
		d.fail()
		return 0
	}
	return int(v)
}

func (d *decoder) string() string {
	n := d.items(1)
	s := d.s[d.pos : d.pos+n]
	d.pos += n
	return s
}

func (d *decoder) fixed() uint64 {
	if len(d.s)-d.pos < 8 {
		d.fail()
		return 0
	}
	s := d.s[d.pos : d.pos+8]
	d.pos += 8
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func (d *decoder) time() time.Time {
	nano := d.uint()
	if nano == 0 {
		return time.Time{}
	}
	sec := int64(d.fixed())
	if nano > 1e9 || d.bad {
		d.fail()
		return time.Time{}
	}
	return time.Unix(sec, int64(nano-1)).UTC()
}

func appendInt(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

func appendUint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(t.Nanosecond())+1)
	return binary.LittleEndian.AppendUint64(b, uint64(t.Unix()))
}

// seal appends the checksum.
func seal(b []byte) []byte { return binary.LittleEndian.AppendUint64(b, xxhash.Sum64(b)) }

// unseal checks and removes the checksum. The string is b's own memory, which
// must not change any more.
func unseal(b []byte) (string, bool) {
	if len(b) < checksumLen {
		return "", false
	}
	body := b[:len(b)-checksumLen]
	if xxhash.Sum64(body) != binary.LittleEndian.Uint64(b[len(body):]) {
		return "", false
	}
	return unsafe.String(unsafe.SliceData(body), len(body)), true
}

// A table is what is known of all files, without their trees. Its encoding:
//
//	uint  SchemaVersion
//	uint  next
//	uint  number of summaries
//	      that many summaries, ordered by path
type table struct {
	next uint32 // the number of the next new file
	rows []row  // ordered by path, then file
}

// A row is a summary with its encoding, which is kept so that a commit encodes
// the summaries that it changes only.
type row struct {
	session.Summary
	encoded []byte
}

func (t *table) encode() []byte {
	n := 64
	for i := range t.rows {
		n += len(t.rows[i].encoded)
	}
	b := make([]byte, 0, n)
	b = appendUint(b, SchemaVersion)
	b = appendUint(b, uint64(t.next))
	b = appendUint(b, uint64(len(t.rows)))
	for i := range t.rows {
		b = append(b, t.rows[i].encoded...)
	}
	return seal(b)
}

// decodeSummaries decodes the summaries of a table.
func decodeSummaries(b []byte) ([]session.Summary, error) {
	_, n, d, err := decodeHead(b)
	if err != nil {
		return nil, err
	}
	list := make([]session.Summary, n)
	for i := range list {
		d.summary(&list[i])
	}
	if d.bad || d.pos != len(d.s) {
		return nil, errTable
	}
	return list, nil
}

// decodeTable is decodeSummaries for the writer, which keeps the encodings too.
func decodeTable(b []byte) (*table, error) {
	next, n, d, err := decodeHead(b)
	if err != nil {
		return nil, err
	}
	t := &table{next: next, rows: make([]row, n)}
	for i := range t.rows {
		start := d.pos
		d.summary(&t.rows[i].Summary)
		t.rows[i].encoded = b[start:d.pos]
	}
	if d.bad || d.pos != len(d.s) {
		return nil, errTable
	}
	return t, nil
}

// decodeHead returns what comes before the summaries, which the decoder is at.
func decodeHead(b []byte) (next uint32, summaries int, d *decoder, err error) {
	s, ok := unseal(b)
	if !ok {
		return 0, 0, nil, damaged("table of summaries: wrong checksum")
	}
	d = &decoder{s: s}
	if v := d.uint(); v != SchemaVersion && !d.bad {
		return 0, 0, nil, versionError(v)
	}
	number := d.uint()
	summaries = d.items(minSummaryLen)
	if d.bad || number > uint64(NoFile) {
		return 0, 0, nil, errTable
	}
	return uint32(number), summaries, d, nil
}

var errTable = damaged("table of summaries: unreadable")

func appendSummary(b []byte, s *session.Summary) []byte {
	b = appendUint(b, uint64(s.File))
	b = appendString(b, s.Path)

	c := &s.Checkpoint
	b = appendInt(b, c.Offset)
	b = appendInt(b, int64(c.Lines))
	b = appendInt(b, c.Size)
	b = binary.LittleEndian.AppendUint64(b, uint64(c.Mtime))
	b = binary.LittleEndian.AppendUint64(b, uint64(c.Ctime))
	b = appendUint(b, c.Inode)
	b = binary.LittleEndian.AppendUint64(b, c.HeadHash)
	b = binary.LittleEndian.AppendUint64(b, c.TailHash)
	b = appendInt(b, c.TailBytes)

	h := &s.Header
	b = appendString(b, h.ID)
	b = appendString(b, h.CWD)
	b = appendString(b, h.ParentSession)
	b = appendInt(b, int64(h.Version))
	b = appendTime(b, h.Timestamp)
	b = appendInt(b, h.Offset)

	b = appendString(b, s.Name)
	b = appendString(b, s.FirstPrompt)
	b = appendTime(b, s.LastMessage)
	b = appendTime(b, s.Oldest)
	b = appendTime(b, s.Newest)
	b = appendInt(b, int64(s.Messages))
	b = appendInt(b, int64(s.Entries))
	b = appendStrings(b, s.Models)
	b = appendInt(b, s.UsedTokens)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(s.UsedCost))
	b = appendStrings(b, s.LabelNames)
	b = appendInt(b, int64(s.Documents))
	b = appendUint(b, s.Tokens)
	return appendInt(b, int64(s.Skipped))
}

func (d *decoder) summary(s *session.Summary) {
	s.File = uint32(d.count())
	s.Path = d.string()

	c := &s.Checkpoint
	c.Offset = d.int()
	c.Lines = int(d.int())
	c.Size = d.int()
	c.Mtime = int64(d.fixed())
	c.Ctime = int64(d.fixed())
	c.Inode = d.uint()
	c.HeadHash = d.fixed()
	c.TailHash = d.fixed()
	c.TailBytes = d.int()

	h := &s.Header
	h.ID = d.string()
	h.CWD = d.string()
	h.ParentSession = d.string()
	h.Version = int(d.int())
	h.Timestamp = d.time()
	h.Offset = d.int()

	s.Name = d.string()
	s.FirstPrompt = d.string()
	s.LastMessage = d.time()
	s.Oldest = d.time()
	s.Newest = d.time()
	s.Messages = int(d.int())
	s.Entries = int(d.int())
	s.Models = d.strings()
	s.UsedTokens = d.int()
	s.UsedCost = math.Float64frombits(d.fixed())
	s.LabelNames = d.strings()
	s.Documents = int(d.int())
	s.Tokens = d.uint()
	s.Skipped = int(d.int())
}

// The stored form of a session record:
//
//	uint    SchemaVersion
//	string  the record as of the checkpoint
//	string  the record with an unterminated last line, empty when it is the same
//
// and each of the two:
//
//	summary
//	uint    number of labels, then string target, string label, ordered by target
//	uint    number of problems, then int line, int offset, string reason
//	uint    number of blocks, then fixed each
//	string  partial
//	the entries, as in outline.go

// encodeRecord encodes a record for storage. full is nil when it is the same as base.
func encodeRecord(base, full *session.Record) []byte {
	b := appendUint(nil, SchemaVersion)
	b = appendString(b, string(appendRecord(nil, base)))
	if full == nil {
		b = appendString(b, "")
	} else {
		b = appendString(b, string(appendRecord(nil, full)))
	}
	return seal(b)
}

// decodeRecord decodes what encodeRecord made: the full record, or the base of it.
func decodeRecord(b []byte, base bool) (*session.Record, error) {
	o, err := decodeOutline(b, base)
	if err != nil {
		return nil, err
	}
	if o.Record.Nodes, err = o.nodes.all(); err != nil {
		return nil, err
	}
	return &o.Record, nil
}

// decodeOutline is decodeRecord without decoding the entries.
func decodeOutline(b []byte, base bool) (*Outline, error) {
	s, ok := unseal(b)
	if !ok {
		return nil, damaged("session record: wrong checksum")
	}
	d := &decoder{s: s}
	if v := d.uint(); v != SchemaVersion && !d.bad {
		return nil, versionError(v)
	}
	first, second := d.string(), d.string()
	if d.bad || d.pos != len(d.s) {
		return nil, errRecord
	}
	if second == "" || base {
		second = first
	}
	d = &decoder{s: second}
	o := &Outline{}
	if o.nodes = d.record(&o.Record); d.bad || d.pos != len(d.s) {
		return nil, errRecord
	}
	return o, nil
}

var errRecord = damaged("session record: unreadable")

func appendRecord(b []byte, r *session.Record) []byte {
	b = appendSummary(b, &r.Summary)

	targets := make([]string, 0, len(r.Labels))
	for t := range r.Labels {
		targets = append(targets, t)
	}
	slices.Sort(targets)
	b = appendUint(b, uint64(len(targets)))
	for _, t := range targets {
		b = appendString(b, t)
		b = appendString(b, r.Labels[t])
	}

	b = appendUint(b, uint64(len(r.Problems)))
	for _, p := range r.Problems {
		b = appendInt(b, int64(p.Line))
		b = appendInt(b, p.Offset)
		b = appendString(b, p.Reason)
	}

	b = appendUint(b, uint64(len(r.Blocks)))
	for _, h := range r.Blocks {
		b = binary.LittleEndian.AppendUint64(b, h)
	}
	b = appendString(b, string(r.Partial))
	return appendNodes(b, r)
}

// record decodes a record but for its entries, which it returns.
func (d *decoder) record(r *session.Record) nodes {
	d.summary(&r.Summary)

	if n := d.items(2); n > 0 {
		r.Labels = make(map[string]string, n)
		for range n {
			target := d.string()
			r.Labels[target] = d.string()
		}
	}

	if n := d.items(3); n > 0 {
		r.Problems = make([]session.Problem, n)
		for i := range r.Problems {
			p := &r.Problems[i]
			p.Line, p.Offset, p.Reason = int(d.int()), d.int(), d.string()
		}
	}

	if n := d.items(8); n > 0 {
		r.Blocks = make([]uint64, n)
		for i := range r.Blocks {
			r.Blocks[i] = d.fixed()
		}
	}
	if s := d.string(); s != "" {
		r.Partial = []byte(s)
	}
	return d.nodes()
}

func appendStrings(b []byte, list []string) []byte {
	b = appendUint(b, uint64(len(list)))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

func (d *decoder) strings() []string {
	n := d.items(1)
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = d.string()
	}
	return list
}
