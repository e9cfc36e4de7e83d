package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Secret is a secret that every set of rules knows. Nothing that leaves a machine may contain Core.
const (
	Secret = "ghp_" + Core
	Core   = "0q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6j7K"
)

// Planted returns session files of every agent in the repository, by the directory of the agent
// below HOME and a name. Each has the first line of a session and another line. Secret is in one
// string of these lines, or in the name of a member. Only one of several similar places is used.
func Planted(t testing.TB) map[string]string {
	t.Helper()
	dirs := map[string]string{
		"agents/claude": ".claude/projects/-home-u-app", "agents/codex": ".codex/sessions/2026/11/21",
		"agents/omp": ".omp/agent/sessions/--home-u-app--", "agents/openclaw": ".openclaw/agents/main/sessions",
		"realpi": ".pi/agent/sessions/--home-u-app--", "sessions": ".pi/agent/sessions/--home-u-app--",
	}
	files, seen := make(map[string]string), make(map[string]bool)
	for from, to := range dirs {
		for _, path := range Sessions(t, filepath.Join(Root(), "testdata", from)) {
			data, err := os.ReadFile(path)
			Check(t, err)
			lines := bytes.Split(data, []byte("\n"))
			for i, line := range lines {
				d := json.NewDecoder(bytes.NewReader(line))
				d.UseNumber()
				var v map[string]any
				if d.Decode(&v) != nil || v == nil {
					continue
				}
				kind, _ := v["type"].(string)
				plant(v, from+":"+kind, seen, func() {
					planted, _ := json.Marshal(v)
					text := string(planted) + "\n"
					if i > 0 {
						text = string(lines[0]) + "\n" + text
					}
					files[filepath.Join(to, fmt.Sprintf("%s.%d.jsonl", strings.TrimSuffix(filepath.Base(path), ".jsonl"), len(files)))] = text
				})
			}
		}
	}
	return files
}

// plant puts the secret into one string of a value after the other, and calls told for each.
func plant(v any, place string, seen map[string]bool, told func()) {
	once := func(place string, change func()) {
		if !seen[place] {
			seen[place] = true
			change()
		}
	}
	switch v := v.(type) {
	case map[string]any:
		once(place+" name", func() {
			v[Secret] = "x"
			told()
			delete(v, Secret)
		})
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			within(v[k], place+"."+k, seen, func(x any) { v[k] = x }, once, told)
		}
	case []any:
		for i := range v {
			within(v[i], place+"[]", seen, func(x any) { v[i] = x }, once, told)
		}
	}
}

// within plants in a value that can be set: in a string, and in the JSON that it may be.
func within(x any, place string, seen map[string]bool, set func(any), once func(string, func()), told func()) {
	text, ok := x.(string)
	if !ok {
		plant(x, place, seen, told)
		return
	}
	var inner any
	if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &inner) == nil {
		plant(inner, place, seen, func() {
			data, _ := json.Marshal(inner)
			set(string(data))
			told()
		})
		set(x)
		return
	}
	once(place, func() {
		sep := " "
		if strings.HasPrefix(text, "/") {
			sep = "/"
		}
		set(text + sep + Secret)
		told()
		set(x)
	})
}
