package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pigrep/lab/testkit"
	"pigrep/remote"
	"pigrep/remote/ssh"
)

// Wherever a string of a session file has a secret, or its path, no answer to another machine has
// it, whatever the question.
func TestHostMasksEveryPlace(t *testing.T) {
	t.Parallel()
	a, _, errs := testApp(t)
	files := testkit.Planted(t)
	files[".claude/projects/-home-u-"+testkit.Secret+"/01a1f7de-0000-4000-8000-000000000001.jsonl"] = `{"type":"user","uuid":"u1","sessionId":"01a1f7de-0000-4000-8000-000000000001","cwd":"/home/u/` + testkit.Secret + `","timestamp":"2026-03-02T09:15:00.000Z","message":{"role":"user","content":"one"}}` + "\n"
	for name, text := range files {
		path := filepath.Join(a.Home, name)
		testkit.Check(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testkit.Check(t, os.WriteFile(path, []byte(text), 0o600))
	}
	asked := map[string][]string{
		"grep": {`{"Patterns":["q1W2e3R4"],"Fixed":true}`, `{"Patterns":["."]}`}, "session": {`{"Latest":100000}`}, "resume": {`{"Words":["01a1f7de"]}`},
		"search": {`{"Text":"ghp","Limit":0}`, `{"Text":"q1w2e3r4t5y6u7i8o9p0a1s2d3f4g5h6j7k","AllWords":true}`, `{"Text":"ghp*","Together":true}`}, "fix": {`{"Text":"error ghp"}`}, "files": {`{}`, `{"Name":"greet.py"}`},
		"calls": {`{"Results":true}`}, "tools": {`{"By":["model"]}`, `{"By":["project"]}`, `{"By":["session"]}`}, "usage": {`{"By":["model"]}`, `{"By":["session"]}`, `{"By":["project"]}`},
	}
	masked, _ := json.Marshal(filepath.Join(a.Home, ".claude/projects/-home-u-[redacted:github-token]/01a1f7de-0000-4000-8000-000000000001.jsonl"))
	asked["session"] = append(asked["session"], `{"Names":[`+string(masked)+`]}`)
	kinds := slices.Concat(slices.Collect(maps.Keys(asked)), slices.Collect(maps.Keys(remote.Kinds)))
	slices.Sort(kinds)
	var ask strings.Builder
	var question []string
	for _, kind := range slices.Compact(kinds) {
		requests := asked[kind]
		if requests == nil {
			requests = []string{"{}"}
		}
		for _, r := range requests {
			question = append(question, kind+" "+r)
			fmt.Fprintf(&ask, `{"id":%d,"ask":%q,"host":"laptop","request":%s}`+"\n", len(question), kind, r)
		}
	}
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	a.Streams.In, a.Streams.Out = in, out
	ended := make(chan int, 1)
	go func() {
		ended <- Run(t.Context(), a, []string{ssh.Command, "--protocol", fmt.Sprint(ssh.Protocol)})
		out.Close()
	}()
	go io.WriteString(stdin, ask.String()) //nolint:errcheck // a host that does not read does not answer
	answered, opened := make(map[int]bool), false
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		var reply struct {
			ID     int
			Answer json.RawMessage
			Part   json.RawMessage
			Error  *remote.Error
		}
		testkit.Check(t, json.Unmarshal([]byte(line), &reply))
		opened = opened || strings.Contains(question[max(0, reply.ID-1)], string(masked)) && strings.Contains(string(reply.Part), `\"content\":\"one\"`)
		if reply.Answer != nil || reply.Error != nil {
			if answered[reply.ID] = true; len(answered) == len(question) {
				stdin.Close()
			}
		}
		if reply.Error != nil {
			t.Logf("%s: %v", question[reply.ID-1], reply.Error)
		}
		if at := strings.Index(line, testkit.Core); at >= 0 {
			t.Errorf("%s is answered with the secret: …%.300s", question[reply.ID-1], line[max(0, at-200):])
		}
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit %d: %s", code, errs)
	}
	if !opened {
		t.Error("a masked path does not name its session")
	}
	for i, q := range question {
		if !answered[i+1] {
			t.Errorf("%s is not answered", q)
		}
	}
}
