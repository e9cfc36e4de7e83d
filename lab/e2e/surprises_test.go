package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/index"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/indexer"
	"pigrep/internal/session"
)

// surprises is a session of chat with one of each.
const surprises = `{"room":"attic","dir":"/home/u/attic"}
{"at":1000,"model":"oracle-2","dir":"/home/u/attic/box"}
{"at":1500,"name":"elsewhere only","for":"gone","rank":3}
{"at":2000,"id":"u1","who":"me","says":"count the alpacas"}
{"at":2100,"queued":"then the bears"}
{"at":2200,"queued":"never sent crocodiles"}
{"at":2300,"id":"a1","on":"u1","of":"m1","who":"it","says":"counting dingos","tokens":5,"response":"r1"}
{"at":2400,"id":"a2","on":"a1","of":"m1","call":"c1","cmd":"ls zoo","tokens":9,"response":"r1"}
{"at":2500,"id":"a3","on":"a2","of":"m1","call":"c2","cmd":"sleep 9","tokens":20,"response":"r1"}
{"at":2600,"id":"t1","on":"a2","result":"c1","exit":0,"text":"elephants"}
{"at":2700,"id":"t2","on":"a3","result":"c2","text":"started"}
{"at":2800,"id":"s1","beside":"helper","who":"me","says":"look for ferrets"}
{"at":2900,"id":"s2","on":"s1","beside":"helper","who":"it","says":"no gnus","tokens":3}
{"at":3000,"id":"u2","on":"t2","who":"me","says":"then the bears"}
{"at":3100,"id":"a4","on":"u2","call":"c3","cmd":"poll"}
{"at":3200,"id":"t3","on":"a4","result":"c3","amends":"c2","exit":7,"text":"hyena"}
{"at":3300,"id":"a5","on":"t3","who":"it","says":"seven ibexes"}
{"at":3350,"echo":"seven ibexes"}
{"at":3360,"echo":"jackals appear here alone"}
{"at":3400,"name":"Guessed name","rank":1}
{"at":3500,"name":"Chosen name","rank":2,"for":"u1"}
{"at":3600,"name":"Guessed again","rank":1}
{"at":2000,"id":"u1","who":"me","says":"count the alpacas"}
{"at":2300,"id":"a1","on":"u1","of":"m1","who":"it","says":"counting dingos","tokens":5,"response":"r1"}
{"at":3700,"id":"u3","on":"u2","who":"me","says":"koalas instead"}
{"at":3800,"leaf":"a5"}
{"at":3900,"model":"oracle-3"}
`

// texts of the session, each with the number of documents that have it.
var surprisingWords = map[string]int{
	"alpacas": 1, "bears": 1, "crocodiles": 1, "dingos": 1, "zoo": 1, "elephants": 1, "ferrets": 1, "gnus": 1, "hyena": 1, "ibexes": 1, "jackals": 1, "koalas": 1,
	"guessed": 2, "chosen": 1, "elsewhere": 1,
}

// attic is an index of a session of chat.
type attic struct {
	file string
	opt  indexer.Options
}

func newAttic(t *testing.T, home string) attic {
	known := adapter.NewRegistry(adapter.Environment{
		Home: home, WorkDir: home, Getenv: func(string) string { return "" }, ReadFile: os.ReadFile,
	}, allAgents()...)
	roots, err := known.Roots()
	if err != nil {
		t.Fatal(err)
	}
	a := attic{filepath.Join(home, ".chat", "attic.jsonl"), options(filepath.Join(t.TempDir(), "index"), "")}
	a.opt.Adapter, a.opt.Roots = known.In(roots), roots
	return a
}

func (a *attic) update(t *testing.T) *index.Reader {
	t.Helper()
	res, err := indexer.Update(t.Context(), a.opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Reader.Close() })
	if report, err := indexer.Check(t.Context(), a.opt, true); err != nil || len(report.Findings) > 0 || report.Changed > 0 {
		t.Fatalf("the index is not what the files say: %v %+v", err, report)
	}
	return res.Reader
}

// documents counts those with a word.
func documents(t *testing.T, r *index.Reader, word string) (n int) {
	t.Helper()
	for _, s := range r.Segments() {
		n += int(s.Bitmap(segment.FieldText, []byte(word)).GetCardinality())
	}
	return n
}

// An index that was built line by line equals one built at once, and both say what a person
// would say about the session.
func TestSurprises(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	steps, once := newAttic(t, home), newAttic(t, home)
	var r *index.Reader
	for line := range strings.Lines(surprises) {
		half := len(line) / 2
		appendTo(t, steps.file, line[:half])
		steps.update(t)
		appendTo(t, steps.file, line[half:len(line)-1]) // complete, but for the end of the line
		steps.update(t)
		appendTo(t, steps.file, "\n")
		r = steps.update(t)
	}
	got, want := state(t, r), state(t, once.update(t))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("line by line (-at once +line by line):\n%s", diff)
	}
	for word, want := range surprisingWords {
		if got := documents(t, r, word); got != want {
			t.Errorf("%d documents with %q, want %d", got, word, want)
		}
	}

	s := r.Summaries()[0]
	if s.Agent != "chat.v1" || s.Name != "Chosen name" || s.FirstPrompt != "count the alpacas" || s.UsedTokens != 23 {
		t.Errorf("the session is %+v", s)
	}
	rec, err := r.Record(s.File)
	if err != nil {
		t.Fatal(err)
	}
	tree := rec.Tree()
	var path []string
	for _, i := range tree.Path() {
		path = append(path, fmt.Sprintf("%s/%s", rec.Nodes[i].ID, rec.Contexts.At(i).Model))
	}
	queued := fmt.Sprintf("@%d/oracle-2", strings.Index(surprises, `{"at":2200,`))
	if want := []string{"u1/oracle-2", queued, "a1/oracle-2", "a2/oracle-2", "a3/oracle-2", "t1/oracle-2", "t2/oracle-2", "u2/oracle-2", "a4/oracle-2", "t3/oracle-2", "a5/oracle-2"}; !slices.Equal(path, want) {
		t.Errorf("the branch is %v, want %v", path, want)
	}
	for id, want := range map[string]bool{"t1": true, "s1": false, "u3": false} {
		if i := tree.Find(id); tree.Active(i) != want {
			t.Errorf("%s is active: %t", id, !want)
		}
	}
	if pieces := tree.Pieces(tree.Find("a2")); len(pieces) != 3 {
		t.Errorf("the message has the pieces %v", pieces)
	}

	set, err := r.Facts(t.Context(), record.FactKinds[:]...)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := set.Facts(s.File)
	if err != nil {
		t.Fatal(err)
	}
	if len(facts.Usages) != 2 || facts.Usages[0].Output != 20 || facts.Usages[0].Model != "oracle-2" {
		t.Errorf("usages %+v, want that of the response once, as it was last", facts.Usages)
	}
	for _, c := range facts.Calls {
		want := map[string]int32{"c1": 0, "c2": 7, "c3": session.Unknown}[c.ID] // the last one polls what the second one runs
		if c.Exit != want || c.Failed != (want == 7) || !c.HasResult {
			t.Errorf("call %s ended with %d and failed: %t, want %d", c.ID, c.Exit, c.Failed, want)
		}
	}
	if len(facts.Calls) != 3 {
		t.Errorf("%d calls, want 3", len(facts.Calls))
	}
}

// A long session has its entries and facts in several pieces, of which only the last is read
// to continue. Lines that decide about entries far before must find them.
func TestSurprisesAcrossPieces(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	steps, once := newAttic(t, home), newAttic(t, home)
	var filler strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&filler, `{"at":%d,"id":"f%d","on":"f%d","who":"it","says":"filler","tokens":1,"response":"f%d"}`+"\n", 5000+i, i, i-1, i)
	}
	lines := strings.SplitAfter(surprises, "\n")
	appendTo(t, steps.file, strings.Join(lines[:13], "")+filler.String())
	steps.update(t)
	for _, line := range lines[13:] {
		appendTo(t, steps.file, line)
		steps.update(t)
	}
	if diff := cmp.Diff(state(t, once.update(t)), state(t, steps.update(t))); diff != "" {
		t.Errorf("in steps (-at once +in steps):\n%s", diff)
	}
}

// revised is chat, read differently.
type revised struct{ chat }

func (revised) Revision() int { return 1 }

// A directory may have sessions of several agents. A new revision of the parser of one reads
// its files again, and no others.
func TestMixedDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	appendTo(t, filepath.Join(dir, "sessions", "attic.jsonl"), surprises)
	appendTo(t, filepath.Join(dir, "pi", "app.jsonl"), piHeader+piPrompt)
	appendTo(t, filepath.Join(dir, "other.jsonl"), `{"neither":"nor"}`+"\n")
	appendTo(t, filepath.Join(dir, "empty.jsonl"), "")
	opt := options(filepath.Join(t.TempDir(), "index"), dir)
	read := func(list ...adapter.Agent) (agentsOf []string, changes map[indexer.Change]int) {
		t.Helper()
		opt.Adapter = adapter.NewRegistry(adapter.Environment{}, list...).In(opt.Roots)
		res, err := indexer.Update(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Reader.Close()
		for _, s := range res.Reader.Summaries() {
			name, err := filepath.Rel(dir, s.Path)
			if err != nil {
				t.Fatal(err)
			}
			agentsOf = append(agentsOf, filepath.ToSlash(name)+" "+s.Agent)
		}
		return agentsOf, res.Changes
	}
	pi := agents.All()[0].Name()
	want := []string{"empty.jsonl " + pi, "other.jsonl " + pi, "pi/app.jsonl " + pi, "sessions/attic.jsonl chat.v1"}
	got, _ := read(allAgents()...)
	if !slices.Equal(got, want) {
		t.Errorf("agents %v, want %v", got, want)
	}
	got, changes := read(append(agents.All(), revised{})...)
	if !slices.Equal(got, want) || changes[indexer.Rewritten] != 1 || changes[indexer.Unchanged]+changes[indexer.Touched] != 3 {
		t.Errorf("after a revision of chat: %v, changes %v", got, changes)
	}
	if _, changes := read(append(agents.All(), revised{})...); changes[indexer.Unchanged]+changes[indexer.Touched] != 4 { // they are young: their bytes may be compared
		t.Errorf("afterwards: changes %v", changes)
	}
}
