package highlight

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

var update = flag.Bool("update", false, "write the lexers from those of chroma")

// languages are the names that chroma gives to the languages which are highlighted.
var languages = []string{
	"Awk", "Bash", "Bash Session", "C", "C#", "C++", "CMake", "CSS", "Clojure", "Dart", "Diff",
	"Docker", "Elixir", "Erlang", "Fish", "GraphQL", "Go", "Go Template", "Groovy",
	"HCL", "HTML", "Haskell", "INI", "JSON", "Java", "JavaScript", "Julia", "Kotlin", "Lua", "Makefile",
	"Nginx configuration file", "Nix", "OCaml", "Objective-C", "PHP", "Perl", "PowerShell", "Protocol Buffer",
	"Python", "R", "Ruby", "Rust", "SCSS", "SQL", "Scala", "Swift", "SYSTEMD", "Terraform", "TOML",
	"TypeScript", "VimL", "XML", "YAML", "Zig", "react", "vue",
}

// The lexers are those of chroma, rule for rule.
func TestLexersAreChromas(t *testing.T) {
	want := make(map[string]bool)
	for _, name := range languages {
		lexer, ok := lexers.Get(name).(*chroma.RegexLexer)
		if !ok {
			t.Errorf("chroma has no lexer %s made of rules alone", name)
			continue
		}
		file := filepath.Join("lexers", strings.ReplaceAll(strings.ToLower(lexer.Config().Name), " ", "_")+".xml")
		want[file] = true
		if name == "Go" {
			lexer = withoutTemplates(t, lexer)
		}
		if *update {
			data, err := chroma.Marshal(lexer)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		// The states in the files have no order.
		have, err := chroma.NewXMLLexer(files, file)
		if err != nil {
			t.Error(err)
		} else if !reflect.DeepEqual(have.MustRules(), lexer.MustRules()) || !reflect.DeepEqual(have.Config(), lexer.Config()) {
			t.Errorf("%s differs from the lexer of chroma; go test ./ui/highlight -update writes it", file)
		}
	}
	all, err := filepath.Glob("lexers/*.xml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		if !want[file] {
			t.Errorf("%s belongs to no language of the list", file)
		}
	}
}

// withoutTemplates returns the lexer of Go without the templates in its strings: a file
// has only rules, and these are code.
func withoutTemplates(t *testing.T, lexer *chroma.RegexLexer) *chroma.RegexLexer {
	rules := lexer.MustRules().Clone()
	for _, state := range rules {
		for i := range state {
			one, err := chroma.NewLexer(lexer.Config(), func() chroma.Rules { return chroma.Rules{"root": {{Pattern: state[i].Pattern, Type: state[i].Type}}} })
			if err != nil {
				t.Fatal(err)
			}
			if _, err := chroma.Marshal(one); err != nil {
				state[i].Type = chroma.LiteralString
			}
		}
	}
	plain, err := chroma.NewLexer(lexer.Config(), func() chroma.Rules { return rules })
	if err != nil {
		t.Fatal(err)
	}
	return plain
}
