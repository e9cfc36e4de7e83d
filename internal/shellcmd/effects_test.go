package shellcmd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEffects(t *testing.T) {
	for command, want := range map[string][]Effect{
		"cat > a.go <<'EOF'\npackage a\n$x\nEOF":          {{Path: "/p/a.go", Text: "package a\n$x\n"}},
		"cd sub && cat <<EOF >> a.go\nmore\nEOF\ngo test": {{Path: "/p/sub/a.go", Text: "more\n", Append: true}},
		"tee -a x/y.md >/dev/null <<'E'\ntext\nE":         {{Path: "/p/x/y.md", Text: "text\n", Append: true}},
		"git apply <<'E'\n--- a/x\n+++ b/x\nE":            {{Text: "--- a/x\n+++ b/x\n", Patch: true}},
		"git mv a.go b.go && mv c d/":                     {{Path: "/p/b.go", From: "/p/a.go"}, {Path: "/p/d/c", From: "/p/c"}},
		"mv /p/old /q/new":                                {{Path: "/q/new", From: "/p/old"}},
		`sed -i 's/a\.b/c/g; s|x|y|' f g`:                 {{Path: "/p/f", Swaps: []Swap{{"a.b", "c", true}, {"x", "y", false}}}, {Path: "/p/g", Swaps: []Swap{{"a.b", "c", true}, {"x", "y", false}}}},
		`sed -i -e 's#a/b#c#' f`:                          {{Path: "/p/f", Swaps: []Swap{{"a/b", "c", false}}}},
		`sed -i.bak 's/a*/b/' f`:                          {},
		`sed -i 's/\(a\)/\1/' f`:                          {},
		`sed 's/a/b/' f`:                                  {},
		"python3 - <<'E' > out\nprint(1)\nE":              {},
		"cat a > b":                                       {},
		"grep x f":                                        {},
	} {
		if diff := cmp.Diff(want, Effects(command, "/p")); diff != "" {
			t.Errorf("Effects(%q) (-want +got):\n%s", command, diff)
		}
	}
}
