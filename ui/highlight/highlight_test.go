package highlight

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// within sets how long Code takes at most in a test.
func within(t *testing.T, limit time.Duration) {
	usual := MaxTime
	MaxTime = limit
	t.Cleanup(func() { MaxTime = usual })
}

func TestCode(t *testing.T) {
	within(t, time.Hour)
	for _, test := range []struct {
		language, source string
		want             []Run // without the plain ones
	}{
		{"go", "func main() { // start\n\treturn \"a\"", []Run{{"func", Keyword}, {"main", Function}, {"// start", Comment}, {"return", Keyword}, {`"a"`, String}}},
		{"main.go", "const x = 12", []Run{{"const", Keyword}, {"12", Number}}},
		{"src/app/login.ts", "let a: string = `b`", []Run{{"let", Keyword}, {"string", Type}, {"`b`", String}}},
		{"tsx", "<b>{x}</b>", []Run{{"b", Tag}, {"b", Tag}}},
		{"py", "@cache\ndef f(a=None): pass", []Run{{"@cache", Function}, {"def", Keyword}, {"f", Function}, {"None", Number}, {"pass", Keyword}}},
		{"sh", "# list\nls -l $HOME", []Run{{"# list", Comment}, {"$HOME", Name}}},
		{"Dockerfile", "FROM alpine", []Run{{"FROM", Keyword}, {"alpine", String}}},
		{"json", `{"a": [1, true, "b"]}`, []Run{{`"a"`, Tag}, {"1", Number}, {"true", Number}, {`"b"`, String}}},
		{"yaml", "a: b # c", []Run{{"a", Tag}, {"# c", Comment}}},
		{"diff", "@@ -1 +1 @@\n-old\n+new\n", []Run{{"@@ -1 +1 @@\n", Heading}, {"-old\n", Deleted}, {"+new\n", Inserted}}},
		{"brainfuck", "++>.", nil},
		{"no-such-language", "func main", nil},
		{"", "func main", nil},
		{"*", "func main", nil},
	} {
		var got []Run
		joined := ""
		for _, r := range Code(test.source, test.language) {
			joined += r.Text
			if text := strings.TrimSpace(r.Text); r.Class != Plain && text != "" {
				got = append(got, r)
			}
		}
		if joined != test.source {
			t.Errorf("Code(%q, %s) has the text %q", test.source, test.language, joined)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("Code(%q, %s) (-want +got):\n%s", test.source, test.language, diff)
		}
	}
}

// Source code that lexers need minutes for is given up in time, and loses nothing.
func TestCodeMadeToTakeLong(t *testing.T) {
	within(t, 5*time.Millisecond)
	for _, language := range []string{"Bash", "C++", "CSS", "HTML", "JSON", "Python", "Ruby", "TypeScript", "react", "YAML"} {
		for _, s := range []string{"(", "\"", "/*", "a ", "\\", "<a "} {
			for _, line := range []string{s, strings.Repeat(s, 1000/len(s)) + "\n"} {
				source, length := strings.Repeat(line, (1<<20)/len(line)), 0
				for _, r := range Code(source, language) {
					length += len(r.Text)
				}
				if length != len(source) {
					t.Errorf("1 MiB of %.10q… as %s: %d of %d bytes are left", line, language, length, len(source))
				}
			}
		}
	}
}

func FuzzCode(f *testing.F) {
	f.Add("func main() {\r\n}\xff", "go")
	f.Add("<script>let a = `${b}`</script>", "html")
	f.Fuzz(func(t *testing.T, source, language string) {
		joined := ""
		for _, r := range Code(source, language) {
			if r.Text == "" {
				t.Errorf("Code(%q, %q) has an empty run", source, language)
			}
			joined += r.Text
		}
		if joined != source {
			t.Errorf("Code(%q, %q) has the text %q", source, language, joined)
		}
	})
}

func BenchmarkCode(b *testing.B) {
	source := strings.Repeat("// Greet writes a greeting.\nfunc Greet(name string) (int, error) {\n\treturn fmt.Printf(\"hello %s\\n\", name) // 12\n}\n\n", 100)
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		Code(source, "go")
	}
}
