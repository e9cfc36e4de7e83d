package ranking

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/adapter/claude"
	"pigrep/adapter/codex"
	"pigrep/adapter/pi"
	"pigrep/index/analysis"
	"pigrep/internal/session"
	"pigrep/lab/must"
	"pigrep/lab/stories"
	"pigrep/query/engine/words"
	"pigrep/query/search"
)

// This file measures the plainest questions: a word that stands in one entry, which must come
// first. The words are chosen at random, always the same words for the same files.

// OpenAll opens the sessions of all agents below the root of the repository and the directory
// fixtures, which may be "". Its index goes to the directory work.
func OpenAll(work, root, fixtures string) (l *Library, err error) {
	defer must.Catch(&err)
	list := must.Get(ReadStories(filepath.Join(root, "testdata", "ranking", "sessions.txt"), filepath.Join(root, "testdata", "ranking", "graded-sessions.txt")))
	made := filepath.Join(work, "sessions")
	must.Do(os.MkdirAll(made, 0o755))
	for i := range list {
		must.Do(os.WriteFile(filepath.Join(made, list[i].Name+".jsonl"), []byte(list[i].Text()), 0o644))
	}
	roots := []adapter.Root{{Path: made, Agent: pi.Name, Origin: "ranking"}}
	add := func(agent string, path ...string) {
		dir := filepath.Join(path...)
		if _, err := os.Stat(dir); err == nil {
			roots = append(roots, adapter.Root{Path: dir, Agent: agent, Origin: "ranking"})
		}
	}
	testdata := filepath.Join(root, "testdata")
	add(pi.Name, testdata, "sessions")
	add(pi.Name, testdata, "realpi", "sessions")
	if fixtures == "" {
		fixtures = testdata
	}
	add(pi.Name, fixtures, "real")
	add(claude.Name, fixtures, "agents", "claude", "projects")
	add(codex.Name, fixtures, "agents", "codex", "sessions")
	return open(work, adapter.NewRegistry(adapter.Environment{Getenv: func(string) string { return "" }}, agents.All()...), roots...)
}

// ArgumentNames are frequent names of arguments, which are words as well.
var ArgumentNames = []string{"timeout", "description", "command", "path", "content", "prompt", "pattern", "limit", "offset"}

// wordKinds are the kinds of parts whose words are looked for.
var wordKinds = []session.Kind{session.KindPrompt, session.KindReply, session.KindResult, session.KindCall, session.KindThinking}

// Tries says how many questions of each sort are asked.
const Tries = 60

// A Rate says how often the only entry with a word was found.
type Rate struct {
	Name               string
	Asked, First, Page int
	Wrong              []string // questions whose entry is not first, or not on the first page if only that is wanted
	onPage             bool     // only the first page is wanted
}

// only is a document with the words that no other document has.
type only struct {
	*stories.Doc
	words []string
}

// only returns the documents with a plain word that no other document has, in the order of
// the files.
func (l *Library) only() (list []only) {
	for i := range l.Corpus.Docs {
		d := &l.Corpus.Docs[i]
		found := only{Doc: d}
		if len(l.in[l.EntryOf(d)]) != 1 || !slices.Contains(wordKinds, d.Kind) {
			continue
		}
		var a analysis.Analyzer
		names := named(d)
		a.Walk([]byte(d.Text), func(t analysis.Token) {
			w := string(t.Term)
			plain := t.Form == analysis.Word && len(w) >= 5 && len(w) <= 16 && !strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || 'z' < r })
			if plain && l.Corpus.DF[w] == 1 && !names[w] && !words.IsFunctionWord(w) && !slices.Contains(found.words, w) {
				found.words = append(found.words, w)
			}
		})
		if len(found.words) > 0 {
			list = append(list, found)
		}
	}
	return list
}

// named returns the terms that a document has only in names of arguments.
func named(d *stories.Doc) map[string]bool {
	in := map[string]int{}
	for _, at := range d.Names {
		var a analysis.Analyzer
		a.Walk([]byte(d.Text[at[0]:at[1]]), func(t analysis.Token) { in[string(t.Term)]++ })
	}
	names := map[string]bool{}
	for w, n := range in {
		names[w] = d.Freq[w] == n
	}
	return names
}

// Words asks for words, pairs of words and misspelt words that stand in one entry.
func (l *Library) Words() (rates []Rate, err error) {
	defer must.Catch(&err)
	r := rand.New(rand.NewPCG(20, 27))
	all := l.only()
	draw := func(from []only) (only, []string) {
		d := from[r.IntN(len(from))]
		some := slices.Clone(d.words)
		r.Shuffle(len(some), func(i, k int) { some[i], some[k] = some[k], some[i] })
		return d, some
	}
	for _, kind := range wordKinds {
		from := slices.DeleteFunc(slices.Clone(all), func(d only) bool { return d.Kind != kind })
		rate := Rate{Name: string(kind)}
		for range min(Tries, len(from)) {
			d, some := draw(from)
			must.Do(l.ask(&rate, some[0], d.Doc))
		}
		rates = append(rates, rate)
	}
	from := slices.DeleteFunc(slices.Clone(all), func(d only) bool { return len(d.words) < 2 })
	rate := Rate{Name: "two words"}
	for range Tries {
		d, some := draw(from)
		must.Do(l.ask(&rate, some[0]+" "+some[1], d.Doc))
	}
	rates = append(rates, rate)
	rate = Rate{Name: "misspelt", onPage: true}
	for rate.Asked < Tries {
		d, some := draw(all)
		if wrong := misspell(r, some[0]); l.Corpus.DF[wrong] == 0 {
			must.Do(l.ask(&rate, wrong, d.Doc))
		}
	}
	return append(rates, rate), nil
}

// misspell makes one typing error behind the first letter of a word.
func misspell(r *rand.Rand, w string) string {
	i := 1 + r.IntN(len(w)-2)
	other := string(rune('a' + r.IntN(26)))
	switch r.IntN(4) {
	case 0:
		return w[:i] + w[i+1:]
	case 1:
		return w[:i] + other + w[i:]
	case 2:
		return w[:i] + other + w[i+1:]
	}
	return w[:i] + w[i+1:i+2] + w[i:i+1] + w[i+2:]
}

func (l *Library) ask(rate *Rate, text string, want *stories.Doc) error {
	a, err := l.search(search.Request{Text: text})
	if err != nil {
		return err
	}
	rate.Asked++
	at := slices.Index(a.Entries, l.EntryOf(want))
	if at == 0 {
		rate.First++
	}
	if at >= 0 {
		rate.Page++
	}
	if at != 0 && !rate.onPage || at < 0 {
		rate.Wrong = append(rate.Wrong, fmt.Sprintf("%s (%s)", text, l.Position(l.EntryOf(want))))
	}
	return nil
}

// Pairs asks for a name of an argument together with another word. It returns how many hits with
// the name only as a name stand above a hit with it in its text, and how often it asked.
func (l *Library) Pairs() (above, asked int, err error) {
	defer must.Catch(&err)
	r := rand.New(rand.NewPCG(20, 28))
	type part struct {
		path       string
		line, part int
	}
	parts := map[part]*stories.Doc{}
	for i := range l.Corpus.Docs {
		d := &l.Corpus.Docs[i]
		parts[part{d.Path, d.Line, d.ID.Part}] = d
	}
	var others []string
	for w, n := range l.Corpus.DF {
		if 10 <= n && n <= 400 && len(w) >= 4 && !words.IsFunctionWord(w) && !strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || 'z' < r }) {
			others = append(others, w)
		}
	}
	slices.Sort(others)
	for asked = 0; asked < 50; asked++ {
		name := ArgumentNames[asked%len(ArgumentNames)]
		resp := must.Get(l.run(search.Request{Text: others[r.IntN(len(others))] + " " + name, Flat: true, Limit: 1000, Any: true}))
		names := 0 // hits by name so far
		for _, h := range resp.Hits {
			d := parts[part{h.SessionPath, h.Line, h.Part}]
			byName := named(d)
			isForm := func(w string) bool { return d.Freq[w] > 0 && !byName[w] }
			switch {
			case byName[name] && !slices.ContainsFunc(words.Forms(name), isForm):
				names++
			case d.Freq[name] > 0:
				above += names
				names = 0
			}
		}
	}
	return above, asked, nil
}

// PrintWords prints the figures of Words and Pairs, and with losers each question that went wrong.
func (l *Library) PrintWords(out io.Writer, losers bool) (err error) {
	defer must.Catch(&err)
	fmt.Fprintf(out, "\n%-10s %4s %8s %8s %8s\n", "one entry", "n", "first", "page", "missing")
	for _, r := range must.Get(l.Words()) {
		fmt.Fprintf(out, "%-10s %4d %8d %8d %8d\n", cmp.Or(map[string]string{"result": "output"}[r.Name], r.Name), r.Asked, r.First, r.Page, r.Asked-r.Page)
		for _, w := range r.Wrong {
			if losers {
				fmt.Fprintf(out, "  %s\n", w)
			}
		}
	}
	above, asked, err := l.Pairs()
	must.Do(err)
	fmt.Fprintf(out, "%d pairs of an argument's name and another word: %d hits by name above one by text\n", asked, above)
	return nil
}
