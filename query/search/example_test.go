package search_test

import (
	"context"
	"fmt"
	"io/fs"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/indexer"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/syntax"
	"pigrep/query/search"
)

func ExampleParse() {
	tree, warnings := syntax.Parse(`+auth (token  OR "exit code") NOT conn* rm -rf knd:call`)
	fmt.Println(tree)
	fmt.Println(warnings[0])
	// Output:
	// +auth token OR "exit code" !conn* rm -rf knd:call
	// "knd:call" is searched as text: there is no field "knd", did you mean kind:?
}

// files opens session files for the query.
type files struct{}

func (files) Open(path string) (entry.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	return file{f, info}, err
}

type file struct {
	*os.File
	info fs.FileInfo
}

func (f file) Size() int64        { return f.info.Size() }
func (f file) ModTime() time.Time { return f.info.ModTime() }

// Every word counts, the best hit comes first, and says what it lacks.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "query")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	session := `{"type":"session","version":3,"id":"01a1","timestamp":"2026-01-15T10:30:00.000Z","cwd":"/home/u/app"}
{"type":"message","id":"e1","parentId":null,"timestamp":"2026-01-15T10:30:03.000Z","message":{"role":"user","content":"Where is getUserName?"}}
{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-01-15T10:30:05.000Z","message":{"role":"user","content":"The user has no name."}}
`
	root := filepath.Join(dir, "sessions")
	if err := os.Mkdir(root, 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "a.jsonl"), []byte(session), 0o644); err != nil {
		log.Fatal(err)
	}
	now := func() time.Time { return time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC) }
	res, err := indexer.Update(context.Background(), indexer.Options{
		Dir: filepath.Join(dir, "index"), Adapter: pi.New(), Roots: []adapter.Root{{Path: root, Origin: "example"}},
		Now: now, Logger: slog.New(slog.DiscardHandler), PID: os.Getpid(),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer res.Reader.Close()
	answer, err := search.Run(context.Background(), res.Reader, pi.New(), files{}, search.Request{Text: "get_user_name name", Flat: true, Env: filter.Env{Now: now()}})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range answer.Hits {
		fmt.Printf("%s %s %q lacks %q\n", h.EntryID, h.Tier, h.Fragment.Text, h.Missing)
	}
	// Output:
	// e1 parts "Where is getUserName?" lacks []
	// e2 parts "The user has no name." lacks ["get_user_name"]
}
