package recap

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/lab/stories"
	"pigrep/lab/testkit"
)

const noYAML = "Traceback (most recent call last):\n  File \"/srv/a.py\", line 3\nModuleNotFoundError: No module named 'yaml'\n\nCommand exited with code 1"

// did is a call and its result: of a shell command, or with "edit PATH" of a file.
func did(command, output string) []stories.Turn {
	call, tool := stories.Called("bash", map[string]any{"command": command}), "bash"
	if file, ok := strings.CutPrefix(command, "edit "); ok {
		call, tool = stories.Called("edit", map[string]any{"path": file, "oldText": "a", "newText": "b"}), "edit"
	}
	return []stories.Turn{call, stories.Result(tool, output, strings.Contains(output, "exited with code"))}
}

// tale is a session that begins on a day.
func tale(day int, name string, deeds ...[]stories.Turn) stories.Story {
	s := stories.Story{Name: name, CWD: "/srv/app", Start: stories.Day.AddDate(0, 0, day), Entries: []stories.Turn{stories.Prompt("run it")}}
	for i, d := range deeds {
		id := fmt.Sprintf("c%d", i)
		if len(d) == 1 { // a prompt
			s.Entries = append(s.Entries, d[0])
			continue
		}
		d[0].Message["content"].([]any)[0].(map[string]any)["id"], d[1].Message["toolCallId"] = id, id
		for _, turn := range d {
			turn.Minute = i + 1
			s.Entries = append(s.Entries, turn)
		}
	}
	return s
}

// files are session files by name.
type files map[string]string

func filesOf(list ...stories.Story) files {
	f := make(files)
	for i := range list {
		f[list[i].Name] = list[i].Text()
	}
	return f
}

// odd adds files that every session directory may have.
func (f files) odd() files {
	f["empty"] = ""
	f["headless"] = `{"type":"message","message":{"role":"user","content":"no header, no id, no time"}}` + "\n"
	torn := tale(30, "torn", did("python3 a.py", noYAML), did("pip install pyyaml", "ok"), did("python3 a.py", "ok"))
	f["torn"] = strings.TrimSuffix(torn.Text(), "\"type\":\"message\"}\n")
	named := tale(31, "named", did("ls", "ok"))
	f["named"] = named.Text() + `{"type":"session_info","id":"n1","parentId":"named-0002","name":"` + strings.Repeat(`a\u001b[31m\u0007`, 60) + `"}` + "\n"
	return f
}

// index indexes the files.
func (f files) index(t *testing.T, dir string) *index.Reader {
	t.Helper()
	for name, text := range f {
		path := filepath.Join(dir, name+".jsonl")
		testkit.Check(t, os.WriteFile(path, []byte(text), 0o644))
		testkit.Check(t, os.Chtimes(path, stories.Day, stories.Day)) // of what has no other time
	}
	res, err := indexer.Update(t.Context(), indexer.Options{
		Dir: t.TempDir(), Adapter: pi.New(), Roots: []adapter.Root{{Path: dir, Origin: "test"}}, Logger: slog.New(slog.DiscardHandler), PID: os.Getpid(),
		Now: func() time.Time { return stories.Day.AddDate(1, 0, 0) },
	})
	testkit.Check(t, err)
	t.Cleanup(func() { res.Reader.Close() })
	return res.Reader
}

func learnt(t *testing.T, r *index.Reader) (list []string) {
	t.Helper()
	l, err := Learn(t.Context(), r, pi.New(), stories.Disk{}, Request{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range l.Lessons {
		var places []string
		for _, e := range x.Evidence {
			places = append(places, strings.TrimPrefix(e.SessionID, "id-of-")+":"+e.Failed.EntryID+":"+e.Repair.EntryID+":"+e.Passed.EntryID)
		}
		list = append(list, fmt.Sprintf("%s | %s %s | %d: %s", x.Error, x.By, x.Repair, x.Sessions, strings.Join(places, " ")))
	}
	return list
}

func TestLessons(t *testing.T) {
	ran := func() []stories.Turn { return did("python3 a.py", "ok") }
	fails := func() []stories.Turn { return did("python3 a.py", noYAML) }
	pip := func(as string) []stories.Turn { return did(as, "Successfully installed") }
	broken := func() []stories.Turn {
		return did("go test ./...", "a.go:3:1: undefined: total\n\nCommand exited with code 1")
	}
	tested := func() []stories.Turn { return did("go test ./...", "ok") }
	for _, c := range []struct {
		name string
		list []stories.Story
		want []string
	}{
		{"a command between", []stories.Story{
			tale(1, "a", fails(), did("cat a.py", "import yaml"), pip("pip install pyyaml"), ran()),
			tale(2, "b", fails(), pip("cd /srv/app && pip install pyyaml"), ran()),
			tale(3, "c", fails(), fails(), did("cat a.py", "import yaml"), pip("pip install pyyaml 2>&1 | tail -3"), ran()),
		}, []string{"ModuleNotFoundError: No module named 'yaml' | command pip install pyyaml | 3: c:c-0003:c-0007:c-0009 b:b-0001:b-0003:b-0005 a:a-0001:a-0005:a-0007"}},
		{"two sessions", []stories.Story{
			tale(1, "a", fails(), pip("pip install pyyaml"), ran()),
			tale(2, "b", fails(), pip("pip install pyyaml"), ran(), fails(), pip("pip install pyyaml"), ran()),
		}, nil},
		{"other repairs", []stories.Story{
			tale(1, "a", fails(), pip("pip install pyyaml"), ran()),
			tale(2, "b", fails(), pip("pip install -r requirements.txt"), ran()),
			tale(3, "c", fails(), did("edit a.py", "ok"), ran()),
		}, nil},
		{"other errors", []stories.Story{
			tale(1, "a", fails(), pip("pip install pyyaml"), ran()),
			tale(2, "b", did("python3 a.py", "SyntaxError: invalid syntax\n\nCommand exited with code 1"), pip("pip install pyyaml"), ran()),
			tale(3, "c", did("python3 a.py", "PermissionError: [Errno 13] Permission denied: 'x'\n\nCommand exited with code 1"), pip("pip install pyyaml"), ran()),
		}, nil},
		{"never passed", []stories.Story{
			tale(1, "a", fails(), pip("pip install pyyaml"), ran()),
			tale(2, "b", fails(), pip("pip install pyyaml"), fails()),
			tale(3, "c", fails(), pip("pip install pyyaml")),
		}, nil},
		{"repairs that failed", []stories.Story{
			tale(1, "a", fails(), pip("pip install pyyaml"), ran()),
			tale(2, "b", fails(), pip("pip install pyyaml"), ran()),
			tale(3, "c", fails(), did("pip install pyyaml", "no network\n\nCommand exited with code 1"), ran()),
		}, nil},
		{"interrupted by the person", []stories.Story{
			tale(1, "a", did("python3 a.py", "Command aborted\n\nCommand exited with code 1"), pip("pip install pyyaml"), ran()),
			tale(2, "b", did("python3 a.py", "Command aborted\n\nCommand exited with code 1"), pip("pip install pyyaml"), ran()),
			tale(3, "c", did("python3 a.py", "Command aborted\n\nCommand exited with code 1"), pip("pip install pyyaml"), ran()),
		}, nil},
		{"again and again without a repair", []stories.Story{
			tale(1, "a", fails(), did("cat a.py", "x"), ran()), tale(2, "b", fails(), did("cat a.py", "x"), ran()), tale(3, "c", fails(), did("cat a.py", "x"), ran()),
		}, nil},
		{"a pipe hides the failure", []stories.Story{
			tale(1, "a", broken(), did("go test ./... | tail -3", "ok")), tale(2, "b", broken(), did("go test ./... | tail -3", "ok")), tale(3, "c", broken(), did("go test ./... | tail -3", "ok")),
		}, nil},
		{"a file", []stories.Story{
			tale(1, "a", broken(), did("edit sum/total.go", "ok"), tested()),
			tale(2, "b", broken(), did("edit sum/other.go", "ok"), did("edit /srv/app/sum/total.go", "ok"), tested()),
			tale(3, "c", broken(), did("sed -i s/a/b/ sum/total.go", ""), tested()),
		}, []string{"a.go:3:1: undefined: total | file sum/total.go | 3: c:c-0001:c-0003:c-0005 b:b-0001:b-0005:b-0007 a:a-0001:a-0003:a-0005"}},
		{"the call that passed", []stories.Story{
			tale(1, "a", broken(), did("GOFLAGS=-mod=mod go test ./...", "ok")),
			tale(2, "b", broken(), did("GOFLAGS=-mod=mod go test ./...", "ok")),
			tale(3, "c", broken(), did("GOFLAGS=-mod=mod  go test ./...", "ok")),
		}, []string{"a.go:3:1: undefined: total | command GOFLAGS=-mod=mod go test ./... | 3: c:c-0001:c-0003:c-0003 b:b-0001:b-0003:b-0003 a:a-0001:a-0003:a-0003"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, learnt(t, filesOf(c.list...).odd().index(t, t.TempDir()))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Forks and other copies of a session are no evidence of their own.
func TestLessonsOfCopies(t *testing.T) {
	story := func(day int, name string) stories.Story {
		return tale(day, name, did("python3 a.py", noYAML), did("pip install pyyaml", "ok"), did("python3 a.py", "ok"))
	}
	a := story(1, "a")
	dir := t.TempDir()
	of := filesOf(a, story(2, "b")).odd()
	for name, parent := range map[string]string{"fork": fmt.Sprintf(`,"parentSession":%q`, filepath.Join(dir, "a.jsonl")), "import": ""} {
		of[name] = strings.Replace(a.Text(), `"id":"id-of-a"`, `"id":"id-of-`+name+`"`+parent, 1)
	}
	of["twin"] = a.Text()
	if list := learnt(t, of.index(t, dir)); list != nil {
		t.Errorf("copies make a lesson: %s", list)
	}
	c := story(3, "c")
	of["c"] = c.Text()
	if list := learnt(t, of.index(t, dir)); len(list) != 1 || !strings.Contains(list[0], "| 3: c:") {
		t.Errorf("want one lesson of three sessions: %s", list)
	}
}

// A session of which there is nothing to tell is not listed, and takes the place of no other.
func TestNothingToTell(t *testing.T) {
	silent := stories.Story{Name: "silent", Start: stories.Day.AddDate(0, 0, 40), Entries: []stories.Turn{stories.Reply("hello")}}
	r := filesOf(tale(1, "a"), tale(2, "b"), silent, stories.Story{Name: "bare", Start: stories.Day.AddDate(0, 0, 41)}).odd().index(t, t.TempDir())
	for limit, want := range map[int]string{0: "named torn b a headless", 1: "named", 3: "named torn b"} {
		resp, err := Run(t.Context(), r, pi.New(), stories.Disk{}, Request{Limit: limit})
		testkit.Check(t, err)
		var got []string
		for i := range resp.Sessions {
			got = append(got, strings.TrimSuffix(filepath.Base(resp.Sessions[i].SessionPath), ".jsonl"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("limit %d: %s, want %s", limit, got, want)
		}
	}
}
