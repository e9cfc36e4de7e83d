package record

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/index/format"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
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
		if c, ok := v.Addr().Interface().(*session.Checkpoint); ok {
			c.SetBits(c.Bits()) // some flags exclude each other
		}
	case reflect.Slice:
		n := 1 + rnd.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(rnd, v.Index(i))
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("%x", rnd.Uint64()>>rnd.IntN(64)))
	case reflect.Pointer, reflect.Map: // the facts, which are stored apart, and what is known
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
	r.Dead, r.Inherited = nil, 0 // what other files say is not stored
	for i := range r.Hidden {
		r.Hidden[i] = 3 * i
	}
	for i := range r.Contexts {
		r.Contexts[i].Entry = 2 * i
	}
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
			b, pieces := asStored(Encode(test.base, test.full))
			for _, want := range []struct {
				base   bool
				record *session.Record
			}{{true, test.wantBase}, {false, test.wantFull}} {
				got, err := Decode(b, want.base, pieces)
				if err != nil {
					t.Fatalf("Decode: %v", err)
				}
				if diff := testkit.Diff(want.record, got); diff != "" {
					t.Fatalf("Decode(base %t): %s", want.base, diff)
				}
			}
			if got := Encode(test.base, test.full); !bytes.Equal(got.Record, b) {
				t.Fatal("the same record is encoded in two ways")
			}
		}
	}
}

// asStored returns what Decode reads.
func asStored(e Encoded) ([]byte, Pieces) {
	return e.Record, func(n int) ([][]byte, error) { return e.Pieces[:n], nil }
}

func anyTable(rnd *rand.Rand, n int) *Table {
	var list []*session.Summary
	for range n {
		list = append(list, &anyRecord(rnd).Summary)
	}
	return new(Table).With(list, func(uint32) bool { return false }, rnd.Uint32())
}

func TestTableRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for n := range 20 {
		var want []*session.Summary
		keep := func(uint32) bool { return false }
		for i := range n {
			s := anyRecord(rnd).Summary
			s.File, s.Path = uint32(i+1), fmt.Sprintf("%04d%s", rnd.IntN(1e4), s.Path)
			want = append(want, &s)
		}
		// Some are replaced, and some deleted.
		first := new(Table).With(want, keep, 7)
		for i := range want {
			if i%3 == 0 {
				s := anyRecord(rnd).Summary
				s.File, s.Path = want[i].File, want[i].Path
				want[i] = &s
			}
		}
		gone := func(file uint32) bool { return file%4 == 1 }
		second := first.With(want, gone, 0)
		if second.Next != max(7, uint32(n+1)) {
			t.Fatalf("Next is %d with %d files", second.Next, n)
		}
		slices.SortFunc(want, func(a, b *session.Summary) int { return strings.Compare(a.Path, b.Path) })
		got, err := OpenTable(second.AppendTo(nil))
		if err != nil {
			t.Fatalf("OpenTable: %v", err)
		}
		var list []session.Summary
		sums := &Table{Next: second.Next}
		for _, s := range want {
			list = append(list, *s)
			sums.Documents, sums.Tokens, sums.Skipped = sums.Documents+s.Documents, sums.Tokens+s.Tokens, sums.Skipped+s.Skipped
		}
		if diff := testkit.Diff(list, got.Summaries(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("Summaries: %s", diff)
		}
		visited := 0
		for i, s := range got.Beginnings() {
			want := session.Summary{
				File: list[i].File, Path: list[i].Path, Header: list[i].Header, Name: list[i].Name, NameRank: list[i].NameRank, Delegated: list[i].Delegated, Queued: list[i].Queued, Strange: list[i].Strange, FirstPrompt: list[i].FirstPrompt,
				Subject: list[i].Subject, LastMessage: list[i].LastMessage, Oldest: list[i].Oldest, Newest: list[i].Newest, Begins: list[i].Begins, Follows: list[i].Follows,
			}
			want.Kept = list[i].Kept
			if diff := cmp.Diff(want, *s); diff != "" || i != visited {
				t.Fatalf("Beginnings, %d: %s", i, diff)
			}
			visited++
		}
		if visited != n {
			t.Fatalf("%d of %d beginnings", visited, n)
		}
		if got.Documents != sums.Documents || got.Tokens != sums.Tokens || got.Skipped != sums.Skipped || got.Next != sums.Next || got.Len() != n {
			t.Fatalf("sums: %+v, want %+v", got, sums)
		}
		for i := range list {
			if diff := testkit.Diff(list[i], got.Summary(i)); diff != "" {
				t.Fatalf("Summary(%d): %s", i, diff)
			}
			s := &list[i]
			if at, ok := got.Find(s.Path); !ok || at != i || got.Path(i) != s.Path || got.File(i) != s.File || got.Checkpoint(i) != s.Checkpoint {
				t.Fatalf("row %d is not as its summary", i)
			}
		}
		if _, ok := got.Find("nowhere"); ok {
			t.Fatal("Find finds what is not there")
		}
	}
}

// Bytes that are not as they were written are noticed, whatever they are.
func TestDamagedEncodings(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	rec := Encode(anyRecord(rnd), anyRecord(rnd)).Record
	check := func(what string, b []byte) {
		t.Helper()
		if _, err := Decode(b, false, nil); !errors.Is(err, format.ErrDamaged) {
			t.Fatalf("Decode of %s: %v, want ErrDamaged", what, err)
		}
	}
	for n := range len(rec) {
		check(fmt.Sprintf("the first %d bytes", n), rec[:n])
		damaged := bytes.Clone(rec)
		damaged[n] ^= 1 << rnd.IntN(8)
		check(fmt.Sprintf("byte %d flipped", n), damaged)
	}
}

func TestOtherVersion(t *testing.T) {
	other := format.Seal(format.AppendUint(nil, format.SchemaVersion+1))
	if _, err := OpenTable(other); !errors.Is(err, format.ErrVersion) {
		t.Errorf("OpenTable: %v, want ErrVersion", err)
	}
	if _, err := Decode(other, true, nil); !errors.Is(err, format.ErrVersion) {
		t.Errorf("Decode: %v, want ErrVersion", err)
	}
}

// FuzzDecode gives the decoders bytes with a right checksum, so that it is not
// the checksum that finds them wrong.
func FuzzDecode(f *testing.F) {
	rnd := rand.New(rand.NewPCG(7, 8))
	strip := func(b []byte) []byte { return b[:len(b)-len(format.Seal(nil))] }
	f.Add(anyTable(rnd, 2).AppendTo(nil))
	f.Add(strip(Encode(anyRecord(rnd), nil).Record))
	f.Add(strip(Encode(anyRecord(rnd), anyRecord(rnd)).Record))
	f.Add(format.AppendUint([]byte{format.SchemaVersion}, 1<<62))
	f.Fuzz(func(t *testing.T, body []byte) {
		b := format.Seal(bytes.Clone(body))
		if err := readTable(body); err != nil && !errors.Is(err, format.ErrDamaged) && !errors.Is(err, format.ErrVersion) {
			t.Errorf("OpenTable: %v", err)
		}
		none := func(int) ([][]byte, error) { return nil, format.Damaged("no pieces") }
		if rec, err := Decode(b, true, none); err == nil {
			again, err := Decode(Encode(rec, nil).Record, true, nil)
			if err != nil {
				t.Errorf("Decode of what Encode made: %v", err)
			} else if diff := testkit.Diff(rec, again); diff != "" {
				t.Errorf("record changed: %s", diff)
			}
		} else if !errors.Is(err, format.ErrDamaged) && !errors.Is(err, format.ErrVersion) {
			t.Errorf("Decode: %v", err)
		}
	})
}

// readTable reads everything in a table.
func readTable(b []byte) (err error) {
	defer format.Contain(format.Guard(), "read a table", &err)
	t, err := OpenTable(b)
	if err != nil {
		return err
	}
	for i := range t.Len() {
		t.Summary(i)
	}
	if again, err := OpenTable(t.With(nil, func(uint32) bool { return false }, 0).AppendTo(nil)); err != nil || again.Len() != t.Len() {
		return fmt.Errorf("what With made: %v", err)
	}
	return nil
}

// realisticTable is a table as of n sessions of people.
func realisticTable(n int) []byte {
	var list []*session.Summary
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	prompt := string(bytes.Repeat([]byte("please fix it "), 17))
	for i := range n {
		s := session.Summary{
			File:       uint32(i + 1),
			Path:       fmt.Sprintf("/home/user/.pi/agent/sessions/--home-user-src-app--/2026-01-02T03-04-05-678Z_01a1f7de-0000-7000-8000-%012x.jsonl", i),
			Checkpoint: session.Checkpoint{Offset: 123456, Lines: 321, Stat: session.Stat{Size: 12345, Mtime: at.UnixNano(), Ctime: at.UnixNano(), Inode: 1234567 + uint64(i)}, Extent: session.Extent{Length: 123456, Packed: true, Spoilt: true}},
			Header:     session.Header{ID: fmt.Sprintf("01a1f7de-0000-7000-8000-%012x", i), CWD: "/home/user/src/app", Version: 3, Timestamp: at},
			Name:       "a name", FirstPrompt: prompt, Subject: "a subject", LastMessage: at, Oldest: at, Newest: at, Messages: 50, Entries: 60, Documents: 100, Tokens: 12345,
		}
		list = append(list, &s)
	}
	return new(Table).With(list, func(uint32) bool { return false }, 0).AppendTo(nil)
}

func BenchmarkSummaries(b *testing.B) {
	blob := realisticTable(10_000)
	b.SetBytes(int64(len(blob)))
	b.ReportAllocs()
	for b.Loop() {
		t, err := OpenTable(blob)
		if err != nil || len(t.Summaries()) != 10_000 {
			b.Fatal(err)
		}
	}
}
