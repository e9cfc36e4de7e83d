package search

import (
	"fmt"
	"strings"
	"testing"

	"pigrep/query/engine/rank"
)

// monks returns sessions that have a word in four ways, the one with it as typed the oldest and the longest.
func monks(t *testing.T) *library {
	filler := strings.Repeat("some words about nothing in particular ", 350)
	list := []story{{Name: "typed", Start: day, Entries: []turn{prompt(filler + "the patterned monastery " + filler).Named("typed")}}}
	for i := range 38 {
		s := story{Name: fmt.Sprintf("s%d", i), Start: day.AddDate(0, 0, i+1)}
		s.Entries = append(s.Entries, prompt(fmt.Sprintf("monsters pattern number%d", i)).Named(fmt.Sprintf("loose%d", i)))
		list = append(list, s)
	}
	return newLibrary(t, list...)
}

// A word as typed comes before other forms of it, however short their texts are, and in a list of any
// length. Similar spellings of a word that occurs are folded.
func TestTheWordAsTypedComesFirst(t *testing.T) {
	l := monks(t)
	for _, c := range []struct {
		text                   string
		total, similar, folded int
	}{
		{"monastery", 1, 38, 38},
		{"MONASTERY", 1, 38, 38},
		{"patterned", 39, 0, 0},
		{"monastery pattern", 1, 38, 38},
		{"+monastery", 1, 0, 0},
		{"monsters", 38, 0, 0},
		{"monsterz", 38, 0, 0}, // it occurs nowhere: nothing is tighter
	} {
		for _, req := range []Request{{}, {Flat: true}, {Flat: true, Limit: 1000}, {Any: true}, {Flat: true, Any: true, Limit: 1000}} {
			req.Text = c.text
			resp := l.search(req)
			folded := c.folded
			if req.Any {
				folded = 0
			}
			if resp.Total != c.total || resp.Similar != c.similar || resp.Folded != folded {
				t.Errorf("%q, %+v: %d hits, %d with similar spelling, %d folded; want %d, %d and %d", c.text, req, resp.Total, resp.Similar, resp.Folded, c.total, c.similar, folded)
			}
			if first := resp.Hits[0]; !strings.Contains(c.text, "monster") && first.EntryID != "typed" {
				t.Errorf("%q, %+v: %s comes first", c.text, req, first.EntryID)
			}
			for _, h := range resp.Hits {
				if similar := len(h.Similar) > 0; similar != h.Loose || similar && (!strings.EqualFold(h.Similar[0], "monastery") || h.Tier != TierFuzzy) {
					t.Errorf("%q: %s of tier %s has %q in a similar spelling, looser is %v", c.text, h.EntryID, h.Tier, h.Similar, h.Loose)
				}
			}
		}
	}
}

// The name of an argument is the loosest way in which a call has a word. Values are text.
func TestNamesOfArguments(t *testing.T) {
	l := newLibrary(t, story{Name: "tests", Start: day, Entries: []turn{
		prompt("run the tests").Named("prompt"),
		called("bash", map[string]any{"command": "make test", "timeout": 60}).Named("call"),
		reply("The second test ends with a timeout after two minutes").Named("reply"),
		called("write", map[string]any{"path": "a.yaml", "content": "retries: 3\ndeadline: 5", "options": map[string]any{"maxRetries": 2}}).Named("write"),
		called("bash", map[string]any{"command": "sleep 1 --timeout 5", "timeout": 60}).Named("both"),
	}})
	for _, c := range []struct {
		text string
		any  bool
		want string // entries and the tiers that differ from exact, in order
	}{
		{"test timeout", false, "reply prompt:forms both"},
		{"test timeout", true, "reply prompt:forms both call:name"},
		{"timeout", false, "both reply"},
		{"timeout", true, "both reply call:name"},
		{"timeouts", true, "both:forms reply:forms call:name"},
		{"+timeout test", true, "reply both"},
		{"deadline", false, "write"},
		{"retries", false, "write"},
		{"options", false, "write:name"}, // it occurs nowhere else
		{"maxRetries", false, "write:name"},
		{"test !timeout", false, "call prompt:forms"},
		{`"timeout"`, false, "both reply call"}, // a phrase is found in names too
	} {
		var have []string
		resp := l.search(Request{Text: c.text, Any: c.any, Flat: true})
		for _, h := range resp.Hits {
			at := h.EntryID
			if h.Tier != TierExact {
				at += ":" + string(h.Tier)
			}
			have = append(have, at)
		}
		if got := strings.Join(have, " "); got != c.want {
			t.Errorf("%q, any %v: %s, want %s", c.text, c.any, got, c.want)
		}
	}
	if resp := l.search(Request{Text: "timeout"}); resp.Total != 2 || resp.Named != 1 || resp.Folded != 1 || Apart(resp.Counts()) != "1 only as the name of an argument" {
		t.Errorf("timeout: %+v", resp.Counts())
	}
}

// The name of an argument is the loosest way of a compound too, in any spelling and in any list. If no
// text has the compound, the names are the hits.
func TestCompoundsThatNameArguments(t *testing.T) {
	for _, name := range []string{"oldText", "old_text", "tool_calls", "filePath", "file_path", "old-string", "Content-Type", "旧text", "oldText文", "文件路径", "a.limit"} {
		call := func(value any) turn {
			return called("edit", map[string]any{name: value, "other": "old text, string: file path, content type, tool calls, a limit"})
		}
		list := []turn{prompt("change the harbour"), reply("We change " + name + " there").Named("text"), reply("参数" + name + "的值").Named("beside")}
		for i := range 6 {
			list = append(list, call(fmt.Sprintf("harbour %d", i)).Named(fmt.Sprintf("name%d", i)))
		}
		both := call("as " + name + " is").Named("both")
		l := newLibrary(t, story{Name: "edits", Start: day, Entries: append(list, both)})
		for _, req := range []Request{{}, {Flat: true}, {Any: true}, {Flat: true, Any: true}, {Flat: true, Any: true, Limit: 1000}, {Flat: true, Limit: rank.All}} {
			for text, want := range map[string]int{name: 3, name + " change": 1, "change " + name: 1, name + " harbour": 0} {
				req.Text = text
				resp, byName, loose := l.search(req), 0, false
				for _, h := range resp.Hits {
					switch named := strings.HasPrefix(h.EntryID, "name"); {
					case named != (h.Tier == TierName) || named && (!h.Loose || len(h.Named) != 1 || h.Named[0] != name || len(h.Parts) > 0):
						t.Errorf("%q, %+v: %s has tier %s, is looser: %v, lacks %+v", text, req, h.EntryID, h.Tier, h.Loose, h.Lacks)
					case named:
						byName++
					}
					if loose = loose || h.Tier == TierName; loose && h.Tier != TierName && want > 1 {
						t.Errorf("%q, %+v: %s comes after a name", text, req, h.EntryID)
					}
				}
				all := req.Any || req.Limit == rank.All || want == 0
				if resp.Total != want || resp.Named != 6 || (byName == 0) == all || all && req.Flat && byName != 6 {
					t.Errorf("%q, %+v: %d hits, %d by name, %d of them listed; want %d hits and 6 by name", text, req, resp.Total, resp.Named, byName, want)
				}
			}
		}
		if resp := l.search(Request{Text: name}); Apart(resp.Counts()) != "6 only as the name of an argument" {
			t.Errorf("%q: %+v", name, resp.Counts())
		}
		if resp := l.search(Request{Text: `"` + name + `"`}); resp.Total != 9 || resp.Named != 0 {
			t.Errorf("the phrase %q: %+v", name, resp.Counts())
		}
		l = newLibrary(t, story{Name: "names", Start: day, Entries: []turn{prompt("change the harbour"), call("harbour").Named("name")}})
		resp := l.search(Request{Text: name})
		if resp.Total != 1 || resp.Hits[0].EntryID != "name" || resp.Hits[0].Tier != TierName || resp.Hits[0].Loose {
			t.Errorf("%q, only as a name: %+v", name, resp.Counts())
		}
	}
	l := newLibrary(t, story{Name: "parts", Start: day, Entries: []turn{called("edit", map[string]any{"old": "a string", "content": "string"}).Named("parts")}})
	if h := l.search(Request{Text: "old-string"}).Hits[0]; h.Tier != TierParts || len(h.Named) > 0 || len(h.Parts) != 1 {
		t.Errorf("one part is a name, and the other one text: tier %s, %+v", h.Tier, h.Lacks)
	}
}

// Looser hits are folded only behind the last hit with every word, and no session is that ranks among
// those that are listed.
func TestWhatWouldBeFirstIsNotFolded(t *testing.T) {
	const question = "tool detect duplicate snippets code"
	filler := func(n int) string { return strings.Repeat("various other things that were said ", n) }
	list := []story{{Name: "best", Start: day, Entries: []turn{prompt("detect duplicate snippets tool").Named("best"), prompt("detect duplicate snippets").Named("second")}}}
	for i := range 6 {
		text := fmt.Sprintf("log %d: tool ", i) + filler(90) + " detect " + filler(90) + "duplicate " + filler(90) + " snippets code"
		list = append(list, story{Name: fmt.Sprintf("dump%d", i), Start: day, Entries: []turn{result("bash", text, false).Named(fmt.Sprintf("dump%d", i))}})
	}
	for i := range 60 {
		list = append(list, story{Name: fmt.Sprintf("other%d", i), Start: day, Entries: []turn{reply(fmt.Sprintf("%s %d ", strings.Fields(question)[i%5], i) + filler(300)).Named(fmt.Sprintf("other%d", i))}})
	}
	l := newLibrary(t, list...)
	for _, req := range []Request{{}, {Flat: true}, {Flat: true, Limit: 500}, {Limit: 100}} {
		req.Text = question
		resp := l.search(req)
		req.Any = true
		all := l.search(req)
		if resp.Hits[0].EntryID != "best" || resp.Total != 6 || resp.Folded == 0 || resp.Folded >= resp.Looser() {
			t.Errorf("flat %v, %d: %s is first of %d hits, %d of %d looser ones folded", req.Flat, req.Limit, resp.Hits[0].EntryID, resp.Total, resp.Folded, resp.Looser())
		}
		for i, h := range resp.Hits {
			if all.Hits[i].EntryID != h.EntryID {
				t.Errorf("%+v: hit %d is %s, with all listed %s", req, i, h.EntryID, all.Hits[i].EntryID)
			}
		}
		listed := resp.Total
		for _, h := range resp.Hits {
			if h.Loose {
				listed++
			}
		}
		if n := resp.Counts(); n.Listed != listed && len(resp.Hits) < 20 {
			t.Errorf("%+v: %d are listed, and said to be %d", req, listed, n.Listed)
		}
	}
	if resp := l.search(Request{Text: question, Sort: rank.Newest}); resp.Looser() != resp.Folded {
		t.Errorf("by time, %d of %d looser ones are folded", resp.Folded, resp.Looser())
	}
}

// A word that occurs nowhere is said to, also if there are entries with its pieces.
func TestAWordWithPiecesOccursNowhere(t *testing.T) {
	list := story{Name: "watch", Start: day}
	for i := range 6 {
		list.Entries = append(list.Entries, prompt(fmt.Sprintf("watch the word %d", i)).Named(fmt.Sprintf("e%d", i)), reply(fmt.Sprintf("a telegram number %d", i)))
	}
	l := newLibrary(t, list)
	for text, want := range map[string]string{
		"watchword":          "watchword does not occur as written; 6 entries have all its parts",
		"telegram watchword": "watchword does not occur as written; 6 entries have all its parts; telegram has 6 hits in 1 session; no entry has both",
	} {
		resp := l.search(Request{Text: text})
		if said := ExplainWords(resp.Words, resp.Removed, "", Without); said != want || resp.Total != 0 || resp.TotalAny == 0 {
			t.Errorf("%s: %q, %d hits; want %q", text, said, resp.Total, want)
		}
		for _, h := range resp.Hits {
			if h.Tier == TierParts && (len(h.Parts) != 1 || h.Parts[0] != "watchword") {
				t.Errorf("%s: %s has the parts of %q", text, h.EntryID, h.Parts)
			}
		}
	}
}

// A verb meets its noun, and a British spelling the American one, below the word itself.
func TestAVerbMeetsItsNoun(t *testing.T) {
	for typed, other := range map[string]string{
		"duplicate": "duplication", "duplicates": "duplication", "duplication": "duplicated", "migrate": "migration", "migrating": "migrations", "verify": "verification",
		"colour": "color", "colors": "colours", "normalize": "normalisation", "analyse": "analysis", "decide": "decision", "deploy": "deployment", "fails": "failure", "failure": "fail", "configuration": "configured", "describe": "descriptions", "install": "installation", "centre": "center",
	} {
		l := newLibrary(t,
			story{Name: "typed", Start: day, Entries: []turn{prompt(strings.Repeat("words about this ", 40) + typed).Named("typed")}},
			story{Name: "other", Start: day, Entries: []turn{prompt(other + " of it").Named("other")}})
		if got := strings.Join(l.flat(typed), " "); got != "typed other" {
			t.Errorf("%s: %s, want itself, then %s", typed, got, other)
		}
	}
}
