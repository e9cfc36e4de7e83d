package jsonl

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

func checked(t *testing.T, s *Scanner, data string) Value {
	t.Helper()
	s.Reset([]byte(data))
	v, err := s.Check(0)
	if err != nil {
		t.Fatalf("Check(%s): %v", data, err)
	}
	return v
}

func TestFields(t *testing.T) {
	var s Scanner
	v := checked(t, &s, ` {"a":1,"b":{"c":"d"},"a":"last","\u0065":true}`)
	if v.Start != 1 {
		t.Errorf("the value starts at %d, want 1", v.Start)
	}
	fields := s.Fields(v)
	inner := s.Fields(fields.Find("b"))
	if len(fields) != 3 || s.String(fields.Find("a")) != "last" || !s.IsTrue(fields.Find("e")) || s.Name(inner.Find("c")) != "d" {
		t.Errorf("fields %v, inner %v", fields, inner)
	}
	if !fields.Find("z").Empty() || s.Kind(fields.Find("z")) != 0 || s.String(fields.Find("z")) != "" || len(s.Fields(inner.Find("c"))) > 0 {
		t.Error("there is a value that is not there")
	}
}

func TestInt(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "-7": -7, "7.9": 7, "1e3": 1000, "9007199254740993": 9007199254740993} {
		var s Scanner
		if n, ok := s.Int(checked(t, &s, text)); !ok || n != want {
			t.Errorf("Int(%s) = %d, %t, want %d", text, n, ok, want)
		}
	}
	for _, text := range []string{`"1"`, "1e300", "-1e300", "null", "true", "[]", "{}"} {
		var s Scanner
		if n, ok := s.Int(checked(t, &s, text)); ok {
			t.Errorf("Int(%s) = %d, want none", text, n)
		}
	}
}

func TestLeaves(t *testing.T) {
	const value = `{"type":"x","id":"i","a":["b",{"c":"d\n","n":1.50,"e":[],"z":""}],"sig":"S","k":1,"k":"last",` +
		`"image":{"data":"QUJD","mimeType":"image/png","alt":"cat"},"plain":{"data":"text"}}`
	for _, test := range []struct {
		name         string
		named, block bool
		held         [][]byte
		want         string
	}{
		{"strings", false, false, nil, "x|i|b|d\n|last|image/png|cat|text"},
		{"of a block", false, true, nil, "b|d\n|last|image/png|cat|text"},
		{"not held", false, true, [][]byte{[]byte("a cat"), []byte("lastly")}, "b|d\n|image/png|text"},
		{"named", true, false, nil, "type: x|id: i|a.0: b|a.1.c: d\n|a.1.n: 1.50|a.1.e: []|a.1.z: |sig: S|k: last|image.mimeType: image/png|image.alt: cat|plain.data: text"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s Scanner
			v := checked(t, &s, value)
			w := Leaves{Omit: []string{"sig"}}
			w.Begin(&s, s.Room(len(value)), test.named, test.held)
			w.Add(v, test.block)
			if got, want := string(w.End()), strings.ReplaceAll(test.want, "|", "\n"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// The line around each byte is the one that a tokenizer of escapes finds, and so is the escape.
func TestLineAround(t *testing.T) {
	pieces := []string{`\n`, `\u000a`, `\u000A`, `\\`, `\\n`, `\\u000a`, `\t`, `\"`, `\u00e9`, `n`, `u000a`, `ab`, `é`}
	escape := regexp.MustCompile(`\\u....|\\.|[^\\]`)
	type line struct{ start, end, next int }
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		var json []byte
		for range rng.IntN(12) {
			json = append(json, pieces[rng.IntN(len(pieces))]...)
		}
		lines := []line{{}}
		for _, at := range escape.FindAllIndex(json, -1) {
			for i := at[0]; i < at[1]; i++ {
				if want := json[at[0]] == '\\'; InEscape(json, i) != want {
					t.Fatalf("byte %d of %s is of an escape: %t, want %t", i, json, !want, want)
				}
			}
			if string(AppendText(nil, json[at[0]:at[1]])) == "\n" {
				last := &lines[len(lines)-1]
				last.end, last.next = at[0], at[1]
				lines = append(lines, line{start: at[1]})
			}
		}
		lines[len(lines)-1].end, lines[len(lines)-1].next = len(json), len(json)
		for i, l := range lines {
			for pos := l.start; pos < l.next; pos++ {
				want := l
				if pos > l.end {
					want = lines[i+1]
				}
				for _, before := range lines[:i+1] {
					if start, end, next := LineAround(json, before.start, pos); (line{start, end, next}) != want {
						t.Fatalf("the line around byte %d of %s from %d is %d-%d, then %d; want %v", pos, json, before.start, start, end, next, want)
					}
				}
			}
		}
	}
}
