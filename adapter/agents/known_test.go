package agents

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/adapter/claude"
	"pigrep/adapter/codex"
	"pigrep/adapter/pi"
	"pigrep/internal/content"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
	"pigrep/lab/testkit"
)

var update = flag.Bool("update", false, "write the list of known names anew")

// namesOf returns the names in a line that an adapter must know: those of the line, and of what it has.
func namesOf(agent string, line map[string]any) (names []string) {
	add := func(what string, name any) {
		if s, ok := name.(string); ok {
			names = append(names, what+" "+s)
		}
	}
	object := func(v any) map[string]any { m, _ := v.(map[string]any); return m }
	blocks := func(v any) {
		list, _ := v.([]any)
		for _, item := range list {
			add("block", object(item)["type"])
		}
	}
	add("line", line["type"])
	message := object(line["message"])
	switch agent {
	case "claude":
		add("system line", line["subtype"])
		blocks(message["content"])
	case "codex":
		payload := object(line["payload"])
		if line["type"] == "response_item" {
			add("item", payload["type"])
			add("role", payload["role"])
			blocks(payload["content"])
		} else if line["type"] == "event_msg" {
			add("event", payload["type"])
		}
	case "pi":
		add("role", message["role"])
		blocks(message["content"])
	}
	return names
}

// versionOf returns the version of the agent that wrote a line, "" if it does not say.
func versionOf(line map[string]any) string {
	for _, v := range []any{line["version"], line["payload"]} {
		if m, ok := v.(map[string]any); ok {
			v = m["cli_version"]
		}
		switch v := v.(type) {
		case string:
			return v
		case float64:
			return fmt.Sprint("format ", v)
		}
	}
	return ""
}

// madeUp are names that no version writes, only fixtures.
var madeUp = []string{"role artifact", "line weather_report", "block citation"}

func isEarlier(a, b string) bool {
	numbers := func(v string) (list []int) {
		for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return r < '0' || r > '9' }) {
			n, _ := strconv.Atoi(part)
			list = append(list, n)
		}
		return list
	}
	return a != "" && (b == "" || slices.Compare(numbers(a), numbers(b)) < 0)
}

// Every name in the fixtures is known to the adapter of its agent, and is listed with the first version that has it:
// a new one is seen here. Write the list anew with -update, with all fixtures, and read the diff.
func TestKnownNames(t *testing.T) {
	seen := make(map[string]string) // by agent and name: the first version
	for name, a := range map[string]adapter.Agent{"claude": claude.New(), "codex": codex.New(), "pi": pi.New()} {
		var files map[string][]byte
		if name == "pi" {
			files = make(map[string][]byte)
			for _, path := range testkit.SessionFiles(t) {
				if data, err := os.ReadFile(path); err == nil && !strings.Contains(path, "hostile") && !strings.Contains(path, "agents") && !strings.Contains(path, "public") {
					files[path] = data
				}
			}
		} else {
			files = adapters.Fixtures(t, name)
		}
		for path, data := range files {
			if filepath.Base(path) == "session_index.jsonl" {
				continue
			}
			version := ""
			for line := range bytes.Lines(data) {
				var m map[string]any
				if json.Unmarshal(line, &m) != nil {
					continue
				}
				if v := versionOf(m); v != "" {
					version = v
				}
				for _, n := range namesOf(name, m) {
					if slices.Contains(madeUp, n) {
						continue
					}
					key := name + "\t" + n
					if old, ok := seen[key]; !ok || isEarlier(version, old) {
						seen[key] = version
					}
				}
			}
			r := adapters.Parse(t, a, adapter.State{Path: content.Logical(path), Header: session.Header{Agent: a.Name()}}, data)
			for _, e := range r.Entries {
				if e.Strange = slices.DeleteFunc(e.Strange, func(n string) bool { return slices.Contains(madeUp, n) }); len(e.Strange) > 0 {
					t.Errorf("%s:%d: unknown to the adapter: %q", path, e.Line, e.Strange)
				}
			}
		}
	}
	var list []string
	for key, version := range seen {
		list = append(list, strings.TrimRight(key+"\t"+version, "\t")+"\n")
	}
	slices.Sort(list)
	golden := filepath.Join("testdata", "known.txt")
	if *update {
		testkit.Check(t, os.MkdirAll("testdata", 0o755))
		testkit.Check(t, os.WriteFile(golden, []byte(strings.Join(list, "")), 0o644))
	}
	known, err := os.ReadFile(golden)
	testkit.Check(t, err)
	for key, version := range seen {
		if !strings.Contains("\n"+string(known), "\n"+key+"\t") && !strings.Contains("\n"+string(known), "\n"+key+"\n") {
			t.Errorf("%q of version %q is not in %s", key, version, golden)
		}
	}
}
