package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	tests := []struct {
		json string
		err  error
	}{
		{`{}`, nil}, {`[]`, nil}, {` { } `, nil}, {`{"a":[1,{"b":null}],"c":"d"}`, nil},
		{`true`, nil}, {`false`, nil}, {`null`, nil}, {`""`, nil}, {`0`, nil}, {`-0.5e+10`, nil},
		{`1e400`, nil}, {`{"a":1,"a":2}`, nil}, {"\"\u2028\"", nil}, {"\"\xff\"", nil}, {`"\ud800"`, nil},
		{`"\u0000"`, nil}, {"\"\x7f\"", nil}, {"[1\t,\r\n2]", nil},

		{``, errTruncated}, {`{`, errTruncated}, {`[1,`, errTruncated}, {`{"a"`, errTruncated}, {`{"a":`, errTruncated},
		{`"abc`, errTruncated}, {`"abc\`, errTruncated}, {`"\u12`, errTruncated}, {`tru`, errTruncated}, {`-`, errTruncated},
		{`1.`, errTruncated}, {`1e`, errTruncated}, {`1e+`, errTruncated},

		{`{,}`, ErrSyntax}, {`[1,]`, ErrSyntax}, {`{"a":1,}`, ErrSyntax}, {`[1 2]`, ErrSyntax}, {`{"a" 1}`, ErrSyntax},
		{`{a:1}`, ErrSyntax}, {`{'a':1}`, ErrSyntax}, {`[}`, ErrSyntax}, {`{]`, ErrSyntax}, {`{"a":1]`, ErrSyntax},
		{`[1}`, ErrSyntax}, {`nul1`, ErrSyntax}, {`NaN`, ErrSyntax}, {`Infinity`, ErrSyntax}, {`undefined`, ErrSyntax},
		{"\u00a01", ErrSyntax}, {"\ufeff1", ErrSyntax}, {`// x`, ErrSyntax}, {`+1`, ErrSyntax}, {`.5`, ErrSyntax}, {"[\f]", ErrSyntax},
		{`-x`, errNumber}, {`01`, errNumber}, {`-01`, errNumber}, {`1.x`, errNumber}, {`1ex`, errNumber},
		{"\"a\nb\"", errControl}, {"\"\x00\"", errControl}, {"\"a\tb\"", errControl}, {"\"01234567\x1f\"", errControl},
		{`"\x"`, errEscape}, {`"\'"`, errEscape}, {`"\u12g4"`, errEscape}, {`"\U0041"`, errEscape},
	}
	for _, tt := range tests {
		var s Scanner
		_, err := s.check([]byte(tt.json), 0)
		if !errors.Is(err, tt.err) {
			t.Errorf("check(%q) = %v, want %v", tt.json, err, tt.err)
		}
	}
}

func TestCheckFindsTheEnd(t *testing.T) {
	for _, s := range []string{`{"a":1}`, `[[]]`, `"x"`, `null`, `12`, `{"a":"` + strings.Repeat("x", 300) + `"}`} {
		for _, after := range []string{"", " ", "{}", "\x00", ","} {
			if s == "12" && after != " " && after != "" {
				continue
			}
			var sc Scanner
			end, err := sc.check([]byte("  "+s+after), 2)
			if err != nil || end != 2+len(s) {
				t.Errorf("check(%q) = %d, %v, want %d", s+after, end, err, 2+len(s))
			}
		}
	}
}

// Every way to cut a value short is seen as that, and no end is found early.
func TestCheckTruncated(t *testing.T) {
	const whole = `{"a":[1.5e-3,true,null,"x\u00e9\n\"y","` + "é" + `long enough for words of eight"],"b":{"c":[{}]}}`
	for n := range len(whole) {
		var s Scanner
		if _, err := s.check([]byte(whole[:n]), 0); !errors.Is(err, errTruncated) {
			t.Errorf("check(%q) = %v, want %v", whole[:n], err, errTruncated)
		}
	}
}

// Depth costs no stack, and has no limit.
func TestDeepNesting(t *testing.T) {
	const depth = 2_000_000
	for _, test := range []struct {
		json string
		err  error
	}{
		{strings.Repeat(`[`, depth) + `"needle"` + strings.Repeat(`]`, depth), nil},
		{strings.Repeat(`{"k":`, depth) + `"hay"` + strings.Repeat(`}`, depth), nil},
		{strings.Repeat(`{"a":`, depth), errTruncated},
	} {
		var s Scanner
		if end, err := s.check([]byte(test.json), 0); !errors.Is(err, test.err) || end != len(test.json) {
			t.Errorf("check(%.10s…) = %d, %v, want %d, %v", test.json, end, err, len(test.json), test.err)
		}
	}
}

// stringsOf decodes every string of a checked value, keys included, with the
// functions that the parser uses.
func stringsOf(s *Scanner, v Value, visit func(string)) {
	switch s.Kind(v) {
	case '"':
		visit(string(s.Text(v)))
	case '{':
		for key, member := range s.Members(v) {
			visit(string(appendValid(nil, key)))
			stringsOf(s, member, visit)
		}
	case '[':
		for element := range s.Elements(v) {
			stringsOf(s, element, visit)
		}
	}
}

// standardStrings does the same with encoding/json.
func standardStrings(data []byte) ([]string, error) {
	var all []string
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return all, err
		}
		switch token := token.(type) {
		case string:
			all = append(all, token)
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
			} else {
				depth--
			}
		}
		if depth == 0 {
			return all, nil
		}
	}
}

func compareWithStandard(t *testing.T, data []byte) {
	t.Helper()
	var s Scanner
	s.Reset(data)
	v, err := s.Check(0)
	got := err == nil && skipAllSpace(data[v.End:])
	want := json.Valid(data)
	trusting := Scanner{Trusting: true}
	trusting.Reset(data)
	if v, err := trusting.Check(0); err == nil {
		stringsOf(&trusting, v, func(string) {}) // whatever they are
	}
	if want && !got || got && !want && nesting(data) < 10_000 {
		t.Fatalf("check(%q) = %v, want valid %t", data, err, want)
	}
	if !got || !want {
		return
	}
	wantStrings, err := standardStrings(data)
	if err != nil {
		t.Fatalf("encoding/json on %q: %v", data, err)
	}
	var gotStrings []string
	stringsOf(&s, v, func(s string) { gotStrings = append(gotStrings, s) })
	if diff := cmp.Diff(wantStrings, gotStrings); diff != "" {
		t.Fatalf("strings of %q (-want +got):\n%s", data, diff)
	}
	gotStrings = nil
	if v, err = trusting.Check(0); err != nil {
		t.Fatalf("check(%q), trusting: %v", data, err)
	}
	stringsOf(&trusting, v, func(s string) { gotStrings = append(gotStrings, s) })
	if diff := cmp.Diff(wantStrings, gotStrings); diff != "" {
		t.Fatalf("strings of %q, trusting (-want +got):\n%s", data, diff)
	}
}

func skipAllSpace(data []byte) bool {
	for _, c := range data {
		if !isSpace(c) {
			return false
		}
	}
	return true
}

// nesting returns how deep a value may be at most.
func nesting(data []byte) int { return bytes.Count(data, []byte("[")) + bytes.Count(data, []byte("{")) }

var oddStrings = []string{
	`""`, `"a"`, `"\u0000"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00"`, `"\ud83d\ud83d\ude00"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\uD83D\n"`,
	"\"\xff\xfe\"", "\"caf\xc3\"", "\"\xc3\xa9\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x80\xa8\"", "\"\xc0\x80\"", "\"a\xc3\\n\xa9\"",
	`"\"\\\/\b\f\n\r\t"`, `"12345678"`, `"1234567\n"`, `"12345678\n"`, `"1234567` + "é" + `8"`, `"\u00e9\u20ac\u4e2d"`,
	`"` + strings.Repeat("0123456789", 20) + `"`, `"` + strings.Repeat(`a\n`, 100) + `"`, `"` + strings.Repeat("é", 100) + `"`, `"` + strings.Repeat("\xff", 200) + `"`,
	`{"` + strings.Repeat("k", 200) + `":1,"\u006b":"` + strings.Repeat("v", 200) + `"}`,
}

func TestStringsAsStandard(t *testing.T) {
	for _, s := range oddStrings {
		compareWithStandard(t, []byte(s))
		for pad := range 9 { // at every place in a word
			p := strings.Repeat("p", pad)
			compareWithStandard(t, []byte(`{"`+p+`":[1,`+s+`],"t":`+s+`}`))
			inside := strings.Trim(s, `"{}`)
			compareWithStandard(t, []byte(`"`+p+inside+`"`))
			for _, long := range longStrings { // that are decoded while they are checked
				compareWithStandard(t, []byte(`{"`+long+`":["`+long+p+inside+`","`+inside+`",["`+p+inside+long+`"]],"t":"`+inside+long+`"}`))
			}
		}
	}
}

var longStrings = []string{strings.Repeat("0123456789", 13), strings.Repeat(`\t`, 70), strings.Repeat(`é\n`, 50), strings.Repeat(`\\12345\"6789012`, 9), strings.Repeat(`\u00e9`, 30)}

// Bad strings are as bad behind an escape, wherever they are cut short.
func TestBadLongStrings(t *testing.T) {
	for _, bad := range []string{`\x`, `\u12g4`, `\ud83d\u12g4`, `\ud83d\x`, "\x1f", `\n` + "\n", "a\x00", `\ud83d\u`, `\u00`, `\`} {
		for pad := range 9 {
			for _, long := range longStrings {
				whole := `["` + long + strings.Repeat("p", pad) + bad + long + `"]`
				for n := len(whole) - len(long) - 2 - len(bad); n <= len(whole); n++ {
					compareWithStandard(t, []byte(whole[:n]))
				}
			}
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range oddStrings {
		f.Add([]byte(s))
	}
	for _, s := range []string{`{}`, `[]`, "1e400 {}", `{"a":1}{"b":2}x`, `[[[{"a":{"a":[]}}]]]`, `{"a":{"b":[1,{"c":"d"}]},"a":2}`, `[-1.5e3,true,null`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { compareWithStandard(t, data) })
}

// What is made of a value takes memory, so a line may have only so many beside each other.
func TestManyValues(t *testing.T) {
	t.Parallel()
	for name, repeat := range map[string]func(n int) string{
		"elements": func(n int) string { return "[" + strings.Repeat("{},", n-1) + "{}]" },
		"members":  func(n int) string { return "{" + strings.Repeat(`"a":1,`, n-1) + `"a":1}` },
		"deeper":   func(n int) string { return `{"a":[{"b":[` + strings.Repeat("1,", n-1) + "1]}]}" },
		"in pairs": func(n int) string { return "[" + strings.Repeat("[1,1],", n/2-1) + "1]" },
		"apart":    func(n int) string { return strings.Repeat("{}", n) },
	} {
		checked := func(n int) (err error) {
			var s Scanner
			line := []byte(repeat(n))
			s.Reset(line)
			for v := (Value{}); v.End < len(line) && err == nil; {
				v, err = s.Check(v.End)
			}
			return err
		}
		if err := checked(mostValues); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := checked(mostValues + 4); !errors.Is(err, errMany) {
			t.Errorf("%s: %v, want %v", name, err, errMany)
		}
	}
}
