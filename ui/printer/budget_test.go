package printer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// streamed is a stream as an answer.
type streamed struct{ *Stream }

func (s streamed) Text(*Text)   { panic("no text") }
func (s streamed) Plain(*Text)  { panic("no records") }
func (s streamed) JSON(j *JSON) { j.Stream(s.Stream) }

func bounded(t interface{ Fatal(...any) }, s *Stream, most int, f Format) string {
	var out bytes.Buffer
	p := &Printer{Out: &out, Format: f, MaxBytes: most}
	if err := p.Print(streamed{s}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// boundedRows is a stream of rows that belong to the session of this name.
func boundedRows(name string, sessions ...string) *Stream {
	return &Stream{Name: name, Rows: rowsIn(sessions, nil), owner: func(v any) string { return *v.(*string) }}
}

func TestBounded(t *testing.T) {
	search := func() *Stream {
		s := boundedRows("hits", "/a]", "/b", "/b")
		s.Command, s.others = "search", boundedRows("sessions", "/a]", "/b")
		s.Tail = func(int) any {
			return struct {
				Total int `json:"total"`
			}{3}
		}
		return s
	}
	show := &Stream{Command: "show", Session: &typed{"[\"x"}, Name: "entries", Rows: rowsIn([]int{1, 2}, nil)}
	const head = `{"schemaVersion":1,"command":"search","hits":[`
	const all = head + `"/a]","/b","/b"],"sessions":["/a]","/b"],"total":3}` + "\n"
	const cut = head + `"/a]"],"sessions":["/a]"],"total":3,"dropped":2}` + "\n"
	const line = `{"type":"summary","schemaVersion":1,"command":"search","total":3,"dropped":2}` + "\n"
	for _, test := range []struct {
		name   string
		answer *Stream
		max    int
		format Format
		want   string
	}{
		{"all", search(), len(all), FormatJSON, all},
		{"hits and their sessions", search(), len(all) - 1, FormatJSON, cut},
		{"just that", search(), len(cut), FormatJSON, cut},
		{"nothing", search(), 10, FormatJSON, head + `],"sessions":[],"total":3,"dropped":3}` + "\n"},
		{"no rows", boundedRows("rows"), 3, FormatJSON, `{"schemaVersion":1,"command":"","rows":[]}` + "\n"},
		{"a session above", show, 50, FormatJSON, `{"schemaVersion":1,"command":"show","session":{"type":"[\"x"},"entries":[],"dropped":2}` + "\n"},
		{"rows on lines", &Stream{Name: "rows", Rows: rowsIn([]int{1, 2}, nil), broken: true}, 1000, FormatJSON, `{"schemaVersion":1,"command":"","rows":[1,2]}` + "\n"},
		{"lines", search(), len(line) + 12, FormatJSONL, "\"/a]\"\n\"/a]\"\n" + line},
	} {
		got := bounded(t, test.answer, test.max, test.format)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// What does not fit is left out of an answer of any kind, and the bound holds for
// all answers of a run together.
func TestBoundOfARun(t *testing.T) {
	var whole, out bytes.Buffer
	if err := New(&whole, FormatJSONL, Layout{}).Print(answer()); err != nil {
		t.Fatal(err)
	}
	p := &Printer{Out: &out, Format: FormatJSONL, MaxBytes: whole.Len() + 1000}
	for range 2 {
		if err := p.Print(answer()); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); !strings.HasPrefix(got, whole.String()) || !strings.HasSuffix(got, ",\"dropped\":4}\n") || out.Len() > p.MaxBytes {
		t.Errorf("%d bytes of at most %d:\n%s", out.Len(), p.MaxBytes, got)
	}
}

// Whatever the answer and the bound, what comes out is JSON with the first rows,
// as many as the bound has room for, and says how many are missing.
func TestBoundedIsAPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.String(), 0, 20).Draw(t, "items")
		most := rapid.IntRange(1, 2000).Draw(t, "max")
		query := rapid.String().Draw(t, "query")
		answer := func() *Stream {
			return &Stream{
				lead: struct {
					Query string `json:"query"`
				}{query},
				Name: "rows", Rows: rowsIn(texts, nil),
				Tail: func(n int) any {
					return struct {
						Total int `json:"total"`
					}{n}
				},
			}
		}
		got := bounded(t, answer(), most, FormatJSON)
		var have struct {
			Query          string
			Rows           []string
			Total, Dropped int
		}
		if err := json.Unmarshal([]byte(got), &have); err != nil {
			t.Fatalf("%v: %s", err, got)
		}
		n := len(have.Rows)
		if n+have.Dropped != len(texts) || have.Total != len(texts) {
			t.Fatalf("%d rows and %d dropped of %d", n, have.Dropped, len(texts))
		}
		if len(got) > most && n > 0 {
			t.Fatalf("%d bytes, more than %d", len(got), most)
		}
		if n < len(texts) {
			row, err := json.Marshal(texts[n])
			if err != nil {
				t.Fatal(err)
			}
			if more := len(got) + len(row) + 1; more < most-20 {
				t.Fatalf("%d of %d rows, and %d would take %d of %d bytes", n, len(texts), n+1, more, most)
			}
		}
	})
}

func TestBoundedKeepsLittle(t *testing.T) {
	var out bytes.Buffer
	b := &budget{Sink: NewSink(&out), max: 1000}
	for i := range 100_000 {
		b.take(piece{kind: pieceRow, data: fmt.Appendf(nil, `{"type":"entry","text":"%s %d"}`+"\n", strings.Repeat("x", 100), i)})
	}
	if b.size > 2000 {
		t.Errorf("%d bytes are kept for an answer of 1000", b.size)
	}
	b.finish([]byte(`{"type":"summary"`))
	if err := b.End(); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 1000 || !strings.HasSuffix(out.String(), "{\"type\":\"summary\",\"dropped\":99993}\n") {
		t.Errorf("%d bytes: %s", out.Len(), out.String())
	}
}
