package e2e

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/adapter/claude"
	"pigrep/adapter/codex"
	"pigrep/adapter/pi"
	"pigrep/index/record"
	"pigrep/internal/content"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
	"pigrep/lab/testkit"
)

// everyAgent are those whose files are among the fixtures.
func everyAgent() []adapter.Agent {
	return []adapter.Agent{pi.New(), claude.New(), codex.New(), pi.NewOhMyPi(), pi.NewPrime()}
}

// fixture is a session file of an agent.
type fixture struct {
	agent, path, name string
	text              []byte // decompressed
}

// fixtures returns the session files of other agents, and those of dialects of pi: in the short run the
// small ones.
func fixtures(t *testing.T) (list []fixture) {
	for _, agent := range []string{"claude", "codex", "omp"} {
		files := adapters.Fixtures(t, agent)
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if filepath.Base(path) != "session_index.jsonl" && len(files[path]) <= testkit.HowMany(32<<10, 1<<30, 1<<30) {
				list = append(list, fixture{agent, path, agent + "/" + filepath.Base(path), files[path]})
			}
		}
	}
	return list
}

// alone returns a home with nothing but this file, in a directory of the same name.
func (f *fixture) alone(t *testing.T) (h home, path string) {
	dir := t.TempDir()
	_, below, _ := strings.Cut(filepath.ToSlash(f.path), "/agents/"+f.agent+"/")
	path = filepath.Join(dir, filepath.FromSlash(content.Logical(below)))
	appendTo(t, path, string(f.text))
	return homeOf(t, dir, everyAgent()...), path
}

// leftOut are the members whose strings nobody looks for, and why.
var leftOut = func() map[string]bool {
	keys := make(map[string]bool)
	for why, names := range map[string]string{
		"types, roles and states": `type role subtype status stop_reason stopReason level operation trigger userType entrypoint
			permissionMode promptSource service_tier inference_geo phase source originator history_mode kind mode state record_type
			customType api speed direction limit_id collaboration_mode_kind content_item_kinds attribution parsed_cmd service_tier`,
		"ids": `id uuid parentUuid logicalParentUuid sessionId session_id messageId requestId leafUuid toolUseID parentToolUseID
			sourceToolAssistantUUID sourceToolUseID promptId tool_use_id agentId slug parentId call_id turn_id toolCallId targetId responseId revision
			thread_id response_id root_turn_id window_id process_id chunk_id process commit_hash prompt_cache_key firstKeptEntryId`,
		"times and versions": `timestamp version cli_version backupTime completed_at started_at updatedAt updated_at date`,
		"figures of the session": `cwd gitBranch branch repository_url model provider model_provider effort thinkingLevel fallback plan_type
			sandbox_policy approval_policy thread_settings runtime_workspace_roots workspace_roots collaboration_mode`,
		"encrypted, or an image": `signature thinkingSignature encrypted_content image_url data fingerprint textSignature`,
		"copies of a file before and after an edit, whose change stands in the call": `originalFile originalFileContents structuredPatch
			oldString newString edits oldTodos newTodos`,
		"the names of files that calls name": `snapshot`,
		"the same in every session":          `base_instructions user_instructions developer_instructions replacement_history world_state`,
	} {
		_ = why // it is said to the reader
		for _, name := range strings.Fields(names) {
			keys[name] = true
		}
	}
	return keys
}()

// envelope is what Codex says of a command before its output, and the shell that runs it. It
// becomes facts.
var envelope = regexp.MustCompile(`^(/bin/bash$|Chunk ID|Wall time|Process exited with code|Process running with session ID|Original token count|Exit code|Duration|Output|Total output lines):?`)

// texts calls use for the strings of a value, but for those that are left out. A string that is
// JSON has the strings of that.
func texts(v any, use func(text string)) {
	switch v := v.(type) {
	case string:
		var inner any
		if strings.HasPrefix(v, "{") && json.Unmarshal([]byte(v), &inner) == nil {
			texts(inner, use)
			return
		}
		use(v)
	case []any:
		for _, v := range v {
			texts(v, use)
		}
	case map[string]any:
		for key, v := range v {
			if !leftOut[key] {
				texts(v, use)
			}
		}
	}
}

var (
	word   = regexp.MustCompile(`[\p{L}\p{M}\p{N}_]+`)
	plain  = regexp.MustCompile(`^\p{L}{3,}$`)
	marks  = regexp.MustCompile(`</?[a-z_-]+>|\x1b\[[0-9;]*m`) // tags of Claude Code, and colours
	prefix = regexp.MustCompile(`^Error: `)
)

// wordsIn returns the words of a text that are nothing but letters.
func wordsIn(text string) []string {
	return slices.DeleteFunc(word.FindAllString(strings.ToLower(text), -1), func(w string) bool { return !plain.MatchString(w) })
}

// Every text of every fixture is found by its rarest words, in its line or in another one that
// has it, too.
func TestEveryTextIsFound(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) { f.everyTextIsFound(t) })
	}
}

func (f *fixture) everyTextIsFound(t *testing.T) {
	h, _ := f.alone(t)
	r := h.checked(t).Reader
	count := make(map[string]int)
	var lines [][]string // pieces of the texts of each line
	for line := range bytes.Lines(f.text) {
		var v any
		var pieces []string
		if json.Unmarshal(line, &v) == nil {
			texts(v, func(text string) {
				for piece := range strings.Lines(text) {
					piece = strings.TrimSpace(prefix.ReplaceAllString(marks.ReplaceAllString(piece, " "), ""))
					if !envelope.MatchString(piece) {
						pieces = append(pieces, piece)
					}
				}
			})
		}
		for _, piece := range pieces {
			for _, word := range wordsIn(piece) {
				count[word]++
			}
		}
		lines = append(lines, pieces)
	}
	found := make(map[string][]int) // lines, by query
	missing := 0
	apart := 1 + len(lines)/testkit.HowMany(8, 1<<20, 1<<20) // the short run asks for some lines only
	for i, pieces := range lines {
		if i%apart != 0 {
			continue
		}
		for _, piece := range pieces {
			query := rarest(piece, count)
			if query == "" {
				continue
			}
			if _, ok := found[query]; !ok {
				found[query] = []int{}
				for _, hit := range h.hits(t, r, query) {
					found[query] = append(found[query], hit.Line)
				}
			}
			if !slices.ContainsFunc(found[query], func(line int) bool {
				return line == i+1 || slices.ContainsFunc(lines[line-1], func(other string) bool { return strings.Contains(other, piece) })
			}) {
				if missing++; missing < 10 {
					t.Errorf("line %d: %q is not found by %q, only lines %v", i+1, piece, query, found[query])
				}
			}
		}
	}
	if len(found) == 0 || missing > 0 {
		t.Errorf("%d queries, %d texts are not found", len(found), missing)
	}
}

// rarest is a query for the two rarest words of a text, "" if it has none.
func rarest(text string, count map[string]int) string {
	words := wordsIn(text)
	slices.SortStableFunc(words, func(a, b string) int { return count[a] - count[b] })
	words = slices.Compact(words)
	var query []string
	for _, w := range words[:min(2, len(words))] {
		query = append(query, "+"+w)
	}
	return strings.Join(query, " ")
}

// An index that grows line by line, and half a line at a time, is the one that is made at once.
func TestFixturesGrow(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) {
			h, path := f.alone(t)
			testkit.Check(t, os.Remove(path))
			var steps []string
			lines := bytes.SplitAfter(f.text, []byte("\n"))
			each := max(1, len(lines)/testkit.HowMany(2, 60, 1000)) // lines a step
			for group := range slices.Chunk(lines, each) {
				whole := string(bytes.Join(group, nil))
				steps = append(steps, whole[:len(whole)/2], whole[len(whole)/2:])
			}
			h.grow(t, path, steps...)
		})
	}
}

// fixtureTruth is what a fixture contains, as read by two programs other than pigrep.
type fixtureTruth struct {
	Session struct {
		ID          *string
		Header      struct{ ID string }
		Title       json.RawMessage
		FirstPrompt *string `json:"first_prompt"`
		Metas       []struct {
			ForkedFrom  *string `json:"forked_from_id"`
			HistoryBase *struct {
				Thread string `json:"thread_id"`
			} `json:"history_base"`
		}
	}
	Usage fixtureUsage
}

type fixtureUsage struct {
	Input, Output, CacheRead, CacheWrite int64
	InputTokens                          int64 `json:"input_tokens"` // of Codex: with those from the cache
	CachedTokens                         int64 `json:"cached_input_tokens"`
	OutputTokens                         int64 `json:"output_tokens"`
}

// The index says of each fixture what other readers say: whose it is, how it begins, what it used.
func TestFixturesAreTrue(t *testing.T) {
	t.Parallel()
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) { f.isTrue(t) })
	}
}

func (f *fixture) isTrue(t *testing.T) {
	var want fixtureTruth
	testkit.Check(t, json.Unmarshal(read(t, f.path+".truth.json"), &want))
	h, path := f.alone(t)
	res := h.checked(t)
	s := ofFile(res, path)[0]
	set, err := res.Reader.Facts(t.Context(), record.FactKinds[:]...)
	testkit.Check(t, err)
	facts, err := set.Facts(s.File)
	testkit.Check(t, err)
	var used session.Usage
	for _, u := range facts.Usages {
		used.Input, used.Output = used.Input+u.Input, used.Output+u.Output
		used.CacheRead, used.CacheWrite = used.CacheRead+u.CacheRead, used.CacheWrite+u.CacheWrite
	}
	w := want.Usage
	sum := session.Usage{Input: w.Input + w.InputTokens - w.CachedTokens, Output: w.Output + w.OutputTokens, CacheRead: w.CacheRead + w.CachedTokens, CacheWrite: w.CacheWrite}
	if used != sum || s.UsedTokens != sum.Tokens() {
		t.Errorf("usage %+v, %d tokens in all, want %+v", used, s.UsedTokens, sum)
	}
	agent := map[string]string{"claude": claude.Name, "codex": codex.Name, "omp": pi.OhMyPiName}[f.agent]
	if id := want.Session.ID; s.Agent != agent || id != nil && s.ID != *id && s.Relation != session.Spawned || id == nil && want.Session.Header.ID != "" && s.ID != want.Session.Header.ID {
		t.Errorf("session %s of %s, want %v of %s", s.ID, s.Agent, want.Session, agent)
	}
	if title := titleOf(want.Session.Title); s.Name != title {
		t.Errorf("name %q, want %q", s.Name, title)
	}
	if p := want.Session.FirstPrompt; p == nil && s.Relation != session.Spawned && s.FirstPrompt != "" || p != nil && !sameBeginning(s.FirstPrompt, *p) {
		t.Errorf("first prompt %q, want %v", s.FirstPrompt, p)
	}
	parent := ""
	if metas := want.Session.Metas; len(metas) > 0 {
		switch m := metas[0]; {
		case m.HistoryBase != nil:
			parent = m.HistoryBase.Thread
		case m.ForkedFrom != nil:
			parent = *m.ForkedFrom
		}
	} else if strings.Contains(f.path, "/subagents/") {
		parent = filepath.Base(filepath.Dir(filepath.Dir(f.path)))
	}
	if s.ParentSession != parent {
		t.Errorf("parent %q, want %q", s.ParentSession, parent)
	}
}

// titleOf reads the title of a session: a string, null, or an object with its text.
func titleOf(title json.RawMessage) (text string) {
	var object struct{ Text string }
	if json.Unmarshal(title, &text) != nil && json.Unmarshal(title, &object) == nil {
		text = object.Text
	}
	return text
}

// sameBeginning reports whether a first prompt, which is cut, is the beginning of a text. What an
// editor says before a prompt is no part of it.
func sameBeginning(cut, whole string) bool {
	cut, whole = strings.Join(strings.Fields(cut), " "), strings.Join(strings.Fields(whole), " ")
	return cut != "" && (strings.HasPrefix(whole, strings.TrimSuffix(cut, "…")) || strings.HasPrefix(cut, whole) || strings.HasPrefix(whole, "# Context from my IDE setup:"))
}
