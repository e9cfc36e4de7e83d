package fix

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/lab/testkit"
)

func TestNormalize(t *testing.T) {
	for _, c := range []struct{ text, words, values string }{
		{"error TS2339: Property 'tokens' does not exist on type 'Session'.", "error ts2339 property does not exist on type", "tokens session"},
		{"ENOENT: no such file or directory, open '/home/me/app/x.json'", "enoent no such file or directory open", "x.json"},
		{"src/auth/login.ts(532,34): error TS1: bad", "error ts1 bad", "login.ts 532 34"},
		{"main.go:12:5: undefined: foo", "undefined foo", "main.go"},
		{`C:\Users\me\app.py failed`, "failed", "app.py"},
		{"dial tcp 127.0.0.1:5432: connect: connection refused", "dial tcp connect connection refused", "127.0.0.1 5432"},
		{"2026-01-15T10:30:00.000Z panic: index out of range [5] with length 3", "panic index out of range with length", "2026-01-15t10 30 00.000z 5 3"},
		{"could not apply 48adfce... chore", "could not apply chore", "48adfce"},
		{"request 0195aaaa-1111-7222-8333-444455556666 failed", "request failed", "0195aaaa-1111-7222-8333-444455556666"},
		{"toolu_019tYDrbzifrra2KYzmYqWvk has no result", "has no result", "toolu_019tydrbzifrra2kyzmyqwvk"},
		{"can't assign to 'x', it doesn't exist", "can t assign to it doesn t exist", "x"},
		{`{"type":"error","message":"this sentence is no name"}`, "this sentence is no name", "type error message"},
		{"lint/correctness/noUnusedImports and/or", "lint correctness nounusedimports and or", ""},
		{"https://example.org/a/b?c answered 503", "answered", "b?c 503"},
		{"took 119ms in v23.4.0 with x86_64 and utf8", "took in with x8664 and utf8", "119ms v23.4.0"},
		{"\x1b[31mERROR\x1b[0m in ./src", "error in", "src"},
		{"无法连接到服务器 8080", "无法 法连 连接 接到 到服 服务 务器", "8080"},
		{"java.lang.NullPointerException", "java lang nullpointerexception", ""},
		{"answered HTTP 503 [code: -31999]: exit status 2 in 5", "answered http 503 code 31999 exit status 2 in", "5"},
		{"deadbeef is a word", "deadbeef is a word", ""},
		{"a lone ' and \" quote", "a lone and quote", ""},
		{"access '/a/b.md'Tip: none", "access tip none", "b.md"},
		{"12 345", "", "12 345"},
		{"", "", ""},
	} {
		var n normalizer
		l := n.line([]byte(c.text), 0)
		if got := strings.Join(distinctInOrder(l.words), " "); got != c.words {
			t.Errorf("the words of %q are %q, want %q", c.text, got, c.words)
		}
		var values []string
		for _, v := range l.values {
			values = append(values, v.text)
		}
		if got := strings.Join(values, " "); got != c.values {
			t.Errorf("the values of %q are %q, want %q", c.text, got, c.values)
		}
		for _, w := range l.words {
			if w.start < 0 || w.end > len(c.text) || w.start >= w.end {
				t.Errorf("%q: the word %q is at %d to %d", c.text, w.term, w.start, w.end)
			}
		}
	}
}

// Text of any kind takes linear time: any more, and these lines take minutes to hours.
func TestLongLines(t *testing.T) {
	n := testkit.HowMany(25_000, 100_000, 100_000)
	s := read("ModuleNotFoundError: No module named 'yaml'")
	s.weigh(map[string]float64{"modulenotfounderror": 5, "no": 1, "module": 2, "named": 2})
	for _, c := range []struct{ name, text string }{
		{"quotes", strings.Repeat(`"a`, 3*n)},
		{"apostrophes", strings.Repeat(`'a `, 3*n)},
		{"paths in quotes", strings.Repeat(`"/a/b.c`, n)},
		{"one kind of quote", "`" + strings.Repeat(`'`, 5*n)},
		{"numbers", strings.Repeat("123456 ", 5) + numbers(5*n)},
		{"colons", strings.Repeat("1:", 5*n)},
		{"a colour", strings.Repeat("\x1b[", 3*n)},
		{"words of the error", strings.Repeat("module named ", n/2)},
	} {
		read(c.text)
		f := newFinder(t.Context(), s)
		if _, ok := f.find([]byte(c.text+" ModuleNotFoundError: No module named 'yaml' "+c.text), true); !ok {
			t.Errorf("%s: the error is not found", c.name)
		}
	}
}

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d,", i)
	}
	return b.String()
}

// Who asked may leave in the middle of a long text.
func TestFindStops(t *testing.T) {
	s := read(wanted)
	s.weigh(map[string]float64{"modulenotfounderror": 5, "no": 1, "module": 2, "named": 2})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := newFinder(ctx, s).find([]byte(wanted), true); ok {
		t.Error("the search went on after the end of its context")
	}
}

func distinctInOrder(words []word) (terms []string) {
	for _, w := range words {
		terms = append(terms, w.term)
	}
	return terms
}

// Of a pasted text, the lines count that say what went wrong.
func TestSignatureLines(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"one line", "exit code 1", []string{"exit code 1"}},
		{"a traceback", `Traceback (most recent call last):
  File "/app/search.py", line 2, in <module>
    from ddgs import DDGS
ModuleNotFoundError: No module named 'ddgs'

Command exited with code 1`, []string{"from ddgs import ddgs", "modulenotfounderror no module named"}},
		{"an echoed command", "$ npm run check\n> app@1.0.0 check\nsrc/a.ts(1,2): error TS2339: no such thing\r\nCommand exited with code 2", []string{"error ts2339 no such thing"}},
		{"nothing but values", "'foo' 137", []string{"foo 137"}},
		{"punctuation", "?!", nil},
		{"the same twice", "a.ts(1,2): error TS1: bad\nb.ts(3,4): error TS1: bad", []string{"error ts1 bad"}},
	} {
		s := read(c.text)
		var got []string
		for _, l := range s.lines {
			got = append(got, strings.Join(distinctInOrder(l.words), " "))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A line with rare words that looks like an error identifies it; others do not.
func TestSignatureWeights(t *testing.T) {
	s := read("we ran it again today\nModuleNotFoundError: No module named 'x'\nok")
	s.weigh(map[string]float64{"modulenotfounderror": 9, "no": 1, "module": 3, "named": 3, "we": 1, "ran": 1, "it": 1, "again": 1, "today": 2, "ok": 1})
	if len(s.lines) != 1 || s.lines[0].words[0].term != "modulenotfounderror" || s.weights["modulenotfounderror"] != maxWeight {
		t.Errorf("lines %v with weights %v", s.lines, s.weights)
	}
}

// What surrounds an error does not count, however rare its words are.
func TestLinesThatTellNothing(t *testing.T) {
	s := read("Checked 104 files in 12ms. No fixes applied.\nsrc/a.ts(1,2): error TS2305: no exported member")
	s.weigh(map[string]float64{"checked": 6, "files": 6, "fixes": 6, "applied": 6, "in": 6, "no": 1, "error": 1, "ts2305": 2, "exported": 1, "member": 1})
	if len(s.lines) != 1 || !s.lines[0].looksLikeError {
		t.Errorf("%v", s.lines)
	}
}

func FuzzFind(f *testing.F) {
	f.Add("error TS2339: Property 'a' does not exist", "x\nerror TS2339: Property 'b' does\nnot exist 'c")
	f.Add("a' \"b", "`")
	f.Fuzz(func(t *testing.T, text, in string) {
		s := read(text)
		rarity := make(map[string]float64)
		for _, term := range s.terms() {
			rarity[term] = 3
		}
		s.weigh(rarity)
		if len(s.lines) == 0 {
			return
		}
		finder := newFinder(t.Context(), s)
		if m, ok := finder.find([]byte(in), true); ok && (m.start < 0 || m.start >= m.end || m.end > len(in) || m.closeness <= 0 || m.closeness > 1.0001) {
			t.Errorf("%q in %q: %+v", text, in, m)
		}
		if m, ok := finder.find([]byte(text), true); len(text) < 1000 && (!ok || m.closeness < enough*(1-ofLines-ofValues)) {
			t.Errorf("%q is not found in itself: %+v", text, m)
		}
	})
}

// A text is not looked at line by line if it has too few of the words anywhere.
func TestTextsThatMayHaveAnError(t *testing.T) {
	s := read("ModuleNotFoundError: No module named 'x' in get_user_name")
	s.weigh(map[string]float64{"modulenotfounderror": 5, "no": 1, "module": 2, "named": 2, "in": 1, "getusername": 4})
	if f := newFinder(t.Context(), s); !f.mayHave([]byte("in getUserName\nNo module named y: modulenotfounderror"), enough) {
		t.Error("identifiers are those of the text as words")
	}
	s = read("connection refused by the server")
	s.weigh(map[string]float64{"connection": 3, "refused": 5, "by": 1, "the": 1, "server": 2})
	f := newFinder(t.Context(), s)
	if f.mayHave([]byte("connection by the server"), enough) {
		t.Error("without 5 of 12 there is not enough")
	}
	if !f.mayHave([]byte("refused\nserver connection"), enough) {
		t.Error("10 of 12 are enough, in any order")
	}
}
