package cli

import (
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pigrep/ui/cli/app"
)

// pages runs `pigrep web` for sessions of pi, Claude Code and Codex, and odd files. It returns what gets a page.
func pages(t *testing.T, write map[string]string) (get func(path string) (int, string)) {
	t.Helper()
	var args []string
	for _, dir := range []string{"agents/claude/projects", "agents/codex/sessions", "odd"} {
		path, err := filepath.Abs(filepath.Join("..", "..", "testdata", dir))
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, "--session-dir", path)
	}
	_, get, _ = running(t, func(a *app.App) {
		for name, text := range write {
			if err := os.WriteFile(filepath.Join(a.Home, "sessions", name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if code := Run(t.Context(), a, append([]string{"index", "--session-dir", filepath.Join(a.Home, "sessions")}, args...)); code != 0 {
			t.Fatalf("indexing ends with %d", code)
		}
	}, args...)
	return get
}

var tags = regexp.MustCompile(`<[^>]*>`)

// textOf returns the text of a piece of a page.
func textOf(piece string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(piece, " "))), " ")
}

// A link to an entry that a session, or a branch of it, does not have says so, and one that it has does not.
func TestPageWithoutEntry(t *testing.T) {
	get := pages(t, nil)
	for _, session := range []string{"0195562e-9a20-7c11-8f3a-5d2b6c7e8f90", "67a8478e-78dc-44ab-82ea-f65c8ead85f6"} {
		_, body := get("/session/" + session)
		entry := regexp.MustCompile(`<article id="e-([\w-]+)"`).FindStringSubmatch(body)[1]
		for address, want := range map[string]bool{
			"?entry=nosuchentry": true, "?entry=" + strings.Repeat("x%1b", 300): true, "?part=1&entry=nosuch": true, "": false, "?entry=" + entry: false,
		} {
			code, body := get("/session/" + session + address)
			if said := strings.Contains(body, "There is no entry "); code != 200 || said != want || len(textOf(regexp.MustCompile("There is no entry.*").FindString(body))) > 150 {
				t.Errorf("%s%s: %d, says that there is no such entry: %v, want %v", session, address, code, said, want)
			}
		}
	}
	_, body := get("/session/01956691-0000-7a3c-b111-222233334444")
	branch := regexp.MustCompile(`href="([^"]*leaf=[^"]*)"`).FindStringSubmatch(body)
	if branch == nil {
		t.Fatal("a session with branches has none")
	}
	address, err := url.Parse(html.UnescapeString(branch[1]))
	if err != nil {
		t.Fatal(err)
	}
	v := address.Query()
	v.Set("entry", "nosuch")
	if _, body := get(address.Path + "?" + v.Encode()); !strings.Contains(body, "There is no entry nosuch in this branch.") {
		t.Error("a branch without an entry does not say so")
	}
}

// The number of hits that a list has in a session is that of its conversation.
func TestPageHitsAreOneNumber(t *testing.T) {
	get := pages(t, nil)
	number := func(pattern, text string) int {
		m := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if m == nil {
			return 0
		}
		n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	compared := 0
	for _, query := range []string{"token", "file", "the", "error", "test", "kind:call+file", "walrus+name", "quokka"} {
		_, list := get("/?limit=100&q=" + query)
		for _, piece := range strings.Split(list, "<h3>")[1:] {
			address, _, _ := strings.Cut(html.UnescapeString(regexp.MustCompile(`href="(/session/[^"]*)`).FindStringSubmatch(piece)[1]), "#")
			hits := len(regexp.MustCompile(`<li><a href="[^"]*" data-item>`).FindAllString(piece, -1)) + number(`>([\d,]+) more hits? in this session`, piece)
			_, body := get(address)
			bar := textOf(regexp.MustCompile(`(?s)<nav class="hitbar".*?</nav>`).FindString(body))
			id := regexp.MustCompile(`data-copy="([^"]+)" title="[^"]*">Copy id`).FindStringSubmatch(piece)
			switch n := number(`([\d,]+)(?: hits?| in all)? (?:Next|$)`, bar); {
			case n == hits:
				compared++
			case id != nil: // of entries that sessions share, a list shows one
				_, alone := get("/?q=" + query + "+session:" + id[1])
				if want := number(`([\d,]+) (?:looser )?hits? in 1 session`, alone); n != want || n < hits {
					t.Errorf("%s: a list has %d hits, of the session alone %d, and %s says %q", query, hits, want, address, bar)
				}
			}
		}
	}
	if compared < 10 {
		t.Errorf("only %d conversations have hits", compared)
	}
}

// piece returns a part of a page.
func piece(body, id string) string {
	_, rest, _ := strings.Cut(body, `<section class="part" id="`+id+`"`)
	part, _, _ := strings.Cut(rest, "</section>")
	return part
}

// toolSession is a session of pi with as many calls of a shell as there are outputs, which all failed.
func toolSession(commands, outputs []string) string {
	var b strings.Builder
	b.WriteString(`{"type":"session","version":3,"id":"tools","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p/app"}` + "\n")
	parent := "null"
	line := func(id, message string) {
		fmt.Fprintf(&b, `{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-03-01T10:00:00.000Z","message":%s}`+"\n", id, parent, message)
		parent = strconv.Quote(id)
	}
	for i, command := range commands {
		line(fmt.Sprintf("c%d", i), fmt.Sprintf(`{"role":"assistant","provider":"p","model":"m","content":[{"type":"toolCall","id":"t%d","name":"bash","arguments":{"command":%q}}]}`, i, command))
		line(fmt.Sprintf("r%d", i), fmt.Sprintf(`{"role":"toolResult","toolCallId":"t%d","toolName":"bash","isError":true,"content":[{"type":"text","text":%q}]}`, i, outputs[i]))
	}
	return b.String()
}

// A failure shows the last line of the error; what a table leaves out is behind a link; programs that only prepare
// others are left out until all are asked for; no table has an empty column or cell.
func TestPageOfAudit(t *testing.T) {
	long := "first\n" + strings.Repeat("between\n", 50) + "kaboom at last\n"
	commands := []string{"zeta1", "zeta2", "zeta3", "cd /x && zeta5 | true", "[ -f x ] && echo hi"}
	outputs := []string{"Exit code 2\nout of range", long + "\nCommand exited with code 1", "Exit code 2", "no such thing\n\nProcess exited with code 2", "oops"}
	for len(commands) < 60 {
		commands, outputs = append(commands, fmt.Sprintf("prog%02d", len(commands))), append(outputs, "bad")
	}
	get := pages(t, map[string]string{"tools.jsonl": toolSession(commands, outputs)})
	_, body := get("/audit?project=app")
	_, all := get("/audit?project=app&only=failures")
	if strings.Contains(all, `id="commands"`) || strings.Contains(body, "kaboom") {
		t.Error("the page of a part has another part, or the page has all rows of a part")
	}
	for command, want := range map[string]string{"zeta1": "out of range", "zeta2": "kaboom at last", "zeta3": "Exit code 2", "cd /x": "no such thing"} {
		row := regexp.MustCompile(`<tr.*` + command + `.*</tr>`).FindString(all)
		if got := textOf(row); !strings.HasSuffix(got, " "+want) {
			t.Errorf("the failure of %s is %q, want %q", command, got, want)
		}
	}
	more := regexp.MustCompile(`<a href="([^"]*)">30 more calls</a>`).FindStringSubmatch(piece(body, "failures"))
	if more == nil || html.UnescapeString(more[1]) != "/audit?only=failures&project=app" {
		t.Errorf("what is left out is behind %q", more)
	}
	few := textOf(piece(body, "commands"))
	_, body = get("/audit?only=commands")
	every := textOf(piece(body, "commands"))
	for _, program := range []string{" cd ", " [ ", " echo ", " true "} {
		if strings.Contains(few, program+"1 ") || !strings.Contains(every, program) {
			t.Errorf("%q is among the first programs, or not among all", program)
		}
	}
	if !strings.Contains(few, "without cd, echo and the like") {
		t.Errorf("the table does not say what it leaves out: %s", few)
	}
	for _, address := range []string{"/audit", "/usage", "/audit?only=risky"} {
		_, body := get(address)
		for _, empty := range []string{`"></td>`, "<td></td>", `"></th>`, "<code></code>", ">-</td>", `<ul class="tiles">` + "\n</ul>"} {
			if strings.Contains(body, empty) {
				t.Errorf("%s has %s: %s", address, empty, body[max(0, strings.Index(body, empty)-200):strings.Index(body, empty)])
			}
		}
	}
}

// Usage begins with today, this week and this month, and has what a session and a commit cost; rows have their
// shares; a row, a bar of a project and an entry of a legend lead to what they count.
func TestPageOfUsage(t *testing.T) {
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	line := func(id, parent, message string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":%q,"message":%s}`+"\n", id, parent, now, message)
	}
	spent := func(cost string) string {
		return `"usage":{"input":100,"output":20,"cacheRead":0,"cacheWrite":0,"totalTokens":120,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":` + cost + `}}`
	}
	text := fmt.Sprintf(`{"type":"session","version":3,"id":"spender","timestamp":%q,"cwd":"/p/spender"}`+"\n", now) +
		line("a", "null", `{"role":"assistant","provider":"p","model":"dear","content":[{"type":"toolCall","id":"t","name":"bash","arguments":{"command":"git commit -m x"}}],`+spent("3")+`}`) +
		line("b", `"a"`, `{"role":"toolResult","toolCallId":"t","toolName":"bash","isError":false,"content":[{"type":"text","text":"[main 1234567] x"}]}`) +
		line("c", `"b"`, `{"role":"assistant","provider":"p","model":"cheap","content":[{"type":"text","text":"done"}],`+spent("1")+`}`)
	get := pages(t, map[string]string{"spender.jsonl": text})
	_, body := get("/usage?project=spender")
	_, tiles, _ := strings.Cut(body, `<ul class="tiles">`)
	tiles, _, _ = strings.Cut(tiles, "</ul>")
	if got, want := textOf(tiles), "$4.00 today $4.00 this week $4.00 this month $4.00 cost 240 tokens $4.00 per session $4.00 per commit"; got != want {
		t.Errorf("usage begins with %q, want %q", got, want)
	}
	byModel := textOf(piece(body, "usage"))
	for _, want := range []string{"$3.00 1 75%", "$1.00 1 25%"} {
		if !strings.Contains(byModel, want) {
			t.Errorf("%q is missing: %s", want, byModel)
		}
	}
	links := regexp.MustCompile(`<li><a href="([^"]*)"><svg[^>]*><rect[^>]*/></svg> dear · \$3.00</a>`).FindAllStringSubmatch(body, -1)
	if len(links) != 1 {
		t.Fatalf("%d entries of legends name the model with its cost", len(links))
	}
	_, body = get(html.UnescapeString(links[0][1]))
	if _, tiles, _ = strings.Cut(body, `<ul class="tiles">`); !strings.HasPrefix(textOf(tiles), "$3.00 today") {
		t.Errorf("the legend leads to %s", textOf(tiles[:200]))
	}
	_, body = get("/usage")
	project := regexp.MustCompile(`<a href="([^"]*project=[^"]*spender[^"]*)" tabindex`).FindStringSubmatch(body)
	if project == nil {
		t.Fatal("no bar leads to the project")
	}
	_, body = get(html.UnescapeString(project[1]))
	if _, tiles, _ = strings.Cut(body, `<ul class="tiles">`); !strings.HasPrefix(textOf(tiles), "$4.00 today") {
		t.Errorf("the bar of a project leads to %s", textOf(tiles[:200]))
	}
}

// The page without a question tells what ran last and where it ended, what is open, the cost of the week and errors that
// came back; with a question it tells none of that.
func TestPageAtTheStart(t *testing.T) {
	files := make(map[string]string)
	for i, id := range []string{"one", "two"} {
		at := time.Now().UTC().Add(time.Duration(i-2) * time.Second).Format("2006-01-02T15:04:05.000Z")
		files[id+".jsonl"] = fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":%q,"cwd":"/p/%s"}`+"\n", id, at, id) +
			strings.ReplaceAll(`{"type":"message","id":"p","parentId":null,"timestamp":"AT","message":{"role":"user","content":"task of `+id+`"}}
{"type":"message","id":"c","parentId":"p","timestamp":"AT","message":{"role":"assistant","provider":"p","model":"m","content":[{"type":"toolCall","id":"t","name":"bash","arguments":{"command":"make it"}}],"usage":{"input":100,"output":20,"cacheRead":0,"cacheWrite":0,"totalTokens":120,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":2}}}}
{"type":"message","id":"r","parentId":"c","timestamp":"AT","message":{"role":"toolResult","toolCallId":"t","toolName":"bash","isError":true,"content":[{"type":"text","text":"error: the same <b>quux</b>"}]}}
{"type":"message","id":"a","parentId":"r","timestamp":"AT","message":{"role":"assistant","provider":"p","model":"m","content":[{"type":"text","text":"It ended in `+id+`."}]}}
{"type":"message","id":"q","parentId":"a","timestamp":"AT","message":{"role":"user","content":"still open"}}
`, "AT", at)
	}
	get := pages(t, files)
	_, body := get("/")
	_, start, _ := strings.Cut(body, `<div class="start">`)
	start, _, _ = strings.Cut(start, `<div class="results">`)
	said := textOf(start)
	for _, want := range []string{"$4.00 today · $4.00 this week", "Where it ended task of two", "failed 1: make it", `open 1 prompt without a reply: "still open"`, "ends It ended in two.", "Errors that came back 2 sessions error: the same <b>quux</b>"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing: %s", want, said)
		}
	}
	address := regexp.MustCompile(`<a href="([^"]*)">It ended in two`).FindStringSubmatch(start)
	if address == nil {
		t.Fatal("the end leads nowhere")
	}
	path, _, _ := strings.Cut(html.UnescapeString(address[1]), "#")
	if code, body := get(path); code != 200 || !strings.Contains(body, `id="e-a"`) || strings.Contains(body, "There is no entry") {
		t.Errorf("the end leads to %s: %d", path, code)
	}
	for _, other := range []string{"/?q=task", "/?part=answer&q=", "/sessions"} {
		if _, body := get(other); strings.Contains(body, `<div class="start">`) {
			t.Errorf("%s tells what the start does", other)
		}
	}
}
