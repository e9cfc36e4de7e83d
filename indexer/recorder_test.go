package indexer_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/index/record"
	"pigrep/indexer"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
)

// A record that is packed after each line, and continued from there, is that of all lines at once.
func TestRecorderContinues(t *testing.T) {
	registry := adapter.NewRegistry(adapter.Environment{}, agents.All()...)
	files := 0
	for _, dir := range []string{"sessions", "agents", "pi"} {
		err := filepath.WalkDir(filepath.Join("..", "testdata", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".jsonl" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			state, err := adapter.Begin(registry, path, bytes.NewReader(text))
			if err != nil {
				return err
			}
			files++
			begin := func() *session.Record {
				rec := &session.Record{}
				rec.Path, rec.Agent, rec.Notes = path, state.Header.Agent, state.Header.Notes
				return rec
			}
			tokens := func(e *session.Entry) int { return len(e.Parts) }
			once, step := indexer.NewRecorder(registry, begin(), tokens), begin()
			for line := range bytes.Lines(text) {
				data := bytes.TrimSuffix(line, []byte("\n"))
				ended := len(data) < len(line)
				r := indexer.NewRecorder(registry, step, tokens)
				if got, want := r.Line(data, ended), once.Line(data, ended); got != want {
					t.Errorf("%s: a line says something: %v, want %v", path, got, want)
				}
				if step, err = record.Unpack(record.Pack(r.Record())); err != nil {
					t.Fatal(err)
				}
			}
			all, err := record.Unpack(record.Pack(once.Record()))
			if err == nil {
				step, err = record.Unpack(record.Pack(step))
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := testkit.Diff(all, step, cmpopts.IgnoreUnexported(session.Facts{}), cmpopts.IgnoreFields(session.Record{}, "Known", "Numbers")); diff != "" {
				t.Errorf("%s: %s", path, diff)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 40 {
		t.Errorf("only %d files", files)
	}
}
