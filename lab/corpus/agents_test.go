package corpus_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/adapter/claude"
	"pigrep/adapter/codex"
	"pigrep/internal/content"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
	"pigrep/lab/corpus"
	"pigrep/lab/testkit"
)

// The sessions of other agents are theirs: their adapters know every line and every member, and
// no line is broken. Their bytes come from the seed alone.
func TestOtherAgents(t *testing.T) {
	for _, agent := range []adapter.Agent{claude.New(), codex.New()} {
		t.Run(agent.Label(), func(t *testing.T) {
			opts := corpus.Options{Seed: 2, Bytes: int64(testkit.HowMany(3, 6, 6)) << 20, Agent: session.ShortAgent(agent.Name()), Packed: true}
			_, digest := generated(t, opts)
			if _, again := generated(t, opts); again != digest {
				t.Errorf("Generate(%+v) gives other bytes the second time", opts)
			}
			dir := t.TempDir()
			stats, err := corpus.Generate(dir, opts)
			testkit.Check(t, err)
			if stats.Packed == 0 || stats.Forks == 0 {
				t.Errorf("no compressed file or no fork: %+v", stats)
			}
			sum, relations := int64(0), map[session.Relation]int{}
			for _, path := range files(t, dir) {
				data := text(t, path)
				sum += int64(len(data))
				if agent.Recognize(data[:min(len(data), adapter.HeadLength)]) != adapter.Transcript {
					t.Errorf("%s is not recognized", path)
				}
				r := adapters.Parse(t, agent, adapter.State{Path: content.Logical(path), Facts: true}, data)
				relations[r.End.Header.Relation]++
				for _, p := range r.Problems {
					t.Errorf("%s: %+v", path, p)
				}
				for _, e := range r.Entries {
					for _, part := range e.Parts {
						if part.Kind == session.KindOther {
							t.Fatalf("%s: line %d has text that no rule covers: %.200s", path, e.Line, part.Text)
						}
					}
				}
			}
			if sum != stats.Bytes {
				t.Errorf("Generate reports %d bytes, wrote %d", stats.Bytes, sum)
			}
			if relations[session.Unrelated] == stats.Files {
				t.Error("no file names another")
			}
		})
	}
}

// text returns what is in a file, decompressed.
func text(t *testing.T, path string) []byte {
	t.Helper()
	stored, err := os.Open(path)
	testkit.Check(t, err)
	f, err := content.New(stored, 0)
	testkit.Check(t, err)
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, 0, math.MaxInt64))
	testkit.Check(t, err)
	return data
}

// line is a line of any agent, as far as the shares need it.
type line struct {
	Type          string
	Message       struct{ ID string }
	ToolUseResult json.RawMessage
	Payload       struct {
		Type string
		Info json.RawMessage
	}
}

// share is of all bytes, lines or messages, and where it lies in real files.
type share struct {
	what           string
	got, low, high float64
}

// Of the bytes, lines and messages of other agents, as many repeat others as in real files.
func TestSharesOfOtherAgents(t *testing.T) {
	for agent, sharesOf := range map[string]func(lines [][]byte, files []string) []share{"claude": claudeShares, "codex": codexShares} {
		dir := t.TempDir()
		_, err := corpus.Generate(dir, corpus.Options{Seed: 5, Bytes: 16 << 20, Agent: agent})
		testkit.Check(t, err)
		var lines [][]byte
		paths := files(t, dir)
		for _, path := range paths {
			data := text(t, path)
			lines = append(lines, bytes.SplitAfter(data[:len(data)-1], []byte("\n"))...)
		}
		for _, s := range sharesOf(lines, paths) {
			if s.got < s.low || s.got > s.high {
				t.Errorf("%s: %s is %.3f, want %.3f to %.3f", agent, s.what, s.got, s.low, s.high)
			}
		}
	}
}

func claudeShares(lines [][]byte, files []string) []share {
	var total, made, progress, states, progressed float64
	messages, pieces := map[string]int{}, 0.0
	for _, data := range lines {
		l, size := decoded(data), float64(len(data))
		total += size
		made += float64(len(l.ToolUseResult))
		switch l.Type {
		case "progress":
			progress += size
			progressed++
		case "queue-operation", "last-prompt", "file-history-snapshot":
			states += size
		case "assistant":
			if l.Message.ID != "" {
				messages[l.Message.ID]++
			}
		}
	}
	for _, n := range messages {
		if n > 1 {
			pieces++
		}
	}
	subagents := 0.0
	for _, path := range files {
		if strings.Contains(filepath.ToSlash(path), "/subagents/agent-") {
			subagents++
		}
	}
	return []share{
		{"of the bytes, what is duplicated", (made + progress + states) / total, 0.53, 0.63},
		{"of the bytes, results as they were made", made / total, 0.26, 0.40},
		{"of the bytes, progress", progress / total, 0.18, 0.29},
		{"of the lines, progress", progressed / float64(len(lines)), 0.22, 0.38},
		{"of the messages, those in pieces", pieces / float64(len(messages)), 0.72, 0.84},
		{"of the files, subagents", subagents / float64(len(files)), 0.3, 0.8},
	}
}

func codexShares(lines [][]byte, files []string) []share {
	n, infos := map[string]float64{}, map[string]bool{}
	for _, data := range lines {
		l := decoded(data)
		n[l.Type+" "+l.Payload.Type]++
		if l.Payload.Type == "token_count" {
			infos[string(l.Payload.Info)] = true
		}
	}
	items := func(kind string) float64 { return n["response_item "+kind] }
	calls, counts := items("function_call")+items("custom_tool_call"), n["event_msg token_count"]
	said := n["event_msg agent_message"] + n["event_msg user_message"] + n["event_msg agent_reasoning"] + n["event_msg item_completed"]
	return []share{
		// 17,040 calls, 7,638 messages, 6,167 thoughts, 14,545 counts and 8,318 repeats
		{"messages and thoughts a call", (items("message") + items("reasoning")) / calls, 0.7, 1.7},
		{"events that repeat one, a message or thought", said / (items("message") + items("reasoning")), 0.5, 1.1},
		{"counts that are repeated", 1 - float64(len(infos))/counts, 0.30, 0.42},
		{"counts a call", counts / calls, 1.0, 1.7},
		{"results a call", (items("function_call_output") + items("custom_tool_call_output")) / calls, 0.97, 1.03},
		{"headers a file", n["session_meta "] / float64(len(files)), 1, 1.3},
	}
}

func decoded(data []byte) (l line) {
	if err := json.Unmarshal(data, &l); err != nil {
		panic(err) // the generator writes JSON
	}
	return l
}
