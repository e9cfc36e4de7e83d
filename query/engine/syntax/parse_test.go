package syntax

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/lists"
)

// shape writes a tree so that every difference shows.
func shape(n Node) string {
	switch n := n.(type) {
	case nil:
		return "nothing"
	case *Group:
		name := [...]string{List: "list", And: "and", Or: "or"}[n.Op]
		return name + "(" + strings.Join(lists.Map(n.Items, shape), " ") + ")"
	case *Must:
		return "must(" + shape(n.Item) + ")"
	case *Not:
		return "not(" + shape(n.Item) + ")"
	case *Field:
		return fmt.Sprintf("field %s=%s", n.Name, n.Value) + strings.Repeat(" quoted", quotes(n.Quoted))
	case *Term:
		switch n.Match {
		case Phrase:
			return fmt.Sprintf("%q", n.Text)
		case Prefix:
			return "[" + n.Text + "*]"
		case Fuzzy:
			return fmt.Sprintf("[%s~%d]", n.Text, n.Edits)
		}
		return "[" + n.Text + "]"
	}
	return fmt.Sprintf("%T", n)
}

func quotes(quoted bool) int {
	if quoted {
		return 1
	}
	return 0
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "nothing"},
		{" \t\n", "nothing"},
		{"auth token", "list([auth] [token])"},
		{"+auth token", "list(must([auth]) [token])"},
		{"a AND b", "and([a] [b])"},
		{"a AND b c", "list(and([a] [b]) [c])"},
		{"a OR b c", "list(or([a] [b]) [c])"},
		{"x a OR b AND c", "list([x] or([a] and([b] [c])))"},
		{"(a OR b) AND c", "and(or([a] [b]) [c])"},
		{"a or b and not c", "list([a] [or] [b] [and] [not] [c])"},
		{"NOT a b", "list(not([a]) [b])"},
		{"a AND NOT b", "and([a] not([b]))"},
		{"!a", "not([a])"},
		{"!(a b)", "not(list([a] [b]))"},
		{`!"a b"`, `not("a b")`},
		{"OR a", "list([OR] [a])"},
		{"a OR", "list([a] [OR])"},
		{"a OR OR b", "list(or([a] [OR]) [b])"},
		{"NOT", "[NOT]"},
		{"(OR)", "[OR]"},
		{`"exit code 137"`, `"exit code 137"`},
		{`"say \"hi\" \\ \n"`, `"say \"hi\" \\ \\n"`},
		{`"open`, `["open]`},
		{`say "open`, `list([say] ["open])`},
		{`5" disk "a b"`, `list([5"] [disk] "a b")`},
		{`fmt.Println("hello world") x`, `list([fmt.Println("hello world")] [x])`},
		{`"name":"a b"`, `["name":"a b"]`},
		{"conn*", "[conn*]"},
		{"*", "[*]"},
		{"a.b*", "[a.b*]"},
		{"colour~ colour~2", "list([colour~1] [colour~2])"},
		{"~ ~/src", "list([~] [~/src])"},
		{"rm -rf", "list([rm] [-rf])"},
		{"-race --no-cache", "list([-race] [--no-cache])"},
		{"C++ ++i += + a", "list([C++] [++i] [+=] [+] [a])"},
		{"a != b !", "list([a] [!=] [b] [!])"},
		{"main() f(a, b)", "list([main()] [f(a,] [b] [)])"},
		{"(a b", "list([(] [a] [b])"},
		{"a)", "list([a] [)])"},
		{"()", "[()]"},
		{"((a))", "[a]"},
		{"(main())", "[main()]"},
		{"go:embed a::b http://x 12:30", "list([go:embed] [a::b] [http://x] [12:30])"},
		{"kind:call x", "list(field kind=call [x])"},
		{"-kind:result -x", "list(not(field kind=result) [-x])"},
		{`cwd:"/a b/c"`, "field cwd=/a b/c quoted"},
		{"kind: is:odd", "list([kind:] [is:odd])"},
		{`re:time(d)?out x`, "list(field re=time(d)?out [x])"},
		{`re:"exit (code|status) \d+ \\ \""`, `field re=exit (code|status) \d+ \\ " quoted`},
		{"label:keep title:auth branch:abandoned file:main.go is:named", "list(field label=keep field title=auth field branch=abandoned field file=main.go field is=named)"},
		{`cmd:"rm -rf" -cmd:ls`, "list(field cmd=rm -rf quoted not(field cmd=ls))"},
		{"(a AND b) AND c", "and(and([a] [b]) [c])"},
		{"用getUser做", "[用getUser做]"},
	} {
		n, _ := Parse(c.text)
		if got := shape(n); got != c.want {
			t.Errorf("Parse(%q) = %s, want %s", c.text, got, c.want)
		}
		checkRoundTrip(t, c.text)
	}
}

func checkRoundTrip(t *testing.T, text string) {
	t.Helper()
	first, _ := Parse(text)
	if first == nil {
		return
	}
	second, _ := Parse(first.String())
	if a, b := shape(first), shape(second); a != b {
		t.Errorf("Parse(%q) writes %q, which parses to another tree:\n%s\n%s", text, first.String(), a, b)
	}
}

func TestParsePositions(t *testing.T) {
	text := `ab  +(cd OR "e f") NOT kind:call`
	n, _ := Parse(text)
	var got []string
	for _, item := range n.(*Group).Items {
		start, end := item.Range()
		got = append(got, text[start:end])
	}
	want := []string{"ab", `+(cd OR "e f"`, "NOT kind:call"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("texts of the items (-want +got):\n%s", diff)
	}
}

func TestParseWarnings(t *testing.T) {
	for _, c := range []struct {
		text string
		near string // "" when nothing should be said
	}{
		{"knd:call", "kind"},
		{"modle:opus", "model"},
		{"projet:app", "project"},
		{"go:embed x", "is searched as text"},
		{"titel:foo", "title:"},
		{"Kind:call", "kind:"},
		{"localhost:8080 main.go:12", ""},
		{"kind: x", "kind:call"},
		{"is:odd", "error, named"},
		{"((gateway", "character 1"},
		{"f(a, b) g(c, d)", ""},
		{"a)", "character 2"},
		{"a && b", "AND"},
		{"a || b", "OR"},
		{"a OR", "OR"},
		{"NOT", ""},
		{"src/au*", "conn*"},
		{"word~3", "~2"},
		{"!!debug", "as in !debug"},
		{"+!debug", "one mark"},
		{"!!(a b)", "one mark"},
		{"-(a OR b)", "as in !(a"},
		{`-"exit code"`, `as in !"exit code"`},
		{"NOT NOT a, !(a OR b) wow!! != ++i rm -rf -kind:call", ""},
		{`re:time(d)?out re:"exit (code|status) \d+"`, ""},
		{"std::vector", ""},
		{"https://example.org", ""},
		{"kind:call", ""},
		{`say "exit code`, "exit code"},
		{`"exit code" 5"`, ""},
		{`cmd:"rm -rf`, "no partner"},
		{`permission denied"`, "denied"},
		{`fmt.Println("hello")`, ""},
		{strings.Repeat("x", 999) + ":" + strings.Repeat("y", 999), "…"},
	} {
		_, warnings := Parse(c.text)
		got := strings.Join(warnings, "\n")
		if (c.near == "") != (got == "") || !strings.Contains(got, c.near) {
			t.Errorf("Parse(%q) warns %q, want the field %q", c.text, got, c.near)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`auth +token NOT "a b" OR (c AND !d) conn* x~2 kind:call -kind:reply`, `"open`, `((((`, `))))`, `+(+=) !(=)`, `NOT )`,
		`"a"b" c" (d" e)`, `a OR (OR) NOT`, `="a cwd:C:\x"`, `( foo( )`, `""`, `\" "\`, `+OR !AND`, `-is:error`, "a\x00\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { checkRoundTrip(t, text) })
}
