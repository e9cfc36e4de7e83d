package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter/claude"
	"pigrep/adapter/pi"
)

// A message that its agent wrote in pieces, with results between them, reads as the same
// message that pi wrote whole: in text, Markdown and HTML.
func TestPiecesReadAsOneMessage(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	at := func(s int) string { return fmt.Sprintf("2026-03-01T10:00:%02d.000Z", s) }
	const id = "0a1b2c3d-89ab-cdef-0123-456789abcde0"

	n := 0
	line := func(entry, parent, members string) string {
		n++
		return fmt.Sprintf(`{"uuid":"%s","parentUuid":%s,"cwd":"/home/u/app","sessionId":"%s",%s,"timestamp":"%s"}`+"\n", entry, parent, id, members, at(n))
	}
	piece := func(entry, parent, block string) string {
		return line(entry, `"`+parent+`"`, `"type":"assistant","message":{"id":"m1","role":"assistant","model":"claude-opus-4-5","content":[`+block+`],"usage":{"output_tokens":`+fmt.Sprint(n)+`}}`)
	}
	result := func(entry, parent, call, text string) string {
		return line(entry, `"`+parent+`"`, `"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+call+`","content":"`+text+`"}]}`)
	}
	call := func(id, command string) string {
		return `{"type":"tool_use","id":"` + id + `","name":"bash","input":{"command":"` + command + `"}}`
	}
	inPieces := line("u1", "null", `"type":"user","message":{"role":"user","content":"count the animals"}`) +
		piece("a1", "u1", `{"type":"thinking","thinking":"","signature":"s"}`) +
		piece("a2", "a1", `{"type":"text","text":"I look at both."}`) +
		piece("a3", "a2", call("c1", "ls aardvarks")) +
		result("r1", "a3", "c1", "one aardvark") +
		piece("a4", "a3", call("c2", "ls badgers")) +
		result("r2", "a4", "c2", "two badgers") +
		line("a5", `"r2"`, `"type":"assistant","message":{"id":"m2","role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"Three."}]}`)
	appendTo(t, filepath.Join(home, ".claude", "projects", "-home-u-app", id+".jsonl"), inPieces)

	entry := func(id, parent, message string, s int) string {
		return fmt.Sprintf(`{"type":"message","id":"%s","parentId":%s,"timestamp":"%s","message":%s}`+"\n", id, parent, at(s), message)
	}
	piCall := func(id, command string) string {
		return `{"type":"toolCall","id":"` + id + `","name":"bash","arguments":{"command":"` + command + `"}}`
	}
	piResult := func(call, text string) string {
		return `{"role":"toolResult","toolCallId":"` + call + `","toolName":"bash","content":[{"type":"text","text":"` + text + `"}],"isError":false}`
	}
	whole := `{"type":"session","version":3,"id":"whole","timestamp":"` + at(1) + `","cwd":"/home/u/app"}` + "\n" +
		entry("u1", "null", `{"role":"user","content":[{"type":"text","text":"count the animals"}]}`, 1) +
		entry("a1", `"u1"`, `{"role":"assistant","provider":"anthropic","model":"claude-opus-4-5","content":[{"type":"text","text":"I look at both."},`+piCall("c1", "ls aardvarks")+","+piCall("c2", "ls badgers")+`],"usage":{"output":6}}`, 2) +
		entry("r1", `"a1"`, piResult("c1", "one aardvark"), 5) +
		entry("r2", `"r1"`, piResult("c2", "two badgers"), 7) +
		entry("a5", `"r2"`, `{"role":"assistant","provider":"anthropic","model":"claude-opus-4-5","content":[{"type":"text","text":"Three."}]}`, 8)
	appendTo(t, filepath.Join(home, ".pi", "agent", "sessions", "--home-u-app--", "whole.jsonl"), whole)

	run := program(t, home, nil, pi.New(), claude.New())
	run("index")
	ids := regexp.MustCompile(`\b[aru][0-9]\b|e-[aru][0-9]\b`)
	spans := regexp.MustCompile(`<span class="piece" id="[^"]*"></span>\n|<a id="[^"]*"></a>\n|(?s:<header>.*?</header>)|\x60[^\x60]*\x60|(?m:^ *$)| <span class="fact" title="from the times[^>]*>[^<]*</span>`)
	plain := func(s string) string {
		_, talk, _ := strings.Cut(s, "\n\n") // below the facts
		if i := strings.Index(s, "<main"); i >= 0 {
			talk, _, _ = strings.Cut(s[i:], "<footer>")
		}
		s = ids.ReplaceAllString(spans.ReplaceAllString(talk, ""), "ID")
		return regexp.MustCompile(`\n{2,}`).ReplaceAllString(regexp.MustCompile(`10:00:\d\d|00:\d\d`).ReplaceAllString(s, "TIME"), "\n")
	}
	file := filepath.Join(home, "out")
	export := func(format, session string) string {
		run("export", session, "--format", format, "--force", "-o", file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, show := range map[string]func(session string) string{
		"text":   func(s string) string { return run("show", s) },
		"full":   func(s string) string { return run("show", s, "--full") },
		"all":    func(s string) string { return run("show", s, "--all") },
		"around": func(s string) string { return run("show", s+":r1", "--around", "1") },
		"md":     func(s string) string { return export("md", s) },
		"html":   func(s string) string { return export("html", s) },
	} {
		got, want := show("0a1b2c3d"), show("whole")
		if diff := cmp.Diff(plain(want), plain(got)); diff != "" || !strings.Contains(want, "badgers") {
			t.Errorf("%s (-whole +in pieces):\n%s", name, diff)
		}
	}
}
