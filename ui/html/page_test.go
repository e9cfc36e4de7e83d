package html

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter/pi"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/search"
	"pigrep/ui/highlight"
	"pigrep/ui/show"
)

var update = flag.Bool("update", false, "write the golden files again")

// The looks of code do not depend on how busy the machine is.
func init() { highlight.MaxTime = time.Hour }

// zone is two hours east of UTC.
var zone = time.FixedZone("TST", 2*60*60)

// pageOf is the page of a session file with these lines, with its branches.
func pageOf(t *testing.T, path, data string) *Page {
	t.Helper()
	rec, err := entry.ReadRecord(pi.New(), path, strings.NewReader(data), time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	c := entry.NewConversation(pi.New(), rec, strings.NewReader(data))
	none := func(*session.Summary) (string, []string) { return "", nil }
	return &Page{
		Session: show.SessionFacts{SessionHit: search.Describe(&rec.Summary, none)}, Conversation: c, Steps: c.Steps(),
		Images: true, Home: "/home/u", Zone: zone,
	}
}

func render(t *testing.T, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// header is the header of a session, and message, reply and result are entries of it.
const header = `{"type":"session","version":3,"id":"s","timestamp":"2026-03-17T09:00:00.000Z","cwd":"/home/u/src/app"}` + "\n"

func line(id, parent, more string) string {
	return `{"type":"message","id":"` + id + `","parentId":"` + parent + `","timestamp":"2026-03-17T09:00:01.000Z","message":{` + more + `}}` + "\n"
}

func quote(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func prompt(id, parent, text string) string {
	return line(id, parent, `"role":"user","content":`+quote(text))
}

func reply(id, parent, text string) string {
	return line(id, parent, `"role":"assistant","model":"m","content":[{"type":"text","text":`+quote(text)+`}]`)
}

func call(id, parent, call, tool, arguments string) string {
	return line(id, parent, `"role":"assistant","model":"m","content":[{"type":"toolCall","id":"`+call+`","name":"`+tool+`","arguments":`+arguments+`}]`)
}

func result(id, parent, call, tool, text, more string) string {
	return line(id, parent, `"role":"toolResult","toolCallId":"`+call+`","toolName":"`+tool+`","content":`+quote(text)+more)
}

// everything is the session that has one of everything.
func everything(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "show", "testdata", "conversation.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestPage(t *testing.T) {
	out := render(t, pageOf(t, "/home/u/.pi/agent/sessions/--p--/login.jsonl", everything(t)))
	_, body, _ := strings.Cut(out, "</style>")
	path := filepath.Join("testdata", "page.golden")
	if *update {
		if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), body); diff != "" {
		t.Errorf("%s (-want +got), -update writes it again:\n%s", path, diff)
	}
}

// Everything that was said is in the page.
func TestPageIsComplete(t *testing.T) {
	out := render(t, pageOf(t, "/s.jsonl", everything(t)))
	for _, want := range []string{
		"loses the query string", "クエリ文字列", "by hand", "http.StatusFound", "login_test.go:12: three", "529 overloaded",
		"Keep the query", "run the linter", "go vet ./...", "an abandoned idea", "123,456 tokens before", "claude-sonnet-4-5",
	} {
		if !strings.Contains(strip(out), want) {
			t.Errorf("%q is missing", want)
		}
	}
}

var tags = regexp.MustCompile(`<[^>]*>`)

// strip is the text of a page.
func strip(page string) string { return html.UnescapeString(tags.ReplaceAllString(page, "")) }

// Every link within the page leads somewhere, and no two entries have one name.
func TestLinksLand(t *testing.T) {
	data := everything(t) + prompt("a b", "u0000003", "x") + prompt("a-b", "u0000003", "y")
	out := render(t, pageOf(t, "/s.jsonl", data))
	var ids []string
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(out, -1) {
		if slices.Contains(ids, m[1]) {
			t.Errorf("two elements have the id %q", m[1])
		}
		ids = append(ids, m[1])
	}
	links := regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(out, -1)
	if len(links) < 10 {
		t.Errorf("only %d links", len(links))
	}
	for _, m := range links {
		if !slices.Contains(ids, m[1]) {
			t.Errorf("nothing has the id %q", m[1])
		}
	}
	for _, id := range []string{"u0000001", "r0000001", "l0000001", "a-b"} {
		if !slices.Contains(ids, "e-"+id) {
			t.Errorf("the entry %s has no anchor", id)
		}
	}
}

// A result is inside of its call, with what is known about how it ended, even if other
// entries come between the two. A result without a call is a separate entry.
func TestResultsWithCalls(t *testing.T) {
	out := render(t, pageOf(t, "/s.jsonl", header+prompt("p", "", "go")+
		line("a", "p", `"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"make"}},{"type":"toolCall","id":"c2","name":"read","arguments":{"path":"/home/u/src/app/x/y.go"}},{"type":"toolCall","id":"c3","name":"read","arguments":{"path":"z.go"}}]`)+
		`{"type":"label","id":"l","parentId":"a","targetId":"p","label":"later"}`+"\n"+
		result("r2", "l", "c2", "read", "package y", "")+
		result("r1", "r2", "c1", "bash", "no rule\n\nCommand exited with code 2", `,"isError":true,"durationMs":1500`)+
		result("r9", "r1", "c9", "ls", "orphan", "")+
		reply("b", "r9", "done")))
	calls := regexp.MustCompile(`(?s)<details class="call.*?</details>`).FindAllString(out, -1)
	if len(calls) != 4 {
		t.Fatalf("%d calls", len(calls))
	}
	for i, want := range [][]string{
		{`id="e-r1"`, `class="call failed"`, "open", "make", "exit 2", "1.5s", "no rule"},
		{`id="e-r2"`, "x/y.go</code>", "ok", ">package</span> y"},
		{"z.go", "no result"},
		{"orphan", "result"},
	} {
		for _, w := range want {
			if !strings.Contains(calls[i], w) {
				t.Errorf("call %d has no %q:\n%s", i, w, calls[i])
			}
		}
	}
	if strings.Index(out, "Label later") < strings.Index(out, "no rule") {
		t.Error("the label is between a call and its result")
	}
}

// A call is open if its output is short to the reader, however much HTML its colours take.
func TestShortOutputIsOpen(t *testing.T) {
	code := strings.Repeat(`f("a", 'b', 1, 2, 3); f("c", 4); f(5); f(6)`+"\n", openLines-1)
	for text, want := range map[string]bool{code + "x": true, code + "x\ny": false, strings.Repeat("x", openLines*longLine): false} {
		out := render(t, pageOf(t, "/s.jsonl", header+call("a", "", "c1", "read", `{"path":"x.js"}`)+result("r", "a", "c1", "read", text, "")))
		call := regexp.MustCompile(`<details class="call[^>]*>`).FindString(out)
		if open := strings.HasSuffix(call, " open>"); open != want || !strings.Contains(out, "<span") {
			t.Errorf("the output of %d bytes, %d lines is open: %t, want %t", len(text), strings.Count(text, "\n")+1, open, want)
		}
	}
}

// The index of a page without prompts does not count them, and one without anything is left out.
func TestIndexOfFilteredPages(t *testing.T) {
	source := header + prompt("p", "", "go") + reply("b", "p", "done") + `{"type":"label","id":"l","parentId":"b","targetId":"b","label":"later"}` + "\n"
	for _, test := range []struct {
		pass func(*entry.Entry) bool
		want string
	}{
		{nil, "<summary>1 prompt</summary>"},
		{func(e *entry.Entry) bool { return e.Role == session.RoleAssistant }, "<summary>Index</summary>"},
		{func(e *entry.Entry) bool { return e.Type == session.TypeLabel }, ""},
	} {
		p := pageOf(t, "/s.jsonl", source)
		p.Pass = test.pass
		out := render(t, p)
		if !strings.Contains(out, test.want) || strings.Contains(out, "0 prompts") || strings.Contains(out, "<nav") != (test.want != "") {
			t.Errorf("the index is %q, want %q", regexp.MustCompile(`<nav.*`).FindString(out), test.want)
		}
	}
}

// Edits are diffs; the arguments that say the same are left out.
func TestEditsAreDiffs(t *testing.T) {
	out := render(t, pageOf(t, "/s.jsonl", header+
		call("a", "", "c1", "edit", `{"path":"/home/u/src/app/x.go","oldText":"one\ntwo","newText":"one\nthree"}`)+
		result("r", "a", "c1", "edit", "Successfully replaced 1 block.", "")+
		call("b", "r", "c2", "write", `{"path":"new.txt","content":"<b>\nlast\n"}`)+
		result("s", "b", "c2", "write", "ok", "")))
	for _, want := range []string{
		`<span class="removed"><span class="sign">-</span>two`, `<span class="added"><span class="sign">+</span>three`,
		`<span class="same"><span class="sign"> </span>one`, ">x.go</code>", "&#43;1 −1", `<span class="sign">+</span>&lt;b&gt;`, "&#43;2 −0",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, bad := range []string{"oldText", "content</dt>"} {
		if strings.Contains(out, bad) {
			t.Errorf("%q is shown too", bad)
		}
	}
}

// Branches are folded where they leave, each in the other, with a line in the index.
func TestBranches(t *testing.T) {
	data := header + prompt("p", "", "start") +
		prompt("x1", "p", "first idea") + prompt("y1", "x1", "below it") + prompt("x2", "x1", "rest of first") +
		prompt("z", "p", "second idea") + prompt("m", "p", "the way on")
	out := render(t, pageOf(t, "/s.jsonl", data))
	_, body, _ := strings.Cut(out, "<main")
	var got []string
	depth := 0
	for _, m := range regexp.MustCompile(`<details class="branch">|</details>|<q>([^<]*)</q>|<p>([^<]*)</p>`).FindAllStringSubmatch(body, -1) {
		switch {
		case strings.HasPrefix(m[0], "<details"):
			depth++
		case m[0] == "</details>":
			depth--
		case m[2] != "":
			got = append(got, strings.Repeat("  ", depth)+m[2])
		}
	}
	want := []string{"start", "  first idea", "    below it", "  rest of first", "  second idea", "the way on"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries by depth (-want +got):\n%s", diff)
	}
	if depth != 0 {
		t.Errorf("%d branches are not closed", depth)
	}
	for _, want := range []string{`<li class="branch d1"><a href="#e-x1">first idea</a>`, `<li class="prompt"><a href="#e-m"><span class="n">2</span> the way on`, "3 entries", "2 prompts, 3 other branches"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
	// What a filter hides begins no branch.
	p := pageOf(t, "/s.jsonl", data)
	p.Pass = func(e *entry.Entry) bool { return e.ID == "x2" || e.ID == "m" }
	out = render(t, p)
	if n := strings.Count(out, `<details class="branch">`); n != 1 || strings.Count(out, "</details>") != 3 {
		t.Errorf("%d branches with one entry to show", n)
	}
}

// A branch is called after its first prompt, and other beginnings come after the main
// conversation.
func TestOtherBeginnings(t *testing.T) {
	out := render(t, pageOf(t, "/s.jsonl", header+
		`{"type":"model_change","id":"x","parentId":null,"provider":"q","modelId":"m"}`+"\n"+prompt("y", "x", "reviewed by a subagent")+
		prompt("p", "", "the conversation")))
	main, other := strings.Index(out, `id="e-p"`), strings.Index(out, `Another beginning: <q>reviewed by a subagent</q> <span class="fact">1 entry`)
	if main < 0 || other < main {
		t.Errorf("the conversation is at %d, the other one at %d", main, other)
	}
	if !strings.Contains(out, `<li class="branch d1"><a href="#e-y">reviewed by a subagent</a></li>`) || strings.Contains(out, `href="#e-x">Model`) {
		t.Error("the index names the branch otherwise")
	}
}

// What later entries with the same id replaced was said too.
func TestReplacedEntries(t *testing.T) {
	out := render(t, pageOf(t, "/s.jsonl", header+prompt("x", "x", "said first")+prompt("x", "x", "said second")+prompt("x", "x", "said last")))
	last, first, second := strings.Index(out, "<p>said last"), strings.Index(out, "<p>said first"), strings.Index(out, "<p>said second")
	if last < 0 || first < last || second < first {
		t.Errorf("the entries are at %d, %d and %d", last, first, second)
	}
	if n := strings.Count(out, "Replaced by later entries with the same ids: <q>said first</q>"); n != 1 {
		t.Errorf("%d beginnings of them", n)
	}
}

// However deep branches are nested, the page is not.
func TestManyNestedBranches(t *testing.T) {
	var b strings.Builder
	b.WriteString(header + prompt("n0", "", "root"))
	for i := range 200 {
		parent, id := "n"+strconv.Itoa(i), "n"+strconv.Itoa(i+1)
		b.WriteString(prompt(id, parent, "deeper"))
	}
	for i := 200; i >= 0; i-- { // the last child is the active one: the way down leaves at each entry
		b.WriteString(prompt("m"+strconv.Itoa(i), "n"+strconv.Itoa(i), "end"))
	}
	out := render(t, pageOf(t, "/s.jsonl", b.String()))
	depth, deepest := 0, 0
	for _, m := range regexp.MustCompile(`</?details`).FindAllString(out, -1) {
		if m == "<details" {
			depth++
		} else {
			depth--
		}
		deepest = max(deepest, depth)
	}
	if depth != 0 || deepest > maxFolds {
		t.Errorf("branches are %d deep and end at depth %d", deepest, depth)
	}
	if n := strings.Count(out, "<article"); n != 402 {
		t.Errorf("%d entries", n)
	}
}

// Nothing says where on this machine the session was, unless it is asked for.
func TestPathsOfTheMachine(t *testing.T) {
	for cwd, want := range map[string]string{
		"/home/u/src/app": "~/src/app", "/home/other/src/app": "~/src/app", "/Users/jane": "~", `C:\Users\Jane\src`: `~\src`,
		"/srv/clients/acme": "acme", "/root/x": "~/x", "": "",
	} {
		p := &Page{Home: "/home/u"}
		if got := p.directory(cwd); got != want {
			t.Errorf("directory(%q) = %q, want %q", cwd, got, want)
		}
	}
	data := strings.Replace(header, `"cwd"`, `"parentSession":"/home/u/.pi/old/parent.jsonl","cwd"`, 1) + prompt("p", "", "hello")
	p := pageOf(t, "/home/u/.pi/agent/sessions/--p--/login.jsonl", data)
	out := render(t, p)
	if strings.Contains(out, "/home/u") || strings.Contains(out, "--p--") || !strings.Contains(out, ">login.jsonl<") || !strings.Contains(out, ">parent.jsonl<") {
		t.Errorf("the head is\n%s", out[strings.Index(out, "<header"):strings.Index(out, "<main")])
	}
	p.FullPaths = true
	if out := render(t, p); !strings.Contains(out, ">/home/u/.pi/agent/sessions/--p--/login.jsonl<") || !strings.Contains(out, ">/home/u/src/app<") {
		t.Errorf("the paths are not whole")
	}
}

// Times are local, with the zone and UTC within reach; figures are where they arise.
func TestTimesAndCost(t *testing.T) {
	out := render(t, pageOf(t, "/s.jsonl", header+prompt("p", "", "go")+
		line("a", "p", `"role":"assistant","provider":"q","model":"m-1","content":"ok","usage":{"input":1000,"output":234,"cacheRead":20000,"cacheWrite":5,"cost":{"total":0.0421}}`)))
	for _, want := range []string{
		`<time datetime="2026-03-17T09:00:01Z" title="2026-03-17 11:00:01 TST (2026-03-17 09:00:01 UTC)">11:00</time>`,
		"2026-03-17 11:00 TST</time>", "Tuesday, 17 March 2026", "21k in, 234 out", "20,000 read from cache", "$0.042", ">m-1<",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// Images are embedded only if that is wanted, and only those that cannot do anything.
func TestImages(t *testing.T) {
	data := header + line("p", "", `"role":"user","content":[{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="},{"type":"image","mimeType":"image/svg+xml","data":"PHN2Zz4="},{"type":"image","mimeType":"image/png","data":"x\" onload=\"y"}]`)
	p := pageOf(t, "/s.jsonl", data)
	out := render(t, p)
	if n := strings.Count(out, "<img "); n != 1 || !strings.Contains(out, `src="data:image/png;base64,iVBORw0KGgo="`) {
		t.Errorf("%d images", n)
	}
	if !strings.Contains(out, "image/svg&#43;xml, 5 B") {
		t.Error("the image that is not shown is not named")
	}
	p.Images = false
	if out := render(t, p); strings.Contains(out, "<img") || strings.Contains(out, "iVBOR") || !strings.Contains(out, "image/png, 8 B") {
		t.Error("images are embedded, or not named")
	}
}

// What a session says cannot become part of the page that shows it.
const evil = `</pre></title></style><script>alert(1)</script><img src=x onerror=alert(1)>" onload="x' javascript:`

func evilSession() string {
	e := quote(evil)
	md := quote("<script>alert(2)</script>\n\n<div onclick=alert(3)>\n\n<!-- x -->\n\n[a](javascript:alert(4)) [b](data:text/html,x) [c](//evil.example/) [d](https://evil.example/\"onmouseover=alert(5)) " +
		"![i](https://evil.example/i.png) <https://evil.example> <javascript:alert(6)> <a@b.example>\n\n```\"><script>\nx\n```\n\n| a |\n|:-:|\n| <b> |\n\n[x]: javascript:alert(7)\n[x] \u202eevil\u2066 \x1b[31mred https://evil.example/auto")
	return strings.Join([]string{
		`{"type":"session","version":3,"id":` + e + `,"timestamp":"2026-03-17T09:00:00.000Z","cwd":` + e + `}`,
		`{"type":"message","id":` + e + `,"parentId":null,"message":{"role":"user","content":[{"type":"text","text":` + e + `},{"type":"text","text":` + md + `},{"type":"image","mimeType":` + e + `,"data":` + e + `},{"type":"image","mimeType":"image/svg+xml","data":"PHN2Zz4="},{"type":"image","mimeType":"image/png","data":` + e + `}]}}`,
		`{"type":"message","id":"b","parentId":null,"message":{"role":"assistant","model":` + e + `,"content":[{"type":"text","text":` + md + `},{"type":"thinking","thinking":` + md + `},{"type":"toolCall","id":"c","name":` + e + `,"arguments":{` + e + `:` + e + `}},{"type":"toolCall","id":"d","name":"edit","arguments":{"path":` + e + `,"oldText":` + e + `,"newText":` + md + `}}],"errorMessage":` + e + `}}`,
		`{"type":"message","id":"c","parentId":"b","message":{"role":"toolResult","toolCallId":"c","toolName":` + e + `,"content":` + e + `}}`,
		`{"type":"message","id":"d","parentId":"c","message":{"role":"bashExecution","command":` + e + `,"output":` + e + `}}`,
		`{"type":"compaction","id":"k","parentId":"d","summary":` + md + `,"firstKeptEntryId":"b","tokensBefore":5}`,
		`{"type":"label","id":"e","parentId":"k","targetId":"b","label":` + e + `}`,
		`{"type":` + e + `,"id":"f","parentId":"e","text":` + e + `}`,
		`{"type":"session_info","id":"g","parentId":"f","name":` + e + `}`,
	}, "\n") + "\n"
}

func TestHostileText(t *testing.T) {
	out := render(t, pageOf(t, "/"+evil, evilSession()))
	_, body, _ := strings.Cut(out, "</style>")
	for _, tag := range regexp.MustCompile(`<[a-zA-Z][^>]*>`).FindAllString(body, -1) {
		if regexp.MustCompile(`(?i)^<(script|style|iframe|object|embed|link|meta|base|form|svg|img)|\son[a-z]+=|\sstyle=|javascript:|"data:`).MatchString(tag) {
			t.Errorf("the page has %s", tag)
		}
	}
	for _, m := range regexp.MustCompile(` href="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		if !regexp.MustCompile(`^(#e?-?|https://evil\.example|mailto:a@b\.example)`).MatchString(m[1]) {
			t.Errorf("a link leads to %s", m[1])
		}
	}
	if strings.ContainsAny(out, "\x1b\u202e\u2066") {
		t.Error("a control character gets out")
	}
	for _, want := range []string{"&lt;script&gt;alert(1)&lt;/script&gt;", "&lt;script&gt;alert(2)&lt;/script&gt;", "&lt;div onclick=alert(3)&gt;", "⟨U+202E⟩evil", "javascript:alert(4)"} {
		if !strings.Contains(out, want) {
			t.Errorf("the text %s is gone", want)
		}
	}
	if n := strings.Count(out, "<main"); n != 1 || !strings.HasSuffix(out, "</body>\n</html>\n") {
		t.Error("the page is not whole")
	}
}

// Characters that a text names as entities are as harmless as those it has.
func TestHostileEntities(t *testing.T) {
	const all = "&#27;[31m&#x9b;31m&#x202e;&#8234;"
	text := all + " *" + all + "* [" + all + "](http://x.example/?" + all + " \"" + all + "\") [" + all + "](x:" + all + ")\n\n# " + all + "\n\n- " + all +
		"\n\n| " + all + " |\n|---|\n| " + all + " |\n\n<b title=" + all + ">" + all + "\n\n    " + all + "\n\n`" + all + "`"
	if out := string((&writer{}).prose([]byte(text))); strings.ContainsAny(out, "\x1b\u009b\u202e\u202a") {
		t.Errorf("a control character gets out: %q", out)
	}
}

// A link keeps its title, which browsers would hide.
func TestTitlesOfLinks(t *testing.T) {
	for text, want := range map[string]string{
		`[t](http://x "ti<b>")`:     `t</a> &#34;ti&lt;b&gt;&#34;</p>`,
		`[t](x.go "ti")`:            `t <code>x.go</code> &#34;ti&#34;</p>`,
		`![t](http://x/i.png "ti")`: `t</a> &#34;ti&#34;]</p>`,
	} {
		if out := string((&writer{}).prose([]byte(text))); !strings.Contains(out, want) {
			t.Errorf("%s becomes %s, want %s", text, out, want)
		}
	}
}

// A title may begin with any character.
func TestTitleInAnyScript(t *testing.T) {
	for kind, want := range map[string]string{"écho": "Écho", "助手": "助手"} {
		p := pageOf(t, "/s.jsonl", header+prompt("p", "", "x")+`{"type":"`+kind+`","id":"a","parentId":"p"}`+"\n")
		p.AllSteps = true
		out := render(t, p)
		if !strings.Contains(out, want) {
			t.Errorf("an entry of type %s has no title %s", kind, want)
		}
	}
}

// Names of entries stay short however many are the same.
func TestAnchorsOfOneForm(t *testing.T) {
	var b strings.Builder
	b.WriteString(header + prompt("--2", "", "x"))
	for i := range 500 {
		b.WriteString(prompt(string(rune('一'+i)), "", "x"))
	}
	p := pageOf(t, "/s.jsonl", b.String())
	names, err := anchorsOf(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	used := make(map[string]bool)
	for _, name := range names {
		if len(name) > 10 || used[name] {
			t.Errorf("the name %s is long, or of two entries", name)
		}
		used[name] = true
	}
}

// A page that nobody waits for is not begun.
func TestStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var b bytes.Buffer
	if err := pageOf(t, "/s.jsonl", everything(t)).Write(ctx, &b); !errors.Is(err, context.Canceled) || b.Len() > 0 {
		t.Errorf("Write = %v after %d bytes", err, b.Len())
	}
}

// The policy allows the style sheet by its hash, and the page needs nothing else: a
// style attribute would violate it.
func TestPolicy(t *testing.T) {
	out := render(t, pageOf(t, "/s.jsonl", everything(t)))
	if !strings.Contains(out, `content="default-src &#39;none&#39;; style-src &#39;sha256-`) || strings.Contains(out, "unsafe") {
		t.Error("the policy is another one")
	}
	if n := strings.Count(out, "<style>"); n != 1 || !strings.Contains(out, "<style>"+style()+"</style>") {
		t.Errorf("%d style sheets", n)
	}
}

// Text that is made to take long is shown all the same; a parser that takes it on needs
// longer than a test may run.
func TestProseMadeToTakeLong(t *testing.T) {
	for name, text := range map[string]string{
		"quotes": strings.Repeat(">", 20_000) + "x", "brackets": strings.Repeat("[", 50_000), "stars": strings.Repeat("*a ", 50_000),
		"under": strings.Repeat("_a_b", 40_000), "links": strings.Repeat("[a](", 30_000), "some links": strings.Repeat("[a](", 4_000), "lists": strings.Repeat("- ", 20_000), "ticks": strings.Repeat("`", 50_000),
		"images": strings.Repeat("![", 40_000), "html": strings.Repeat("<a ", 50_000), "refs": strings.Repeat("[a]: x\n", 20_000), "many ticks": ticks(400),
		"deep list": deepList(300), "table": strings.Repeat("|", 20_000) + "\n" + strings.Repeat("|-", 20_000), "http": strings.Repeat("http://a.b/(", 20_000), "amp": strings.Repeat("&#", 60_000),
		"addresses": strings.Repeat("http://a ", 50_000), "100,000 items": strings.Repeat("- a\n", 100_000), "items of two lines": strings.Repeat("- a\n\n  b\n", 50_000),
		"blocks of HTML": strings.Repeat("<div>\n\n", 60_000), "a line of all": strings.Repeat("*_[", 150_000),
	} {
		t.Run(name, func(t *testing.T) {
			out := string((&writer{}).prose([]byte(text)))
			letters := func(s string) int {
				return len(regexp.MustCompile("[a-z]").FindAllString(s, -1))
			}
			if got := letters(strip(out)); got < letters(text) {
				t.Errorf("%d of %d letters are left", got, letters(text))
			}
		})
	}
}

func ticks(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("`", i+1) + " ")
	}
	return b.String()
}

func deepList(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("  ", i) + "- x\n")
	}
	return b.String()
}

// With many prompts, a page of a site lists those near its entries, with their numbers.
func TestIndexOfManyPrompts(t *testing.T) {
	var b strings.Builder
	b.WriteString(header)
	parent := ""
	for i := range maxIndexed + 1000 {
		id := fmt.Sprintf("m%07d", i)
		b.WriteString(prompt(id, parent, fmt.Sprintf("question %d", i+1)))
		parent = id
	}
	p := pageOf(t, filepath.Join(t.TempDir(), "many.jsonl"), b.String())
	at := func(string) string { return "/" }
	p.Site = &Site{From: 1500, To: 1510, Entry: at, Branch: at, Output: func(int, int, string) string { return "/" }}
	names, err := anchorsOf(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	x, err := p.index(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(x.Items), 10+2*nearby; got != want {
		t.Fatalf("%d items, want %d", got, want)
	}
	for i, item := range x.Items {
		n := 1500 - nearby + i + 1
		if item.Number != n || item.Text != fmt.Sprintf("question %d", n) {
			t.Fatalf("item %d is prompt %d, %q", i, item.Number, item.Text)
		}
	}
	if want := "3,000 prompts, the nearest listed"; x.Summary != want {
		t.Errorf("summary %q, want %q", x.Summary, want)
	}
}

// Steps of the machine are one line between what is said; a file lacks their texts. A page of a site unfolds the
// line, and shows a step that is a hit as an entry; with all steps, each step is an entry.
func TestStepsAreOneLine(t *testing.T) {
	change := func(id, parent string) string {
		return `{"type":"model_change","id":"` + id + `","parentId":"` + parent + `","provider":"q","modelId":"` + id + `"}` + "\n"
	}
	data := header + prompt("p", "", "ask") + change("x1", "p") + change("x2", "x1") + prompt("q", "x2", "ask again")
	file := render(t, pageOf(t, "/s.jsonl", data))
	if !strings.Contains(file, `<p class="remark steps">2 settings</p>`) || strings.Contains(file, "q/x1") {
		t.Errorf("a file has %s", file)
	}
	all := pageOf(t, "/s.jsonl", data)
	all.AllSteps = true
	if out := render(t, all); strings.Contains(out, "2 settings") || !strings.Contains(out, "q/x1") {
		t.Errorf("a file with all steps has %s", out)
	}
	name := func(string) string { return "" }
	site := pageOf(t, "/s.jsonl", data)
	site.Site = &Site{To: 4, Entry: name, Branch: name, Hits: map[int]int{2: 1}}
	out := render(t, site)
	if fold := strings.Index(out, `<details class="steps"><summary>1 setting</summary>`); fold < 0 || strings.Index(out, "q/x1") < fold || strings.Index(out, `<p class="remark" id="e-x2">`) < strings.Index(out, "</details>\n<p") {
		t.Errorf("a page has %s", out)
	}
	if starts := site.Parts(1); len(starts) != 2 || starts[1] != 3 {
		t.Errorf("parts of one entry begin at %v", starts)
	}
}

// A prompt that is only a command has its name in the index; an entry without text is a line, not an empty box.
func TestNoEmptyBox(t *testing.T) {
	data := header + prompt("a", "", "ask") + prompt("b", "a", "") + reply("c", "b", " ") + prompt("d", "c", "last")
	page := pageOf(t, "/s.jsonl", data)
	page.AllSteps = true
	out := render(t, page)
	for _, want := range []string{`id="e-b">`, "Prompt without text", "Reply without text"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing: %s", want, out)
		}
	}
	if n := strings.Count(out, "<article"); n != 2 {
		t.Errorf("%d boxes for two texts", n)
	}
	if got := indexText(&entry.Entry{Entry: session.Entry{Identity: session.Identity{Role: session.RoleUser}, Said: session.Said{Command: "/clear"}}}); got != "/clear" {
		t.Errorf("a command is listed as %q", got)
	}
}
