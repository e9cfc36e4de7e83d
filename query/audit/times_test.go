package audit_test

import (
	"context"
	"testing"

	"pigrep/index"
	"pigrep/internal/session"
	"pigrep/query/audit"
)

// Calls at an unknown time, in a file without a time, have no last use.
func TestUnknownTimes(t *testing.T) {
	dir := t.TempDir()
	w, err := index.OpenWriter(dir, index.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	rec := &session.Record{Facts: &session.Facts{Calls: []session.CallFact{{Tool: "bash", Programs: []string{"ls"}, Shell: true, Line: "ls", Files: []session.FileUse{{Path: "a"}}}}}}
	rec.Path, rec.File = "/s/untimed.jsonl", w.NextFile()
	b := index.NewBatch()
	b.Put(rec, nil)
	if err := w.Commit(b); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Publish(); err != nil {
		t.Fatal(err)
	}
	r, err := index.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	commands, err := audit.Commands(context.Background(), r, nil, nil, audit.Request{})
	if err != nil || len(commands.Rows) != 1 || !commands.Rows[0].Last.IsZero() {
		t.Errorf("commands: %v, %+v", err, commands)
	}
	tools, err := audit.Tools(context.Background(), r, nil, nil, audit.Request{})
	if err != nil || len(tools.Rows) != 1 || !tools.Rows[0].Last.IsZero() || !tools.Total.Last.IsZero() {
		t.Errorf("tools: %v, %+v", err, tools)
	}
	files, err := audit.Files(context.Background(), r, audit.Request{}, "")
	if err != nil || len(files.Rows) != 1 || !files.Rows[0].Last.IsZero() || !files.Rows[0].First.IsZero() {
		t.Errorf("files: %v, %+v", err, files)
	}
}
