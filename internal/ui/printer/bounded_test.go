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

func bounded(t interface{ Fatal(...any) }, text string, most int, f Format) string {
	var out bytes.Buffer
	b := NewBounded(&out, most, f)
	for i := 0; i < len(text); i += 7 { // in pieces
		if _, err := b.Write([]byte(text[i:min(len(text), i+7)])); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const boundedSearch = `{"schemaVersion":1,"query":"a [\"b","hits":[{"type":"hit","sessionPath":"/a","x":["]",1]},{"type":"hit","sessionPath":"/b","t":"}"},` +
	`{"type":"hit","sessionPath":"/b"}],"sessions":[{"type":"session","sessionPath":"/a"},{"type":"session","sessionPath":"/b"}],"total":3,"warnings":["w"]}` + "\n"

func TestBounded(t *testing.T) {
	cut := `{"schemaVersion":1,"query":"a [\"b","hits":[{"type":"hit","sessionPath":"/a","x":["]",1]}],` +
		`"sessions":[{"type":"session","sessionPath":"/a"}],"total":3,"warnings":["w"],"dropped":2}` + "\n"
	for _, test := range []struct {
		name, text string
		max        int
		format     Format
		want       string
	}{
		{"all", boundedSearch, len(boundedSearch), FormatJSON, boundedSearch},
		{"hits and their sessions", boundedSearch, len(cut), FormatJSON, cut},
		{"nothing", boundedSearch, 10, FormatJSON, `{"schemaVersion":1,"query":"a [\"b","hits":[],"sessions":[],"total":3,"warnings":["w"],"dropped":3}` + "\n"},
		{"no items", `{"a":1}` + "\n", 3, FormatJSON, `{"a":1}` + "\n"},
		{"a session above", `{"session":{"labels":["x"]},"entries":[{"a":1},{"a":2}]}`, 50, FormatJSON, `{"session":{"labels":["x"]},"entries":[],"dropped":2}`},
		{"rows on lines", "{\"rows\":[\n{\"a\":1},\n{\"a\":\"xxxxxxxxxxxxxxxxxxxx\"}],\"total\":{}}", 41, FormatJSON, "{\"rows\":[{\"a\":1}],\"total\":{},\"dropped\":1}"},
		{"lines", "{\"type\":\"hit\",\"sessionPath\":\"/a\"}\n{\"type\":\"hit\",\"sessionPath\":\"/b\"}\n{\"type\":\"session\",\"sessionPath\":\"/a\"}\n{\"type\":\"session\",\"sessionPath\":\"/b\"}\n{\"type\":\"summary\"}\n",
			112, FormatJSONL, "{\"type\":\"hit\",\"sessionPath\":\"/a\"}\n{\"type\":\"session\",\"sessionPath\":\"/a\"}\n{\"type\":\"summary\",\"dropped\":1}\n"},
	} {
		got := bounded(t, test.text, test.max, test.format)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// Whatever the answer and the bound, what comes out is JSON with the first items,
// as many as the bound has room for, and says how many are missing.
func TestBoundedIsAPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.String(), 0, 20).Draw(t, "items")
		most := rapid.IntRange(0, 2000).Draw(t, "max")
		type item struct {
			Text string `json:"text"`
		}
		var answer struct {
			Query   string `json:"query"`
			Rows    []item `json:"rows"`
			Total   int    `json:"total"`
			Dropped int    `json:"dropped,omitempty"`
		}
		answer.Query = rapid.String().Draw(t, "query")
		answer.Rows = []item{}
		for _, text := range texts {
			answer.Rows = append(answer.Rows, item{text})
		}
		data, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		got := bounded(t, string(data)+"\n", most, FormatJSON)
		have := answer
		have.Rows, have.Dropped = nil, 0
		if err := json.Unmarshal([]byte(got), &have); err != nil {
			t.Fatalf("%v: %s", err, got)
		}
		n := len(have.Rows)
		if n+have.Dropped != len(texts) || !cmp.Equal(have.Rows, answer.Rows[:n]) {
			t.Fatalf("%d rows and %d dropped of %d", n, have.Dropped, len(texts))
		}
		if len(got) > most && n > 0 {
			t.Fatalf("%d bytes, more than %d", len(got), most)
		}
		if n < len(texts) {
			more := answer
			more.Rows, more.Dropped = answer.Rows[:n+1], len(texts)-n-1
			if data, _ := json.Marshal(more); len(data)+1 <= most && len(data) < most-20 {
				t.Fatalf("%d of %d rows, and %d would take %d of %d bytes", n, len(texts), n+1, len(data), most)
			}
		}
	})
}

func TestBoundedKeepsLittle(t *testing.T) {
	var out bytes.Buffer
	b := NewBounded(&out, 1000, FormatJSONL)
	for i := range 100_000 {
		fmt.Fprintf(b, `{"type":"entry","text":"%s %d"}`+"\n", strings.Repeat("x", 100), i)
	}
	if b.size > 2000 {
		t.Errorf("%d bytes are kept for an answer of 1000", b.size)
	}
	fmt.Fprintln(b, `{"type":"summary"}`)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 1000 || !strings.HasSuffix(out.String(), "{\"type\":\"summary\",\"dropped\":99993}\n") {
		t.Errorf("%d bytes: %s", out.Len(), out.String())
	}
}
