package pi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// views returns the views of the entries in a text of JSON lines.
func views(t *testing.T, text string) []*session.View {
	t.Helper()
	var all []*session.View
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		problems := adapter.View(New(), adapter.State{}, adapter.Line{Data: []byte(line), Raw: []byte(line), Number: 1, Ended: true},
			func(_ *session.Entry, v *session.View) { all = append(all, v) })
		if len(problems) > 0 {
			t.Fatal(problems)
		}
	}
	return all
}

func TestEdits(t *testing.T) {
	for _, test := range []struct{ name, tool, arguments, want string }{
		{"pi", "edit", `{"path":"a","oldText":"x","newText":"y\n"}`, `a "x" "y\n"`},
		{"pi since 0.60", "edit", `{"path":"a","edits":[{"oldText":"x","newText":"y"},{"oldText":"","newText":"z"}]}`, `a "x" "y" | a "" "z"`},
		{"both forms", "edit", `{"path":"a","edits":[{"oldText":"x","newText":"y"}],"oldText":"v","newText":"w"}`, `a "x" "y" | a "v" "w"`},
		{"edits as a text", "edit", `{"path":"a","edits":"[{\"oldText\":\"x\",\"newText\":\"y\"}]"}`, `a "x" "y"`},
		{"edits with paths", "multi_edit", `{"edits":[{"path":"a","oldText":"x","newText":"y"},{"file_path":"b","old_string":"v","new_string":"w"}]}`, `a "x" "y" | b "v" "w"`},
		{"other names", "str_replace", `{"file_path":"a","old_string":"x","new_string":"y"}`, `a "x" "y"`},
		{"deleted", "edit", `{"path":"a","oldText":"x","newText":""}`, `a "x" ""`},
		{"written", "write", `{"path":"a","content":"x\n"}`, `a "" "x\n" whole`},
		{"written empty", "Write", `{"file_path":"a","content":""}`, `a "" "" whole`},
		{"content of another tool", "send_mail", `{"path":"a","content":"x"}`, ""},
		{"patch", "apply_patch", `{"input":"*** Begin Patch\n*** End Patch"}`, "diff"},
		{"input of another tool", "ask", `{"input":"what now?"}`, ""},
		{"half an edit", "edit", `{"path":"a","oldText":"x"}`, ""},
		{"half an edit in a list", "edit", `{"path":"a","edits":[{"oldText":"x","newText":"y"},{"oldText":"x"}]}`, ""},
		{"numbers", "edit", `{"path":"a","oldText":1,"newText":2}`, ""},
		{"edits are no list", "edit", `{"path":"a","edits":{"oldText":"x","newText":"y"}}`, ""},
		{"edits are no objects", "edit", `{"path":"a","edits":["x"]}`, ""},
		{"edits are broken", "edit", `{"path":"a","edits":"[{\"oldText\":"}`, ""},
		{"no object", "edit", `"path"`, ""},
		{"no path", "write", `{"content":"x"}`, ""},
	} {
		v := views(t, fmt.Sprintf(`{"type":"message","id":"a","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":%q,"arguments":%s}]}}`, test.tool, test.arguments))
		c := v[0].Blocks[0].Call
		var got []string
		for _, e := range c.Edits {
			s := fmt.Sprintf("%s %q %q", e.Path, e.Old, e.New)
			if e.Whole {
				s += " whole"
			}
			got = append(got, s)
		}
		if c.Diff != nil {
			got = append(got, "diff")
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " | ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// The diff of a result leaves its other details, and no text that is none is taken
// for a diff.
func TestRecordedDiff(t *testing.T) {
	for _, test := range []struct{ name, details, diff, rest string }{
		{"pi", `{"diff":"-1 a\n+1 b","patch":"--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n","firstChangedLine":1}`, "-1 a\n+1 b", ""},
		{"with other details", `{"diff":"-1 a\n+1 b","note":"by an extension"}`, "-1 a\n+1 b", "by an extension"},
		{"patch alone", `{"patch":"--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n"}`, "--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n", ""},
		{"prose", `{"diff":"Changed two lines."}`, "", "Changed two lines."},
		{"no text", `{"diff":{"a":"b"}}`, "", "b"},
		{"empty", `{"diff":""}`, "", ""},
		{"none", `null`, "", ""},
	} {
		v := views(t, `{"type":"message","id":"a","message":{"role":"toolResult","toolName":"edit","toolCallId":"c","content":[{"type":"text","text":"Done."}],"details":`+test.details+`}}`)[0]
		rest := ""
		for _, b := range v.Blocks {
			if b.Kind == session.KindDetails {
				rest += string(b.Text)
			}
		}
		if string(v.Diff) != test.diff || rest != test.rest {
			t.Errorf("%s: diff %q and details %q, want %q and %q", test.name, v.Diff, rest, test.diff, test.rest)
		}
	}
}
