package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/internal/content"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/lab/corpus"
	"pigrep/lab/testkit"
	"pigrep/query/audit"
	"pigrep/query/search"
)

// plainFile is a session file as a plain scan of its JSON finds it.
type plainFile struct {
	path    string
	header  map[string]any
	at      time.Time // of the header
	entries []plainEntry

	session *plainFile // with the latest message, of the files that have one id and begin with the same message
}

type plainEntry struct {
	fields  map[string]any
	message map[string]any
	at      time.Time // the entry's own, or one from before
	own     bool
	copy    string // what it has in common with its copies, "" when it is none
	file    *plainFile
}

// stampOf reads a timestamp.
func stampOf(v any) (time.Time, bool) {
	switch v := v.(type) {
	case string:
		t, err := time.Parse(time.RFC3339Nano, v)
		return t.UTC().Truncate(time.Millisecond), err == nil
	case float64:
		return time.UnixMilli(int64(v)).UTC(), v != 0 && math.Abs(v) <= 8.64e15
	}
	return time.Time{}, false
}

func object(v any) map[string]any { m, _ := v.(map[string]any); return m }
func text(v any) string           { s, _ := v.(string); return s }

// scan reads session files with nothing but encoding/json.
func scan(t *testing.T, paths []string) []*plainFile {
	t.Helper()
	var files []*plainFile
	for _, path := range paths {
		opened, err := content.Open(path, 0)
		if err != nil {
			t.Fatal(err)
		}
		info := opened.Info
		data, err := io.ReadAll(opened.Text())
		if err := errors.Join(err, opened.Close()); err != nil {
			t.Fatal(err)
		}
		f := &plainFile{path: path}
		last := time.Time{}
		entry := func(o map[string]any) {
			if o["type"] == "session" || o["type"] == nil && o["kind"] == "header" {
				if f.header == nil {
					f.header = o
					for _, key := range []string{"timestamp", "createdAt"} {
						if at, ok := stampOf(o[key]); ok && f.at.IsZero() {
							f.at = at
						}
					}
				}
				return
			}
			e := plainEntry{fields: o, file: f}
			if o["type"] == "message" {
				e.message = object(o["message"])
			}
			if e.at, e.own = stampOf(o["timestamp"]); !e.own && e.message != nil {
				e.at, e.own = stampOf(e.message["timestamp"])
			}
			if e.own {
				rest := make(map[string]any)
				for k, v := range o {
					if !slices.Contains([]string{"id", "parentId", "targetId", "fromId", "firstKeptEntryId", "firstKeptEntryIndex"}, k) {
						rest[k] = v
					}
				}
				b, err := json.Marshal(rest)
				if err != nil {
					t.Fatal(err)
				}
				e.copy = string(b)
			} else if e.at = last; e.at.IsZero() {
				if e.at = f.at; e.at.IsZero() {
					e.at = info.ModTime().UTC()
				}
			}
			if e.own {
				last = e.at
			}
			f.entries = append(f.entries, e)
		}
		for line := range bytes.SplitSeq(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n")) {
			line = bytes.ReplaceAll(line, []byte{0}, []byte(" "))
			for d := json.NewDecoder(bytes.NewReader(line)); ; {
				var v any
				if d.Decode(&v) != nil {
					break
				}
				if o := object(v); o != nil {
					entry(o)
				} else if list, ok := v.([]any); ok {
					for _, v := range list {
						if o := object(v); o != nil && o["kind"] != nil {
							entry(o)
						}
					}
				}
			}
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b *plainFile) int {
		if a.at.IsZero() != b.at.IsZero() {
			return map[bool]int{true: 1, false: -1}[a.at.IsZero()]
		}
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.path, b.path))
	})
	ends := func(f *plainFile) (first string, last time.Time) {
		for i := range f.entries {
			if e := &f.entries[i]; e.message != nil {
				first = cmp.Or(first, e.copy)
				if role := text(e.message["role"]); (role == "user" || role == "assistant") && e.at.After(last) {
					last = e.at
				}
			}
		}
		return first, last
	}
	for _, f := range files {
		f.session = f
		first, last := ends(f)
		for _, o := range files {
			if one, end := ends(o); first != "" && one == first && o.header != nil && f.header != nil && o.header["id"] == f.header["id"] {
				if end.After(last) || end.Equal(last) && o.path < f.session.path {
					f.session, last = o, end
				}
			}
		}
	}
	return files
}

type plainUsage struct {
	Input, Output, CacheRead, CacheWrite int64
	Cost                                 float64
	Entries, Unusable, Unpriced          int
}

// number reads a figure of a usage; what cannot be right is 0.
func number(v any, most float64) float64 {
	n, ok := v.(float64)
	if !ok || n < 0 || n > most {
		return 0
	}
	return n
}

// usageOf returns what an entry used.
func usageOf(e *plainEntry) (u map[string]any, ok bool) {
	for _, v := range []any{e.message["usage"], e.fields["usage"]} {
		if v != nil {
			return object(v), true
		}
	}
	return nil, false
}

// plainUsages adds up usage by a key, each entry once.
func plainUsages(files []*plainFile, key func(*plainEntry) string) map[string]plainUsage {
	sums := make(map[string]plainUsage)
	seen := make(map[string]bool)
	for _, f := range files {
		for i := range f.entries {
			e := &f.entries[i]
			switch e.fields["type"] {
			case "label", "session_info", "model_change", "thinking_level_change", "custom", "custom_message", "context_edit", "leaf":
				continue
			}
			if role := e.message["role"]; role == "user" || role == "system" {
				continue
			}
			u, ok := usageOf(e)
			if !ok || seen[e.copy] {
				continue
			}
			if e.copy != "" {
				seen[e.copy] = true
			}
			s := sums[key(e)]
			s.Input += int64(number(u["input"], 1e12))
			s.Output += int64(number(u["output"], 1e12))
			s.CacheRead += int64(number(u["cacheRead"], 1e12))
			s.CacheWrite += int64(number(u["cacheWrite"], 1e12))
			tokens, usable := 0.0, u != nil
			for _, key := range []string{"input", "output", "cacheRead", "cacheWrite"} {
				tokens += number(u[key], 1e12)
				usable = usable && (u[key] == nil || number(u[key], 1e12) == u[key])
			}
			costs := []any{u["cost"]}
			if cost, ok := u["cost"].(map[string]any); ok {
				if costs = []any{cost["total"]}; cost["total"] == nil {
					costs = []any{cost["input"], cost["output"], cost["cacheRead"], cost["cacheWrite"]}
				}
			}
			spent := 0.0
			for _, cost := range costs {
				spent += number(cost, 1e9)
				usable = usable && (cost == nil || number(cost, 1e9) == cost)
			}
			s.Cost += spent
			s.Entries++
			if !usable {
				s.Unusable++
			} else if tokens > 0 && spent == 0 {
				s.Unpriced++
			}
			sums[key(e)] = s
		}
	}
	return sums
}

type plainTool struct {
	Calls, Errors, NoResult, NoCall, Nested, Sessions int
	Bytes                                             int64
	P50, P95                                          int
}

// saysNo reports whether the result of a shell command has an exit code that says no.
func saysNo(call, result map[string]any) bool {
	for _, block := range blocks(result["content"]) {
		if m := exited.FindStringSubmatch(text(block["text"])); m != nil {
			code, err := strconv.ParseInt(m[1], 10, 32)
			return err == nil && shellcmd.SaysNo(text(object(call["arguments"])["command"]), int32(code), []byte(text(block["text"])))
		}
	}
	return false
}

var exited = regexp.MustCompile(`Command exited with code (\d+)\s*$`)

// toolName is the name of a tool. Audits keep 256 bytes of it.
func toolName(v any) string {
	s := text(v)
	return s[:min(len(s), 256)]
}

// plainTools counts calls by tool, each once.
func plainTools(files []*plainFile) map[string]plainTool {
	sums := make(map[string]plainTool)
	durations := make(map[string][]int)
	sessions := make(map[string]map[string]bool)
	seen := make(map[string]*plainEntry)
	first := func(e *plainEntry) bool {
		if e.copy == "" {
			return true
		}
		if seen[e.copy] == nil {
			seen[e.copy] = e
		}
		return seen[e.copy] == e
	}
	add := func(f *plainFile, tool string, change func(*plainTool)) {
		s := sums[tool]
		change(&s)
		sums[tool] = s
		if sessions[tool] == nil {
			sessions[tool] = make(map[string]bool)
		}
		sessions[tool][f.path] = true
	}
	for _, f := range files {
		answer := make(map[string]*plainEntry) // by place of the call
		taken := make(map[*plainEntry]bool)
		place := func(i, block int) string { return fmt.Sprint(i, ":", block) }
		open := make(map[string]string)
		for i := range f.entries {
			e := &f.entries[i]
			switch e.message["role"] {
			case "assistant":
				for b, block := range blocks(e.message["content"]) {
					if block["type"] == "toolCall" && text(block["id"]) != "" {
						open[text(block["id"])] = place(i, b)
					}
				}
			case "toolResult":
				id := text(e.message["toolCallId"])
				if at, ok := open[id]; ok {
					answer[at] = e
					taken[e] = true
					delete(open, id)
				}
			}
		}
		for i := range f.entries {
			e := &f.entries[i]
			switch e.message["role"] {
			case "assistant":
				for b, block := range blocks(e.message["content"]) {
					if block["type"] != "toolCall" {
						continue
					}
					counts := first(e)
					r := answer[place(i, b)]
					if r != nil {
						first(r)
					}
					if !counts {
						continue
					}
					tool := toolName(block["name"])
					add(f, tool, func(s *plainTool) {
						s.Calls++
						if r == nil {
							s.NoResult++
							return
						}
						if r.message["isError"] == true && !saysNo(block, r.message) {
							s.Errors++
						}
						for _, block := range blocks(r.message["content"]) {
							if block["type"] == "text" {
								s.Bytes += int64(len(text(block["text"])))
							}
						}
						if ms, ok := r.message["durationMs"].(float64); ok && ms >= 0 {
							durations[tool] = append(durations[tool], int(ms))
						} else if d := r.at.Sub(e.at).Milliseconds(); e.own && r.own && d >= 0 && d < 1<<31 {
							durations[tool] = append(durations[tool], int(d))
						}
					})
				}
			case "toolResult":
				if !taken[e] && first(e) {
					add(f, toolName(e.message["toolName"]), func(s *plainTool) { s.NoCall++ })
				}
				calls, _ := object(e.message["nestedCalls"])["calls"].([]any)
				for _, v := range calls {
					call := object(v)
					if call == nil || !first(e) {
						continue
					}
					tool := toolName(call["name"])
					add(f, tool, func(s *plainTool) {
						s.Calls++
						s.Nested++
						if call["status"] == "error" {
							s.Errors++
						}
						if ms, ok := call["durationMs"].(float64); ok && ms >= 0 {
							durations[tool] = append(durations[tool], int(ms))
						}
					})
				}
			case "bashExecution":
				if !first(e) {
					continue
				}
				add(f, "!", func(s *plainTool) {
					s.Calls++
					if code, ok := e.message["exitCode"].(float64); ok && int(code) != 0 && !shellcmd.SaysNo(text(e.message["command"]), int32(code), []byte(text(e.message["output"]))) {
						s.Errors++
					}
					s.Bytes += int64(len(text(e.message["output"])))
				})
			}
		}
	}
	for tool, s := range sums {
		list := durations[tool]
		slices.Sort(list)
		rank := func(share float64) int {
			if len(list) == 0 {
				return -1
			}
			return list[max(int(math.Ceil(share*float64(len(list))-1e-9)), 1)-1]
		}
		s.P50, s.P95, s.Sessions = rank(0.5), rank(0.95), len(sessions[tool])
		sums[tool] = s
	}
	return sums
}

// blocks lists the blocks of a content.
func blocks(content any) (list []map[string]any) {
	switch v := content.(type) {
	case string:
		return []map[string]any{{"type": "text", "text": v}}
	case map[string]any:
		return []map[string]any{v}
	case []any:
		for _, b := range v {
			switch b := b.(type) {
			case string:
				list = append(list, map[string]any{"type": "text", "text": b})
			case map[string]any:
				list = append(list, b)
			}
		}
	}
	return list
}

func modelOf(e *plainEntry) string {
	m := e.fields
	if e.message != nil {
		m = e.message
		if m["role"] != "assistant" {
			return ""
		}
	} else if t := e.fields["type"]; t != "usage" {
		return ""
	}
	provider, model := text(m["provider"]), text(m["model"])
	if provider != "" && model != "" {
		return provider + "/" + model
	}
	return model
}

// compareAudit compares every figure of an audit with a plain scan.
func compareAudit(t *testing.T, r *index.Reader) {
	t.Helper()
	var paths []string
	for _, s := range r.Summaries() {
		paths = append(paths, s.Path)
	}
	files := scan(t, paths)
	zone := time.FixedZone("test", -5*3600)
	for by, key := range map[string]func(*plainEntry) string{
		"model":   modelOf,
		"day":     func(e *plainEntry) string { return e.at.In(zone).Format("2006-01-02") },
		"month":   func(e *plainEntry) string { return e.at.In(zone).Format("2006-01") },
		"week":    func(e *plainEntry) string { y, w := e.at.In(zone).ISOWeek(); return fmt.Sprintf("%04d-W%02d", y, w) },
		"project": func(e *plainEntry) string { return text(e.file.header["cwd"]) },
		"session": func(e *plainEntry) string { return e.file.session.path },
	} {
		table, err := audit.Usage(context.Background(), r, audit.Request{By: []string{by}, Location: zone})
		if err != nil {
			t.Fatal(err)
		}
		got, total := make(map[string]plainUsage), plainUsage{}
		for _, row := range table.Rows {
			name := cmp.Or(row.Day, row.Week, row.Month, row.SessionPath)
			for _, p := range []*string{row.Model, row.Project} {
				if p != nil {
					name = *p
				}
			}
			got[name] = plainUsage{row.Input, row.Output, row.CacheRead, row.CacheWrite, row.Cost, row.Entries, row.Unusable, row.Unpriced}
			total.Entries += row.Entries
			total.Cost += row.Cost
			if row.Tokens != row.Input+row.Output+row.CacheRead+row.CacheWrite {
				t.Errorf("by %s: %s has %d tokens, which is not the sum", by, name, row.Tokens)
			}
		}
		near := gocmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9 })
		if diff := gocmp.Diff(plainUsages(files, key), got, near); diff != "" {
			t.Errorf("usage by %s (-plain +audit):\n%s", by, diff)
		}
		if total.Entries != table.Total.Entries || math.Abs(total.Cost-table.Total.Cost) > 1e-9 {
			t.Errorf("usage by %s: rows add up to %+v, the total is %+v", by, total, table.Total)
		}
	}
	table, err := audit.Tools(context.Background(), r, nil, nil, audit.Request{})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]plainTool)
	known := func(p *int32) int {
		if p == nil {
			return -1
		}
		return int(*p)
	}
	for _, row := range table.Rows {
		got[*row.Tool] = plainTool{row.Calls, row.Errors, row.NoResult, row.NoCall, row.Nested, row.Sessions, row.Bytes, known(row.P50), known(row.P95)}
	}
	if diff := gocmp.Diff(plainTools(files), got); diff != "" {
		t.Errorf("tools (-plain +audit):\n%s", diff)
	}
	compareCalls(t, r, got)
}

// compareCalls checks that the list of calls has those that the table counts, the
// latest first.
func compareCalls(t *testing.T, r *index.Reader, table map[string]plainTool) {
	t.Helper()
	list, err := audit.Calls(context.Background(), r, pi.New(), disk{}, audit.Request{})
	if err != nil {
		t.Fatal(err)
	}
	listed, last, n := make(map[string]plainTool), session.Time{}, 0
	err = list.Each(context.Background(), func(row *audit.CallRow) error {
		if n++; n > 1 && row.Timestamp.After(last.Time) {
			t.Errorf("call %d, of %s at %d, is later than the one before it: %v, %v", n, row.SessionPath, row.Offset, row.Timestamp, last)
		}
		last = row.Timestamp
		s := listed[row.Tool]
		switch row.Status {
		case "missing":
			s.NoCall++
			listed[row.Tool] = s
			return nil
		case "none":
			s.NoResult++
		case "error":
			s.Errors++
		}
		if row.Kind == "nested" {
			s.Nested++
		}
		s.Calls++
		s.Bytes += row.Bytes
		listed[row.Tool] = s
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n != list.Total {
		t.Errorf("%d calls are listed, the total is %d", n, list.Total)
	}
	for tool, s := range table {
		s.Sessions, s.P50, s.P95 = 0, 0, 0 // not of one call
		table[tool] = s
	}
	if diff := gocmp.Diff(table, listed); diff != "" {
		t.Errorf("calls (-table +list):\n%s", diff)
	}
}

func TestAuditOfFixtures(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	for _, root := range []string{filepath.Join(testkit.Root(), "testdata"), testkit.Fixtures()} {
		if root == "" {
			continue
		}
		r := update(t, filepath.Join(t.TempDir(), "index"), root).Reader
		if n := len(r.Summaries()); n < 30 {
			t.Errorf("%d files only", n)
		}
		compareAudit(t, r)
	}
}

func TestAuditOfForks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	stats, err := corpus.Generate(root, corpus.Options{Seed: 5, Bytes: int64(testkit.HowMany(2, 6, 6)) << 20})
	if err != nil {
		t.Fatal(err)
	}
	if stats.Forks == 0 || stats.Copied == 0 {
		t.Fatalf("no forks: %+v", stats)
	}
	compareAudit(t, update(t, filepath.Join(t.TempDir(), "index"), root).Reader)
}

// Costs that are strings, negative, absent or huge; results without calls and
// calls without results; names and arguments of any shape; clocks that run
// backwards.
func TestAuditOfBadInput(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	at := func(n int) string { return fmt.Sprintf(`"timestamp":"2026-01-02T03:04:%02d.000Z"`, n) }
	reply := func(n int, usage, content string) string {
		return fmt.Sprintf(`{"type":"message","id":"r%d","parentId":null,%s,"message":{"role":"assistant","content":[%s],"provider":"p","model":"m","usage":%s,"timestamp":%d}}`,
			n, at(n), content, usage, 1767323040000+1000*n)
	}
	call := func(id, name, arguments string) string {
		return fmt.Sprintf(`{"type":"toolCall","id":%q,"name":%s,"arguments":%s}`, id, name, arguments)
	}
	result := func(n int, id, more string) string {
		return fmt.Sprintf(`{"type":"message","id":"t%d","parentId":null,%s,"message":{"role":"toolResult","toolCallId":%q,"toolName":"bash","content":[{"type":"text","text":"out %d"}],"isError":false%s}}`, n, at(n), id, n, more)
	}
	lines := []string{
		`{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:00.000Z","cwd":"/p"}`,
		reply(1, `{"input":"5","output":-3,"cacheRead":1e300,"cacheWrite":2.9,"cost":{"total":"0.5"}}`, ``),
		reply(2, `{"input":1,"cost":{"total":-1}}`, ``),
		reply(3, `{"input":1,"cost":{"total":1e308}}`, ``),
		reply(4, `{"input":1,"cost":null}`, ``),
		reply(5, `{"cost":{"input":0.1,"output":0.2}}`, ``),
		reply(6, `"none"`, ``),
		reply(7, `{"input":7,"output":null,"cost":0.25}`, ``),
		reply(8, `null`, ``),
		reply(9, `[]`, ``),
		reply(10, `{"input":true,"cost":[1]}`, call("a", `"bash"`, `"ls"`)+","+call("b", `"bash"`, `[1,{"command":"rm -rf x"}]`)+","+call("c", `"bash"`, `{"command":{"x":1}}`)),
		result(11, "a", ``), result(12, "b", `,"durationMs":-5`), result(13, "c", `,"durationMs":"9"`),
		reply(14, `{}`, call("", `"tool\nwith\u0000lines"`, `{}`)+","+call("d", `"`+strings.Repeat("x", 10_000)+`"`, `{"path":5}`)+","+call("e", `17`, `null`)),
		result(15, "d", ``), result(16, "d", ``), result(17, "", ``), result(18, "nobody", ``),
		reply(30, `{}`, call("back", `"bash"`, `{"command":"ls"}`)),
		result(20, "back", ``), // before its call
		reply(31, `{}`, call("twice", `"read"`, `{"path":"a"}`)),
		reply(32, `{}`, call("twice", `"read"`, `{"path":"b"}`)),
		result(33, "twice", ``), result(34, "twice", ``),
		result(35, "x", `,"usage":{"input":3,"cost":{"total":0.125}},"nestedCalls":{"calls":[{"id":"x/1","name":"bash","arguments":{"command":"git push -f"},"status":"error","durationMs":12},{"name":"read","arguments":"{}","status":"ok","durationMs":-1},7,null],"complete":true}`),
		`{"type":"message","id":"b1","parentId":null,` + at(36) + `,"message":{"role":"bashExecution","command":"sudo ls","output":"x","exitCode":2,"cancelled":false}}`,
		`{"type":"message","id":"b2","parentId":null,` + at(37) + `,"message":{"role":"bashExecution","command":5,"output":null,"exitCode":null}}`,
		`{"type":"compaction","id":"c1","parentId":null,` + at(38) + `,"summary":"s","usage":{"input":10,"output":5,"cost":{"total":0.0001}},"details":{"readFiles":["a",7],"modifiedFiles":"b"}}`,
		`{"type":"usage","id":"u1","parentId":null,` + at(39) + `,"kind":"cache_warm","provider":"p","model":"warm","usage":{"cacheWrite":100,"cost":{"total":0.001}}}`,
		`{"type":"branch_summary","id":"s9","parentId":null,` + at(40) + `,"summary":"s","fromId":"root","usage":{"input":1,"cost":{"total":0.002}}}`,
		`{"type":"message","id":"n1","message":{"role":"assistant","content":[` + call("t0", `"bash"`, `{"command":"true"}`) + `],"usage":{"input":4}}}`,
		`{"type":"message","id":"n2","message":{"role":"toolResult","toolCallId":"t0","content":"x"}}`,
	}
	copied := append([]string{`{"type":"session","version":3,"id":"s2","timestamp":"2026-02-02T03:04:00.000Z","cwd":"/q","parentSession":"/p/a.jsonl"}`}, lines[1:20]...)
	copied = append(copied, lines[12], reply(50, `{"input":9,"cost":{"total":0.5}}`, call("new", `"bash"`, `{"command":"ls"}`)))
	again := append(slices.Clone(lines[:14]), lines[:14]...)
	// A fork of the fork, whose entries have other ids; and one of all, written
	// on a machine whose clock was behind, so that it is the oldest.
	fork := []string{`{"type":"session","version":3,"id":"s4","timestamp":"2026-03-02T03:04:00.000Z","cwd":"/q","parentSession":"/q/b.jsonl"}`}
	for i, line := range copied[1:] {
		fork = append(fork, regexp.MustCompile(`"id":"[a-z]\d+","parentId":null`).ReplaceAllString(line, fmt.Sprintf(`"id":"f%d","parentId":"f%d"`, i, i-1)))
	}
	fork = append(fork, reply(55, `{"input":2,"cost":{"total":0.25}}`, call("last", `"read"`, `{"path":"x"}`)), result(54, "last", ``))
	behind := append([]string{`{"type":"session","version":3,"id":"s5","timestamp":"2025-12-02T03:04:00.000Z","cwd":"/r"}`}, fork[3:]...)
	for name, list := range map[string][]string{"a.jsonl": lines, "b.jsonl": copied, "c.jsonl": again, "d.jsonl": fork, "e.jsonl": behind} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(strings.Join(list, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := update(t, filepath.Join(t.TempDir(), "index"), root).Reader
	compareAudit(t, r)
	table, err := audit.Usage(context.Background(), r, audit.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if table.Total.Unusable != 6 {
		t.Errorf("%d entries with unusable figures, want 6", table.Total.Unusable)
	}
}

// Which file an entry counts for does not depend on the order of indexing.
func TestAuditDependsOnNoOrder(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	source := t.TempDir()
	if _, err := corpus.Generate(source, corpus.Options{Seed: 11, Bytes: int64(testkit.HowMany(1, 2, 2)) << 20}); err != nil {
		t.Fatal(err)
	}
	var paths []string
	err := filepath.WalkDir(source, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".jsonl") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	answer := func(paths []string) string {
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "index")
		var last *index.Reader
		for _, path := range paths {
			rel, err := filepath.Rel(source, path)
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			to := filepath.Join(root, rel)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, data, 0o644); err != nil {
				t.Fatal(err)
			}
			last = update(t, dir, root).Reader
		}
		usage, err := audit.Usage(context.Background(), last, audit.Request{By: []string{"session"}})
		if err != nil {
			t.Fatal(err)
		}
		tools, err := audit.Tools(context.Background(), last, nil, nil, audit.Request{By: []string{"session", "tool"}})
		if err != nil {
			t.Fatal(err)
		}
		usage.Index, tools.Index = search.IndexState{}, search.IndexState{}
		b, err := json.Marshal([]any{usage, tools})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	forwards := answer(paths)
	slices.Reverse(paths)
	if backwards := answer(paths); forwards != backwards {
		t.Errorf("the answers differ:\n%s\n%s", forwards, backwards)
	}
	if !strings.Contains(forwards, `"Copies":`) && !strings.Contains(forwards, `"copies":`) || strings.Contains(forwards, `"copies":0`) {
		t.Errorf("no copies were found: %.300s", forwards)
	}
}
