package e2e

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/adapter/claude"
	"pigrep/internal/session"
)

// A file that was empty at first, or had half a line, belongs to the agent that recognizes it
// when it can be recognized.
func TestFileThatIsRecognizedLate(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"empty": "", "half a line": claudeStory()[1][:100], "a blank line": "\n", "an unknown line": `{"neither":"nor"}` + "\n"} {
		h := homeOf(t, t.TempDir(), everyAgent()...)
		path := filepath.Join(h.dir, claudeID+".jsonl")
		appendTo(t, path, first)
		h.update(t)
		if name == "half a line" {
			appendTo(t, path, claudeStory()[1][100:]+"\n")
		}
		h.grow(t, path, claudeStory()[2]+"\n", claudeStory()[3]+"\n")
		if s := ofFile(h.update(t), path); !slices.ContainsFunc(s, func(s session.Summary) bool { return s.Agent == claude.Name && s.ID == claudeID }) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// hostile are the bytes of files, made from lines that say a word of two: each of them is found.
var hostile = map[string]func(line func(text string) string) string{
	"torn":  func(line func(string) string) string { return line(`"quokka"`) + "\n" + line(`"numbat"`)[:90] },
	"fused": func(line func(string) string) string { return line(`"quokka"`) + line(`"numbat"`) + "\n" },
	"zero bytes": func(line func(string) string) string {
		return "\x00\x00" + line(`"quokka"`) + "\n\x00\x00\n" + line(`"numbat"`)
	},
	"carriage returns": func(line func(string) string) string { return line(`"quokka"`) + "\r\n" + line(`"numbat"`) + "\r\n" },
	"a byte order mark": func(line func(string) string) string {
		return "\ufeff" + line(`"quokka"`) + "\n" + line(`"numbat"`) + "\n"
	},
	"no UTF-8": func(line func(string) string) string {
		return line("\"quokka \xff\xfe\xc3\"") + "\n" + line(`"numbat"`) + "\n"
	},
	"half a surrogate": func(line func(string) string) string { return line(`"quokka \ud83d"`) + "\n" + line(`"numbat"`) + "\n" },
	"depth": func(line func(string) string) string {
		return more(line(`"quokka"`), `,"deep":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)) + "\n" + line(`"numbat"`) + "\n"
	},
	"deep content": func(line func(string) string) string {
		return line(strings.Repeat("[", 3000)+`"quokka"`+strings.Repeat("]", 3000)) + "\n" + line(`"numbat"`) + "\n"
	},
	"keys twice": func(line func(string) string) string {
		return more(line(`"quokka"`), `,"novel":"a","novel":"b"`) + "\n" + line(`"numbat"`) + "\n"
	},
	"numbers": func(line func(string) string) string {
		return more(line(`"quokka"`), `,"n":`+strings.Repeat("9", 400)+`,"m":-1e999999`) + "\n" + line(`"numbat"`) + "\n"
	},
	"year 0":             func(line func(string) string) string { return at("0000-01-01T00:00:00.000Z", line) },
	"year 9999":          func(line func(string) string) string { return at("9999-12-31T23:59:59.999Z", line) },
	"no such day":        func(line func(string) string) string { return at("2026-13-45T99:99:99Z", line) },
	"a time that is odd": func(line func(string) string) string { return at("-1", line) },
}

// more adds members to an object.
func more(object, members string) string { return strings.TrimSuffix(object, "}") + members + "}" }

// at writes lines of a time.
func at(time string, line func(string) string) string {
	return strings.ReplaceAll(line(`"quokka"`)+"\n"+line(`"numbat"`)+"\n", "2026-03-01T10:00:00.000Z", time)
}

// Whatever is broken in a file, its texts are found, the index is what the file says, and one
// that grows is the one that is made at once. Every list has it.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	for name, file := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, everyAgent()...)
			n := 0
			texts := map[string]string{
				claudeFile(h.dir): file(func(content string) string {
					n++
					return fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"cwd":"/home/u/app","sessionId":"%s","type":"user","message":{"role":"user","content":%s},"uuid":"u%d","timestamp":"2026-03-01T10:00:00.000Z"}`, claudeID, content, n)
				}),
				codexFile(h.dir, codexID): file(func(content string) string {
					return fmt.Sprintf(`{"timestamp":"2026-03-01T10:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":%s}]}}`, content)
				}),
			}
			for path, text := range texts {
				h.grow(t, path, text[:len(text)/3], text[len(text)/3:len(text)*2/3], text[len(text)*2/3:])
			}
			r := h.checked(t).Reader
			for word, want := range map[string]int{"quokka": 2, "numbat": 2} {
				if name == "torn" && word == "numbat" {
					want = 0
				}
				if got := h.hits(t, r, word); len(got) != want {
					t.Errorf("%d hits of %s, want %d", len(got), word, want)
				}
			}
			run := program(t, h.dir, nil, everyAgent()...)
			for _, command := range []string{"sessions --jsonl", "usage --jsonl --by session", "tools --jsonl", "status --json", "show --json " + claudeID, "show --json " + codexID, "grep --json quokka"} {
				if out := run(strings.Fields(command)...); strings.Contains(out, `"error":{`) || strings.Contains(out, "panic") || out == "" {
					t.Errorf("%s prints:\n%.500s", command, out)
				}
			}
		})
	}
}

// Images stay out of the index, however an agent writes them, and what is too long for it is said.
func TestImagesAndLongLines(t *testing.T) {
	t.Parallel()
	h := newHome(t, everyAgent()...)
	h.registry = h.registry.Limit(adapter.Limits{Line: 4 << 20})
	h.opt.Adapter = h.registry
	data := make([]byte, 1<<20)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range data {
		data[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[rng.IntN(64)]
	}
	block := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + string(data) + `"}}`
	appendTo(t, claudeFile(h.dir), claudeLine("u1", "null", "user", `{"role":"user","content":[{"type":"text","text":"see the quokka"},`+block+`]}`)+
		strings.Replace(claudeLine("u2", `"u1"`, "user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"read"},`+block+`]}]}`),
			`"uuid"`, `"toolUseResult":{"type":"image","file":{"base64":"`+string(data)+`","type":"image/png"}},"uuid"`, 1))
	appendTo(t, codexFile(h.dir, codexID), strings.Join(codexLines(10, codexMeta(codexID, ""),
		[2]string{"response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"see the numbat"},{"type":"input_image","image_url":"data:image/png;base64,` + string(data) + `"}]}`},
		[2]string{"compacted", `{"message":"so far","replacement_history":[` + strings.Repeat(block+",", 3) + block + `]}`},
		[2]string{"response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"after the bilby"}]}`}), "\n")+"\n")
	res := h.checked(t)
	h.wantHits(t, res.Reader, map[string][]string{"quokka": {"prompt 1"}, "numbat": {"prompt 2"}, "bilby": {"reply 4"}})
	if tokens := res.Reader.Tokens(); tokens > 100 {
		t.Errorf("the index has %d tokens: images are among them", tokens)
	}
	if s := ofFile(res, codexFile(h.dir, codexID)); len(s) != 1 || s[0].Skipped != 1 {
		t.Errorf("the line that is too long is not counted: %+v", s)
	}
}

// In a collection that looks like the directory of an agent, the sessions of any agent are found
// wherever they are. In the directory itself, nothing but the sessions of the agent is opened.
func TestNamedHome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const codexHead = `{"timestamp":"2026-01-02T03:04:05.000Z","type":"session_meta","payload":{"id":"019cc1e9-6537-70a3-a8cd-d2957e043d%s","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w","originator":"codex_cli_rs","cli_version":"0.50.0"}}` + "\n"
	const piHead = `{"type":"session","version":3,"id":"p1","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w"}` + "\n"
	for name, text := range map[string]string{
		"sessions/2026/01/02/rollout-2026-01-02T03-04-05-019cc1e9-6537-70a3-a8cd-d2957e043d01.jsonl": fmt.Sprintf(codexHead, "01"),
		"sessions/2026/01/02/copy.jsonl": fmt.Sprintf(codexHead, "02"), // Codex itself does not read it
		"backup/a/any-name.jsonl":        fmt.Sprintf(codexHead, "03"),
		"backup/of-pi.jsonl":             piHead,
		"backup/data.jsonl":              `{"a":1}` + "\n",
		"backup/empty.jsonl":             "",
		"history.jsonl":                  piHead, // a file of the agent
		".cache/rollout-2026-01-02T03-04-05-019cc1e9-6537-70a3-a8cd-d2957e043d04.jsonl": fmt.Sprintf(codexHead, "04"),
	} {
		appendTo(t, filepath.Join(dir, name), text)
	}
	h := homeOf(t, dir, everyAgent()...)
	found := func() (ids []string) {
		for _, s := range h.update(t).Reader.Summaries() {
			ids = append(ids, s.ID[max(0, len(s.ID)-2):])
		}
		slices.Sort(ids)
		return ids
	}
	if got, want := found(), []string{"01", "03", "p1"}; !slices.Equal(got, want) {
		t.Errorf("sessions %v of a collection, want %v", got, want)
	}
	appendTo(t, filepath.Join(dir, "auth.json"), "{}")
	if got, want := found(), []string{"01"}; !slices.Equal(got, want) {
		t.Errorf("sessions %v of an agent's directory, want %v", got, want)
	}

	omp := t.TempDir() // its files are one directory further down
	appendTo(t, filepath.Join(omp, "agent", "sessions", "--w--", "a.jsonl"), piHead)
	appendTo(t, filepath.Join(omp, "agent", "auth.json"), "{}")
	appendTo(t, filepath.Join(omp, "logs", "b.jsonl"), piHead)
	if list := homeOf(t, omp, everyAgent()...).update(t).Reader.Summaries(); len(list) != 1 {
		t.Errorf("%d sessions of the directory of oh-my-pi, want 1", len(list))
	}
}

// A directory below another one that is given too is read once, whoever writes in it.
func TestRootsInsideRoots(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	all := filepath.Join(home, "all")
	inner := filepath.Join(all, "inner")
	appendTo(t, filepath.Join(all, claudeID+".jsonl"), claudeStory()[2]+"\n")
	appendTo(t, filepath.Join(inner, "rollout-2026-03-01T10-00-00-"+codexID+".jsonl"), strings.Join(codexLines(10, codexMeta(codexID, "")), "\n")+"\n")
	appendTo(t, filepath.Join(inner, "pi.jsonl"), piHeader+piPrompt)
	appendTo(t, filepath.Join(inner, "odd.jsonl"), `{"neither":"nor"}`+"\n")
	run := program(t, home, nil, everyAgent()...)
	for _, dirs := range [][]string{{all, inner}, {inner, all}, {all, all}} {
		out := run("sessions", "--jsonl", "--session-dir", dirs[0], "--session-dir", dirs[1])
		for _, agent := range []string{"claude", "codex", "pi"} {
			if strings.Count(out, `"agent":"`+agent+`"`) != 1 {
				t.Errorf("%v: not one session of %s:\n%s", dirs, agent, out)
			}
		}
	}
}
