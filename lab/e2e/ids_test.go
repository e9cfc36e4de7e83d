package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pigrep/lab/testkit"
)

// sharedID is one id of sessions in a random scene, as a plain model knows it.
type sharedID struct {
	id       string
	sessions []*plainSession
}

// plainSession is a session as the union of the entries of its files.
type plainSession struct {
	words map[string]bool // a word for each entry
	files map[string]bool
}

// A session is the union of the entries of its files, in every answer: of copies, of copies that went on
// apart, of a file that goes on where another one ends, of a file that lost its beginning. What only has
// the id in common with it is another session, with a name of its own. Each printed name finds its session,
// and each entry counts, costs and is found once.
func TestSharedIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		home, err := os.MkdirTemp(t.TempDir(), "")
		testkit.Check(t, err)
		claude := rapid.Bool().Draw(rt, "claude")
		words := 0
		line := func(id, parent, session string) string {
			words++
			word := fmt.Sprintf("word%dw", words)
			at := fmt.Sprintf("2026-03-01T10:%02d:%02d.000Z", words/60, words%60)
			role, usage := "user", ""
			if words%2 == 0 {
				role = "assistant"
			}
			if claude {
				if role == "assistant" {
					usage = fmt.Sprintf(`,"id":"m-%s","model":"claude-opus-4-5","usage":{"input_tokens":%d,"output_tokens":0}`, id, 1000+words)
				}
				if parent = `"` + parent + `"`; parent == `""` {
					parent = "null"
				}
				return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":%q,"cwd":"/w","timestamp":%q,"version":"2.0.1","message":{"role":%q,"content":[{"type":"text","text":"say %s"}]%s}}`, role, id, parent, session, at, role, word, usage)
			}
			if role == "assistant" {
				usage = fmt.Sprintf(`,"provider":"anthropic","model":"claude-opus-4-5","usage":{"input":%d,"output":0,"cost":{"total":0.5}}`, 1000+words)
			}
			if parent = `"` + parent + `"`; parent == `""` {
				parent = "null"
			}
			return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":%q,"message":{"role":%q,"content":[{"type":"text","text":"say %s"}]%s}}`, id, parent, at, role, word, usage)
		}
		entries := 0
		chain := func(session, parent string, n int) (lines []string, last string) {
			for range n {
				entries++
				id := fmt.Sprintf("%08x-0000-4000-8000-%012x", entries*7919, entries)
				lines, parent = append(lines, line(id, parent, session)), id
			}
			return lines, parent
		}
		idOf := func(line string) string {
			var e struct{ ID, UUID string }
			testkit.Check(t, json.Unmarshal([]byte(line), &e))
			return e.ID + e.UUID
		}
		wordOf := func(line string) string { return line[strings.Index(line, "word"):strings.Index(line, `"}]`)] }
		var scene []sharedID
		for n := range rapid.IntRange(1, 3).Draw(rt, "ids") {
			of := sharedID{id: fmt.Sprintf("%08d-aaaa-4bbb-8ccc-%012d", n+1, n+1)}
			file := 0
			add := func(s *plainSession, lines []string) {
				file++
				dir := filepath.Join(home, ".claude", "projects", fmt.Sprint("-w-", file))
				name := of.id + ".jsonl"
				text := strings.Join(lines, "\n") + "\n"
				if !claude {
					dir = filepath.Join(home, ".pi", "agent", "sessions", fmt.Sprint("--w--", file))
					name = "2026-03-01T10-00-00-000Z_" + name
					text = fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-03-01T10:00:00.000Z","cwd":"/w"}`+"\n", of.id) + text
				}
				appendTo(t, filepath.Join(dir, name), text)
				s.files[filepath.Join(dir, name)] = true
				for _, l := range lines {
					s.words[wordOf(l)] = true
				}
			}
			for range rapid.IntRange(1, 3).Draw(rt, "sessions") {
				s := &plainSession{words: make(map[string]bool), files: make(map[string]bool)}
				of.sessions = append(of.sessions, s)
				lines, _ := chain(of.id, "", rapid.IntRange(1, 6).Draw(rt, "entries"))
				add(s, lines)
				for range rapid.IntRange(0, 3).Draw(rt, "more files") {
					cut := rapid.IntRange(1, len(lines)).Draw(rt, "cut")
					tail, _ := chain(of.id, idOf(lines[cut-1]), rapid.IntRange(0, 4).Draw(rt, "tail"))
					switch kind := rapid.SampledFrom([]string{"copy", "tail", "goes on", "beginning lost"}).Draw(rt, "kind"); {
					case kind == "copy":
						add(s, lines)
					case kind == "tail":
						add(s, slices.Concat(lines[:cut], tail))
					case kind == "goes on" && len(tail) > 0:
						add(s, tail)
					case kind == "beginning lost" && cut < len(lines):
						add(s, slices.Concat(lines[cut:], tail))
					}
				}
			}
			scene = append(scene, of)
		}
		checkSharedIDs(t, rt, program(t, home, nil, everyAgent()...), scene)
	})
}

func checkSharedIDs(t *testing.T, rt *rapid.T, run func(args ...string) string, scene []sharedID) {
	var list struct {
		Sessions []struct {
			SessionPath, SessionID, ShortID string
			Messages                        int
			Tokens                          int64
		}
	}
	testkit.Check(t, json.Unmarshal([]byte(run("sessions", "--json", "--limit", "0")), &list))
	found := make(map[*plainSession]bool)
	seen := make(map[string]bool)
	tokens, all := int64(0), 0
	for _, row := range list.Sessions {
		var s *plainSession
		several := 0
		for _, of := range scene {
			for _, candidate := range of.sessions {
				if candidate.files[row.SessionPath] {
					s, several = candidate, len(of.sessions)
				}
			}
		}
		if s == nil || found[s] {
			rt.Fatalf("a row for no session, or for one that has a row: %+v", row)
		}
		found[s] = true
		if seen[row.ShortID] || strings.ContainsRune(row.ShortID, '.') != (several > 1) {
			rt.Fatalf("%d sessions have the id, and one is named %s", several, row.ShortID)
		}
		seen[row.ShortID] = true
		if row.Messages != len(s.words) {
			rt.Fatalf("%s has %d messages, want %d", row.ShortID, row.Messages, len(s.words))
		}
		tokens += row.Tokens
		all += len(s.words)
		want := slices.Sorted(maps.Keys(s.words))
		for _, args := range [][]string{{"show", row.ShortID, "--all", "--json"}, {"export", row.ShortID, "--all"}, {"show", row.SessionPath, "--all"}} {
			if got := wordsOf(run(args...)); !slices.Equal(got, want) {
				rt.Fatalf("pigrep %s has %v, want %v", strings.Join(args, " "), got, want)
			}
		}
		for _, word := range want {
			var hits struct {
				Hits []struct{ SessionPath, EntryID, ShortEntryID string }
			}
			testkit.Check(t, json.Unmarshal([]byte(run("search", word, "--json", "--session", row.ShortID)), &hits))
			if len(hits.Hits) != 1 || !s.files[hits.Hits[0].SessionPath] {
				rt.Fatalf("%d hits for %s in session %s: %+v", len(hits.Hits), word, row.ShortID, hits.Hits)
			}
			for _, id := range []string{hits.Hits[0].EntryID, hits.Hits[0].ShortEntryID} {
				if id == "" {
					continue
				}
				if got := run("show", row.ShortID+":"+id, "--around", "0"); !strings.Contains(got, word) {
					rt.Fatalf("pigrep show %s:%s lacks %s:\n%s", row.ShortID, id, word, got)
				}
			}
		}
	}
	sessions := 0
	for _, of := range scene {
		sessions += len(of.sessions)
		if got := run("show", of.id); strings.Contains(got, "other sessions have the id") != (len(of.sessions) > 1) {
			rt.Fatalf("of %d sessions, pigrep show %s says:\n%s", len(of.sessions), of.id, got)
		}
	}
	if len(found) != sessions {
		rt.Fatalf("%d rows for %d sessions", len(found), sessions)
	}
	var usage struct{ Total struct{ Tokens int64 } }
	testkit.Check(t, json.Unmarshal([]byte(run("usage", "--json")), &usage))
	if usage.Total.Tokens != tokens {
		rt.Fatalf("the list has %d tokens, usage %d", tokens, usage.Total.Tokens)
	}
}

// wordsOf returns the different words of entries in a text, in order.
func wordsOf(text string) []string {
	words := make(map[string]bool)
	for i := range text {
		if rest := text[i:]; strings.HasPrefix(rest, "word") {
			if end := strings.IndexByte(rest[4:], 'w'); end > 0 && strings.Trim(rest[4:4+end], "0123456789") == "" {
				words[rest[:end+5]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(words))
}
