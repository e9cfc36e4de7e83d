//go:build linux

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/lab/corpus"
	"pigrep/lab/must"
)

// measure fills the rows of a generated corpus.
func (b *suite) measure(t *tree) {
	f := b.fts5(t)
	defer f.remove()
	b.indexing(t, f)
	b.queries(t, f)
	b.greps(t)
	for _, command := range []string{"tools", "tools commands", "usage"} { // no peer has these
		b.timed(t, command, b.runs, t.atLarge("≤ 20 ms"), func() cost { return b.program(t, command, "--json") })
	}
	b.server(t)
	b.unchanged(t, "")
	b.appended(t, 1, t.atLarge("≤ 15 ms, ≤ 1.25"))
	b.appended(t, min(20, len(t.files)), t.atLarge("≤ 25 ms"))
	b.crowd(t)
	b.sessions(t, "")
}

// built is a first index.
type built struct {
	cost
	disk int64
}

func (b *suite) indexing(t *tree, f *fts5) {
	law := corpus.HeapsK * math.Pow(float64(t.size)/1e6, corpus.HeapsBeta)
	b.add(rowOf(t, "distinct terms", fmt.Sprint(t.Terms), "").against("Heaps' law of real sessions", fmt.Sprintf("%.0f", law), float64(t.Terms)/law))

	var peers []peer
	if f != nil {
		peers = append(peers, peer{"FTS5", f.load})
	}
	got := turns(b.slow(), func() cost { return b.firstIndex(t) }, peers...)
	sides := []built{{got[0], diskUse(t.index)}}
	if f != nil {
		sides = append(sides, built{got[1], f.loaded()})
	}
	t.first, t.peak = got[0].wall, got[0].rss
	megabytes := float64(t.size) / 1e6
	for _, r := range []struct {
		what, wanted string
		text         func(built) string
		number       func(built) float64
	}{
		{"first index", "≥ 100 MB/s, ≤ 0.36",
			func(s built) string { return fmt.Sprintf("%s, %.0f MB/s", s.times(), megabytes/s.wall.Seconds()) },
			func(s built) float64 { return s.wall.Seconds() }},
		{"first index, CPU per MB", "≤ 20 ms",
			func(s built) string { return fmt.Sprintf("%.1f ms", s.cpu.Seconds()*1000/megabytes) },
			func(s built) float64 { return s.cpu.Seconds() }},
		{"first index, peak memory", "≤ 450 MB",
			func(s built) string { return mb(s.rss) },
			func(s built) float64 { return float64(s.rss) }},
		{"index size", "≤ 0.40 of the files",
			func(s built) string { return fmt.Sprintf("%s, %.2f of the files", mb(s.disk), ratio(s.disk, t.size)) },
			func(s built) float64 { return float64(s.disk) }},
	} {
		row := rowOf(t, r.what, r.text(sides[0]), t.atLarge(r.wanted))
		if f != nil {
			row = row.against("FTS5", r.text(sides[1]), r.number(sides[0])/r.number(sides[1]))
		}
		b.add(row)
	}
	// The first search would start this in the background, where it would disturb the others.
	b.timed(t, "merging after the first index", 1, "", func() cost { return b.program(t, "index", "--merge", "--quiet") })
}

// queries measures searches, each against ripgrep looking for its first word, and
// against FTS5 where that can answer the question.
func (b *suite) queries(t *tree, f *fts5) {
	peak := int64(0)
	for _, q := range []struct {
		name    string
		queries []string // in turn
		runs    int
		rg, fts bool // these can answer it
		wanted  string
	}{
		{"rare word", t.Rare, b.runs, true, true, "≤ 0.10 of rg"},
		{"3 words", []string{"connection timeout retry"}, b.runs, true, true, "≤ 0.14 of rg"},
		{"5 words", []string{"config token login refresh error"}, b.runs, true, true, "≤ 0.17 of rg"},
		{"identifier", t.Identifiers, b.runs, true, false, "≤ 0.15 of rg"},
		{"prefix of 4 letters", []string{"conn*"}, b.runs, true, true, "≤ 0.15 of rg"},
		{"prefix of 1 letter", []string{"c*"}, b.slow(), false, true, ""},
	} {
		turn := -1
		words := func() []string { return strings.Fields(q.queries[turn%len(q.queries)]) }
		var peers []peer
		if q.rg {
			peers = b.ripgrep(t, func() []string { return []string{"-c", "-F", strings.TrimSuffix(words()[0], "*")} })
		}
		if q.fts && f != nil {
			peers = append(peers, peer{"FTS5", func() cost { return f.search(words()) }})
		}
		for _, text := range q.queries {
			b.found(t, text)
			if q.fts && f != nil {
				f.found(strings.Fields(text))
			}
		}
		what := "query: " + q.name
		got := b.timed(t, what, q.runs, t.atLarge(q.wanted), func() cost {
			turn++
			return b.program(t, "search", append([]string{"--json"}, words()...)...)
		}, peers...)
		peak = max(peak, got[0].rss)
		t.took = append(t.took, timing{what, got[0].wall})
		if q.name == "rare word" && len(peers) > 0 && peers[0].name == "rg" {
			b.add(rowOf(t, "first index, as searches of rg", fmt.Sprintf("%.0f", ratio(t.first, got[1].wall)), ""))
		}
	}
	b.add(rowOf(t, "query: peak memory", mb(peak), ""))
}

// timing is a row that every size has.
type timing struct {
	what string
	took time.Duration
}

// growth compares each size with the smallest.
func (b *suite) growth(trees []*tree) {
	first := trees[0]
	section := &tree{name: "Growth from " + first.name}
	for _, t := range trees[1:] {
		wanted := ""
		if first.mb == 50 && t.mb == 1024 {
			wanted = "≤ 1.35"
		}
		if t.mb == 8192 {
			first, wanted = trees[slices.IndexFunc(trees, func(t *tree) bool { return t.mb >= large })], "≤ 3"
		}
		for i, at := range t.took {
			goal := wanted
			if at.what == "query: prefix of 1 letter" {
				goal = ""
			}
			b.add(rowOf(section, at.what+", "+t.name, ms(at.took), goal).against(first.name, ms(first.took[i].took), ratio(at.took, first.took[i].took)))
		}
		b.add(rowOf(section, "first index, peak memory, "+t.name, mb(t.peak), "").against(first.name, mb(first.peak), ratio(t.peak, first.peak)))
	}
}

// measureLongLine indexes a corpus that has one line of 200 MB.
func (b *suite) measureLongLine(megabytes int) {
	t := b.tree(fmt.Sprintf("%d MB and a line of 200 MB", megabytes), "long-line", func(dir string) {
		b.run(b.generator, "-mb", fmt.Sprint(megabytes), "-long-line", "200000000", dir)
	})
	b.add(rowOf(t, "first index, peak memory", mb(b.firstIndex(t).rss), ""))
}

// agents measures the sessions of other agents, and of three agents together, in turns with as
// many bytes of pi's.
func (b *suite) agents(pi *tree) {
	size := strconv.Itoa(pi.mb)
	for _, kind := range []struct {
		name  string
		parts []string // agents that write a part each
	}{
		{"Claude Code", []string{"claude"}}, {"Codex", []string{"codex"}}, {"three agents", []string{"pi", "claude", "codex"}},
	} {
		t := b.tree(pi.name+" of "+kind.name, strings.Join(kind.parts, "-")+"-"+size, func(dir string) {
			for i, agent := range kind.parts { // with texts of their own: no search takes one for a copy of another
				b.run(b.generator, "-mb", strconv.Itoa(pi.mb/len(kind.parts)), "-seed", strconv.Itoa(corpusSeed+i), "-agent", agent, filepath.Join(dir, agent))
			}
		})
		against := func(what string, n int, wanted string, run func(t *tree) cost) {
			got := turns(n, func() cost { return run(t) }, peer{"pi", func() cost { return run(pi) }})
			cpu := func(of *tree, c cost) float64 { return c.cpu.Seconds() / (float64(of.size) / 1e6) }
			b.add(rowOf(t, what, got[0].times(), wanted).against("pi", got[1].times(), cpu(t, got[0])/cpu(pi, got[1])))
		}
		against("first index, CPU per MB", b.slow(), "≤ 1.25", b.firstIndex)
		for _, tree := range []*tree{t, pi} {
			b.program(tree, "index", "--merge", "--quiet")
		}
		against("query: 3 words, CPU per MB", b.runs, "", func(t *tree) cost { return b.program(t, "search", "--json", "connection", "timeout", "retry") })
		against("index: nothing new, CPU per MB", b.runs, "", b.index)
	}
}

// measureSmallFiles looks at what costs by the file.
func (b *suite) measureSmallFiles() {
	t := b.smallFiles(10_000)
	b.index(t)
	b.unchanged(t, "")
	b.sessions(t, "≤ 30 ms")
	b.appended(t, 1, "≤ 45 ms")
	t = b.smallFiles(100_000)
	b.index(t)
	b.unchanged(t, "≤ 250 ms")
}

// tick is longer than a step of a file system's clock: files that are younger are
// compared byte by byte.
const tick = 20 * time.Millisecond

// unchanged measures how long it takes to see that nothing changed.
func (b *suite) unchanged(t *tree, wanted string) {
	b.timed(t, fmt.Sprintf("nothing changed, %d files", len(t.files)), b.runs, wanted, func() cost { return b.index(t) })
}

// appended appends a line to each of the first n files and searches for it, then
// searches for it again once it is indexed. Afterwards the files are as they were.
func (b *suite) appended(t *tree, n int, wanted string) {
	files := t.files[:n]
	defer b.restorer(t, files)()
	count := 0
	var word string
	search := func() cost { return b.program(t, "search", "--json", word) }
	b.timed(t, fmt.Sprintf("a line added to %d of %d files, then found", n, len(t.files)), b.runs, wanted, func() cost {
		count++
		word = fmt.Sprintf("appended%dx%d", n, count)
		must.Do(appendEntries(files, word))
		time.Sleep(tick)
		took := search()
		if count == 1 {
			b.found(t, word)
		}
		return took
	}, peer{"nothing new", func() cost {
		b.index(t)
		return search()
	}})
}

// restorer returns a function that cuts off what was appended to files, and indexes
// them, so that the next row does not pay for it.
func (b *suite) restorer(t *tree, files []string) func() {
	sizes := make([]int64, len(files))
	for i, f := range files {
		sizes[i] = must.Get(os.Stat(f)).Size()
	}
	return func() {
		for i, f := range files {
			must.Do(os.Truncate(f, sizes[i]))
		}
		b.index(t)
	}
}

func appendEntries(files []string, word string) error {
	for _, path := range files {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(f, `{"type":"message","id":"ffffffff","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":%q}}`+"\n", word)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// crowd measures the slowest searches while another process adds lines and publishes
// them all the time, in turns with those on a quiet machine.
func (b *suite) crowd(t *tree) {
	files := t.files[:1]
	defer b.restorer(t, files)()
	var alone, beside []time.Duration
	published := 0
	for range 5 {
		alone = append(alone, b.searches(t)...)
		var (
			writer sync.WaitGroup
			stop   = make(chan struct{})
			failed error
		)
		writer.Go(func() {
			defer must.Catch(&failed)
			for {
				select {
				case <-stop:
					return
				default:
				}
				must.Do(appendEntries(files, fmt.Sprintf("crowd%d", published)))
				b.index(t)
				published++
			}
		})
		beside = append(beside, b.searches(t)...)
		close(stop)
		writer.Wait()
		must.Do(failed)
	}
	quiet, busy := percentile(alone, 95), percentile(beside, 95)
	b.add(rowOf(t, "query: rare word, p95 beside a writer", fmt.Sprintf("%s, %d generations", ms(busy), published), t.atLarge("≤ 1.25")).
		against("alone", ms(quiet), ratio(busy, quiet)))
}

// searches returns the times of a fifth of the searches of crowd.
func (b *suite) searches(t *tree) (times []time.Duration) {
	for range 2 * b.runs {
		times = append(times, b.program(t, "search", "--json", "--no-update", t.Rare[len(t.Rare)/2]).wall)
	}
	return times
}

const (
	corpusSeed = 1

	// agentCalls is how many calls of a running server are measured.
	agentCalls = 1000
)

// An agent calls a running MCP server and notes how long each call takes.
type agent struct {
	client      *mcp.ClientSession
	rng         *rand.Rand
	pairs       [][2]string // words of the session files, side by side in a text
	identifiers []string    // of the session files, in camel case
	hit         string      // of the last search, as read_session takes it
	took        map[string][]time.Duration
}

// server measures calls of `pigrep mcp` as agents mix them. Their words are drawn from
// the session files, so that most are new to the server.
func (b *suite) server(t *tree) {
	a := &agent{rng: rand.New(rand.NewPCG(corpusSeed, 1)), took: map[string][]time.Duration{}}
	a.readWords(t, agentCalls)
	server := &mcp.CommandTransport{Command: exec.Command(b.pigrep, t.command("mcp")...)}
	a.client = must.Get(mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).Connect(context.Background(), server, nil))
	defer a.client.Close()
	for n := range agentCalls {
		a.mixed(n)
	}
	var all, phrases []time.Duration
	var tools []string
	for _, name := range slices.Sorted(maps.Keys(a.took)) {
		times := a.took[name]
		all = append(all, times...)
		if strings.HasPrefix(name, "phrase") {
			phrases = append(phrases, times...)
		}
		tools = append(tools, fmt.Sprintf("%s %s", name, ms(percentile(times, 95))))
	}
	b.add(rowOf(t, "MCP: 1,000 mixed calls, p95", fmt.Sprintf("%s, median %s", ms(percentile(all, 95)), ms(percentile(all, 50))), t.atLarge("≤ 40 ms")))
	b.add(rowOf(t, "MCP: p95 of each kind of call", strings.Join(tools, ", "), ""))
	b.add(rowOf(t, "MCP: phrase", ms(percentile(phrases, 50)), t.atLarge("≤ 30 ms")))
	b.add(rowOf(t, "MCP: identifier", ms(percentile(a.took["identifier"], 50)), t.atLarge("≤ 30 ms")))
}

// readWords reads n pairs of words and n identifiers at random places of the session files.
func (a *agent) readWords(t *tree, n int) {
	pair := regexp.MustCompile(` ([a-z]{4,12}) ([a-z]{4,12}) `)
	identifier := regexp.MustCompile(`[ .(]([a-z]{2,12}[A-Z][a-z]{2,12})[ .(]`)
	chunk := make([]byte, 64<<10)
	for len(a.pairs) < n || len(a.identifiers) < n {
		f := must.Get(os.Open(t.files[a.rng.IntN(len(t.files))]))
		got, _ := f.ReadAt(chunk, a.rng.Int64N(must.Get(f.Stat()).Size())) // the end of the file is no error
		f.Close()
		if m := pair.FindSubmatch(chunk[:got]); m != nil {
			a.pairs = append(a.pairs, [2]string{string(m[1]), string(m[2])})
		}
		if m := identifier.FindSubmatch(chunk[:got]); m != nil {
			a.identifiers = append(a.identifiers, string(m[1]))
		}
	}
}

// calls are what an agent calls in turn: a name of ours, a tool, and its arguments. $x and $y are
// words that stand side by side in a text, $z is one of another text, $id an identifier, and $hit
// the first hit of the last search.
var calls = strings.Split(strings.TrimSpace(callList), "\n")

//go:embed calls.txt
var callList string

// mixed makes the call number n.
func (a *agent) mixed(n int) {
	pair := a.pairs[n]
	values := map[string]string{
		"x": pair[0], "y": pair[1], "z": a.pairs[(n+1)%len(a.pairs)][0],
		"piece": pair[0][1:], "id": a.identifiers[n], "hit": a.hit,
	}
	row := calls[n%len(calls)]
	if a.hit == "" && strings.Contains(row, "$hit") {
		row = calls[0]
	}
	part := strings.SplitN(row, ";", 3)
	name, tool := part[0], strings.TrimSpace(part[1])
	arguments := os.Expand(part[2], func(name string) string { return values[name] })

	start := time.Now()
	r, err := a.client.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	a.took[name] = append(a.took[name], time.Since(start))
	must.Do(err)
	if r.IsError {
		must.Fail("%s %s: %s", tool, arguments, must.Get(json.Marshal(r.Content)))
	}
	if tool == "search" {
		a.hit = hitOf(r)
	}
}

// hitOf names the first hit of a search, or nothing if there is none.
func hitOf(r *mcp.CallToolResult) string {
	var answer struct {
		Sessions []struct {
			Session string
			Hits    []struct{ Entry string }
		}
	}
	must.Do(json.Unmarshal(must.Get(json.Marshal(r.StructuredContent)), &answer))
	if len(answer.Sessions) == 0 || len(answer.Sessions[0].Hits) == 0 {
		return ""
	}
	return answer.Sessions[0].Session + ":" + answer.Sessions[0].Hits[0].Entry
}
