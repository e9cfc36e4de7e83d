package words

import "testing"

func TestForms(t *testing.T) {
	for _, pair := range [][2]string{
		{"rename", "renaming"}, {"rename", "renamed"}, {"rename", "renames"}, {"stop", "stopped"}, {"stop", "stopping"},
		{"library", "libraries"}, {"copy", "copied"}, {"copy", "copying"}, {"fix", "fixes"}, {"fix", "fixed"}, {"match", "matches"},
		{"connect", "connecting"}, {"file", "files"}, {"cache", "caches"}, {"cache", "caching"}, {"call", "called"}, {"process", "processes"},
		{"token", "tokens"}, {"play", "played"}, {"free", "freed"}, {"error", "errors"}, {"use", "using"}, {"go", ""},
		{"fail", "failure"}, {"fails", "failures"}, {"close", "closure"}, {"expose", "exposure"}, {"remove", "removal"}, {"improve", "improvement"}, {"resolve", "resolution"},
		{"require", "requirement"}, {"adjust", "adjustment"}, {"persist", "persistence"}, {"develop", "development"}, {"deploy", "deployments"},
		{"delete", "deletion"}, {"complete", "completion"}, {"execute", "execution"}, {"compress", "compression"}, {"permit", "permissions"}, {"extend", "extension"},
		{"depend", "dependencies"}, {"convert", "conversion"}, {"insert", "insertion"}, {"describe", "description"}, {"reduce", "reduction"}, {"implement", "implementation"},
		{"transform", "transformation"}, {"perform", "performance"}, {"configure", "configuration"}, {"interrupt", "interruption"}, {"extract", "extraction"},
		{"restrict", "restriction"}, {"construct", "construction"}, {"refer", "reference"}, {"recover", "recovery"}, {"decided", "decision"}, {"installed", "installation"},
	} {
		if pair[1] == "" {
			if got := Forms(pair[0]); len(got) > 0 {
				t.Errorf("Forms(%q) = %q, want none", pair[0], got)
			}
			continue
		}
		for _, p := range [][2]string{pair, {pair[1], pair[0]}} {
			if !contains(Forms(p[0]), p[1]) {
				t.Errorf("Forms(%q) = %q, want %q among them", p[0], Forms(p[0]), p[1])
			}
		}
	}
	for _, pair := range [][2]string{{"react", "reaction"}, {"mission", "miss"}, {"product", "production"}, {"version", "vert"}, {"state", "statement"}} {
		if contains(Forms(pair[0]), pair[1]) || contains(Forms(pair[1]), pair[0]) {
			t.Errorf("%q are forms of one word", pair)
		}
	}
	for _, w := range []string{"string", "this", "status", "bus", "red", "thing", "über", "x9s"} {
		for _, f := range Forms(w) {
			if len(f) < 3 {
				t.Errorf("Forms(%q) has %q", w, f)
			}
		}
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
