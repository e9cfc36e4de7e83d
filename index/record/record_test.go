package record

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/index/format"
	"pigrep/internal/session"
)

// fill gives every field of a value something, so that a field that the codec
// forgets is noticed.
func fill(rnd *rand.Rand, v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(rnd.Int64N(1<<40)-1<<39, rnd.Int64N(1e9)).UTC()))
		return
	case map[string]string:
		m := make(map[string]string)
		for i := range 1 + rnd.IntN(3) {
			m[fmt.Sprint("key", i)] = fmt.Sprint(rnd.Int())
		}
		v.Set(reflect.ValueOf(m))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(rnd, v.Field(i))
		}
	case reflect.Slice:
		n := 1 + rnd.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(rnd, v.Index(i))
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("%x", rnd.Uint64()>>rnd.IntN(64)))
	case reflect.Pointer: // the facts, which are stored apart
	case reflect.Float64:
		v.SetFloat(rnd.NormFloat64())
	case reflect.Bool:
		v.SetBool(rnd.IntN(2) == 1)
	case reflect.Int, reflect.Int64:
		v.SetInt(rnd.Int64N(1<<40) - 1<<20)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(rnd.Uint64() & (1<<(v.Type().Bits()-1) - 1))
	default:
		panic("fill: unknown kind " + v.Kind().String())
	}
}

func anyRecord(rnd *rand.Rand) *session.Record {
	r := new(session.Record)
	fill(rnd, reflect.ValueOf(r).Elem())
	for i := range r.Nodes {
		if i > 0 && rnd.IntN(2) == 0 {
			r.Nodes[i].ParentID = r.Nodes[i-1].ID
		}
	}
	return r
}

func TestRecordRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		base, full := anyRecord(rnd), anyRecord(rnd)
		for _, test := range []struct{ base, full, wantBase, wantFull *session.Record }{
			{base, nil, base, base},
			{base, full, base, full},
			{new(session.Record), nil, new(session.Record), new(session.Record)},
		} {
			b := Encode(test.base, test.full)
			for _, want := range []struct {
				base   bool
				record *session.Record
			}{{true, test.wantBase}, {false, test.wantFull}} {
				got, err := Decode(b, want.base)
				if err != nil {
					t.Fatalf("Decode: %v", err)
				}
				if diff := cmp.Diff(want.record, got); diff != "" {
					t.Fatalf("Decode(base %t): %s", want.base, diff)
				}
			}
			if got := Encode(test.base, test.full); !bytes.Equal(got, b) {
				t.Fatal("the same record is encoded in two ways")
			}
		}
	}
}

func anyTable(rnd *rand.Rand, n int) *Table {
	t := &Table{Next: rnd.Uint32()}
	for range n {
		s := anyRecord(rnd).Summary
		t.Rows = append(t.Rows, Row{s, appendSummary(nil, &s)})
	}
	return t
}

func TestTableRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for n := range 20 {
		want := anyTable(rnd, n)
		b := want.Encode()
		got, err := DecodeTable(b)
		if err != nil {
			t.Fatalf("DecodeTable: %v", err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Table{}, Row{}), cmp.Transformer("empty", func(r []Row) []Row {
			return append([]Row{}, r...)
		})); diff != "" {
			t.Fatalf("DecodeTable: %s", diff)
		}
		list, _, err := DecodeSummaries(b)
		if err != nil || len(list) != n {
			t.Fatalf("DecodeSummaries: %d, %v, want %d", len(list), err, n)
		}
		for i := range list {
			if diff := cmp.Diff(want.Rows[i].Summary, list[i]); diff != "" {
				t.Fatalf("DecodeSummaries[%d]: %s", i, diff)
			}
		}
	}
}

// Bytes that are not as they were written are noticed, whatever they are.
func TestDamagedEncodings(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	tab, rec := anyTable(rnd, 3).Encode(), Encode(anyRecord(rnd), anyRecord(rnd))
	check := func(what string, b []byte) {
		t.Helper()
		if _, _, err := DecodeSummaries(b); !errors.Is(err, format.ErrDamaged) {
			t.Fatalf("DecodeSummaries of %s: %v, want ErrDamaged", what, err)
		}
		if _, err := Decode(b, false); !errors.Is(err, format.ErrDamaged) {
			t.Fatalf("Decode of %s: %v, want ErrDamaged", what, err)
		}
	}
	for _, b := range [][]byte{tab, rec} {
		for n := range len(b) {
			check(fmt.Sprintf("the first %d bytes", n), b[:n])
			damaged := bytes.Clone(b)
			damaged[n] ^= 1 << rnd.IntN(8)
			check(fmt.Sprintf("byte %d flipped", n), damaged)
		}
	}
}

func TestOtherVersion(t *testing.T) {
	other := format.Seal(format.AppendUint(nil, format.SchemaVersion+1))
	if _, _, err := DecodeSummaries(other); !errors.Is(err, format.ErrVersion) {
		t.Errorf("DecodeSummaries: %v, want ErrVersion", err)
	}
	if _, err := Decode(other, true); !errors.Is(err, format.ErrVersion) {
		t.Errorf("Decode: %v, want ErrVersion", err)
	}
}

// FuzzDecode gives the decoders bytes with a right checksum, so that it is not
// the checksum that finds them wrong.
func FuzzDecode(f *testing.F) {
	rnd := rand.New(rand.NewPCG(7, 8))
	strip := func(b []byte) []byte { return b[:len(b)-len(format.Seal(nil))] }
	f.Add(strip(anyTable(rnd, 2).Encode()))
	f.Add(strip(Encode(anyRecord(rnd), nil)))
	f.Add(strip(Encode(anyRecord(rnd), anyRecord(rnd))))
	f.Add(format.AppendUint([]byte{format.SchemaVersion}, 1<<62))
	f.Fuzz(func(t *testing.T, body []byte) {
		b := format.Seal(bytes.Clone(body))
		if tab, err := DecodeTable(b); err == nil {
			if again, err := DecodeTable(tab.Encode()); err != nil {
				t.Errorf("DecodeTable of what encode made: %v", err)
			} else if len(again.Rows) != len(tab.Rows) {
				t.Errorf("%d rows, again %d", len(tab.Rows), len(again.Rows))
			}
		} else if !errors.Is(err, format.ErrDamaged) && !errors.Is(err, format.ErrVersion) {
			t.Errorf("DecodeTable: %v", err)
		}
		if rec, err := Decode(b, true); err == nil {
			again, err := Decode(Encode(rec, nil), true)
			if err != nil {
				t.Errorf("Decode of what Encode made: %v", err)
			} else if diff := cmp.Diff(rec, again); diff != "" {
				t.Errorf("record changed: %s", diff)
			}
		} else if !errors.Is(err, format.ErrDamaged) && !errors.Is(err, format.ErrVersion) {
			t.Errorf("Decode: %v", err)
		}
	})
}

// realisticTable is a table as of n sessions of people.
func realisticTable(n int) []byte {
	t := &Table{Next: uint32(n + 1)}
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	prompt := string(bytes.Repeat([]byte("please fix it "), 17))
	for i := range n {
		s := session.Summary{
			File: uint32(i + 1),
			Path: fmt.Sprintf("/home/user/.pi/agent/sessions/--home-user-src-app--/2026-01-02T03-04-05-678Z_01a1f7de-0000-7000-8000-%012x.jsonl", i),
			Checkpoint: session.Checkpoint{Offset: 123456, Lines: 321, Size: 123456, Mtime: at.UnixNano(), Ctime: at.UnixNano(),
				Inode: 1234567 + uint64(i)},
			Header: session.Header{ID: fmt.Sprintf("01a1f7de-0000-7000-8000-%012x", i), CWD: "/home/user/src/app", Version: 3, Timestamp: at},
			Name:   "a name", FirstPrompt: prompt, Subject: "a subject", LastMessage: at, Oldest: at, Newest: at, Messages: 50, Entries: 60, Documents: 100, Tokens: 12345,
		}
		t.Rows = append(t.Rows, Row{s, appendSummary(nil, &s)})
	}
	return t.Encode()
}

func BenchmarkDecodeSummaries(b *testing.B) {
	blob := realisticTable(10_000)
	b.SetBytes(int64(len(blob)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := DecodeSummaries(blob); err != nil {
			b.Fatal(err)
		}
	}
}
