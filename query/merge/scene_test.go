package merge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/lab/stories"
	"pigrep/lab/testkit"
	"pigrep/query/grep"
	"pigrep/query/merge"
	"pigrep/query/search"
)

var now = time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)

// A scene has session files that are divided among hosts, with an index of each host and one
// of all of them.
type scene struct {
	all     *index.Reader
	hosts   []*index.Reader
	files   map[string]string // of each path, the name under which it was given
	adapter adapter.Adapter
}

// divide divides files, by their names, among hosts: hostOf says which.
func divide(t testing.TB, files map[string]string, hosts int, hostOf func(name string) int) *scene {
	t.Helper()
	dir := t.TempDir()
	s := &scene{files: map[string]string{}}
	var roots []adapter.Root
	for i := range hosts {
		root := filepath.Join(dir, fmt.Sprint("h", i))
		testkit.Check(t, os.MkdirAll(root, 0o755))
		roots = append(roots, adapter.Root{Path: root})
	}
	for name, text := range files {
		path := filepath.Join(roots[hostOf(name)].Path, filepath.FromSlash(name))
		testkit.Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testkit.Check(t, os.WriteFile(path, []byte(text), 0o644))
		testkit.Check(t, os.Chtimes(path, now, now))
		s.files[path] = name
	}
	env := adapter.Environment{Home: dir, WorkDir: dir, Getenv: func(string) string { return "" }, ReadFile: os.ReadFile}
	open := func(name string, roots []adapter.Root) (*index.Reader, adapter.Adapter) {
		registry := adapter.NewRegistry(env, agents.All()...).In(roots)
		res, err := indexer.Update(t.Context(), indexer.Options{
			Dir: filepath.Join(dir, "index-"+name), Roots: roots, Adapter: registry,
			Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler), PID: os.Getpid(),
		})
		testkit.Check(t, err)
		t.Cleanup(func() { res.Reader.Close() })
		return res.Reader, registry
	}
	s.all, s.adapter = open("all", roots)
	for i := range hosts {
		r, _ := open(fmt.Sprint(i), roots[i:i+1])
		s.hosts = append(s.hosts, r)
	}
	return s
}

// atRandom returns a hostOf that depends on the seed and the name alone.
func atRandom(hosts int, seed uint64) func(string) int {
	return func(name string) int {
		h := seed
		for _, c := range []byte(name) {
			h = h*1099511628211 + uint64(c)
		}
		return rand.New(rand.NewPCG(seed, h)).IntN(hosts)
	}
}

// odd are files as they are found among sessions.
var odd = map[string]string{
	"odd/no-header.jsonl": `{"type":"message","id":"n1","timestamp":"2026-05-01T10:00:00.000Z","message":{"role":"user","content":"a token without any header"}}` + "\n",
	"odd/no-id.jsonl":     `{"type":"session","version":3,"cwd":"/tmp"}` + "\n" + `{"type":"message","message":{"role":"user","content":"login token without id or time"}}` + "\n",
	"odd/empty.jsonl":     "",
	"odd/torn.jsonl":      `{"type":"session","version":3,"id":"torn","timestamp":"2026-05-02T10:00:00.000Z","cwd":"/tmp/x"}` + "\n" + `{"type":"message","id":"t1","timestamp":"2026-05-02T10:00:01.000Z","message":{"role":"user","content":"the token is whole"}}` + "\n" + `{"type":"message","id":"t2","mess`,
	"odd/named.jsonl":     `{"type":"session","version":3,"id":"named","timestamp":"2026-05-03T10:00:00.000Z","cwd":"/tmp/x"}` + "\n" + `{"type":"session_info","id":"i1","timestamp":"2026-05-03T10:00:01.000Z","name":"token \u001b[31m` + strings.Repeat("red ", 75) + `"}` + "\n",
}

// A tester is a test, or one of the package rapid.
type tester interface {
	Helper()
	Fatal(...any)
	Context() context.Context
}

func check(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// overJSON returns what a value is after it has travelled.
func overJSON[T any](t tester, v T) T {
	t.Helper()
	data, err := json.Marshal(v)
	check(t, err)
	var out T
	check(t, json.Unmarshal(data, &out))
	return out
}

// asOne asks all hosts, and joins their answers.
func (s *scene) asOne(t tester, req search.Request) (*search.Response, error) {
	t.Helper()
	req.Together = true
	answers, err := together(t, s, req, func(i int, req search.Request) (*search.Response, error) {
		return search.Run(t.Context(), s.hosts[i], s.adapter, stories.Disk{}, req)
	})
	if err != nil {
		return nil, err
	}
	return merge.Search(&req, answers), nil
}

func (s *scene) unsplit(t tester, req search.Request) (*search.Response, error) {
	return search.Run(t.Context(), s.all, s.adapter, stories.Disk{}, req)
}

// together asks all hosts one question.
func together[Req, Res any](t tester, s *scene, req Req, ask func(host int, req Req) (*Res, error)) ([]*Res, error) {
	t.Helper()
	var answers []*Res
	for i := range s.hosts {
		r, err := ask(i, overJSON(t, req))
		if err != nil {
			return nil, err
		}
		sent := overJSON(t, *r)
		answers = append(answers, &sent)
	}
	return answers, nil
}

// grep runs a grep on one host, or on all for a negative number.
func (s *scene) grep(ctx context.Context, host int, req grep.Request, visit func(*grep.Match) error) (*grep.Summary, error) {
	in := grep.Input{Reader: s.all, Adapter: s.adapter, Source: stories.Disk{}}
	if host >= 0 {
		in.Reader = s.hosts[host]
	}
	for i := range in.Reader.Summaries() {
		x := &in.Reader.Summaries()[i]
		in.Files = append(in.Files, grep.File{Path: x.Path, Time: x.Modified(), Known: x, Indexed: grep.Whole})
	}
	return grep.Run(ctx, in, req, visit)
}
