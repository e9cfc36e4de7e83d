package pi

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// BenchmarkParse reads sessions of the shape that pi writes from memory. The
// real sessions among the fixtures are used where there are any.
func BenchmarkParse(b *testing.B) {
	data := benchmarkSession(b)
	p := New().Parse(adapter.State{})
	r := jsonl.NewReader(nil, 0, 0)
	var text int
	count := func(e *session.Entry) {
		for i := range e.Parts {
			text += len(e.Parts[i].Text)
		}
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r.Reset(bytes.NewReader(data), 0, 0)
		for {
			line, err := r.Next()
			if err == io.EOF {
				break
			}
			p.Parse(line, count)
		}
	}
	if text == 0 {
		b.Fatal("no text")
	}
}

// BenchmarkReader only cuts lines.
func BenchmarkReader(b *testing.B) {
	data := benchmarkSession(b)
	r := jsonl.NewReader(nil, 0, 0)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r.Reset(bytes.NewReader(data), 0, 0)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}

func benchmarkSession(b *testing.B) []byte {
	var data []byte
	if root := os.Getenv("PIGREP_FIXTURES"); root != "" {
		files, err := filepath.Glob(filepath.Join(root, "real", "*.jsonl"))
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range files {
			d, err := os.ReadFile(f)
			if err != nil {
				b.Fatal(err)
			}
			data = append(data, d...)
		}
		return data
	}
	code := strings.Repeat(`\tif err := run(ctx, \"x\"); err != nil {\n\t\treturn fmt.Errorf(\"run: %w\", err)\n\t}\n`, 40)
	for i := range 2000 {
		data = fmt.Appendf(data, `{"type":"message","id":"%08x","parentId":"%08x","timestamp":"2026-01-15T10:30:03.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Now the tests."},{"type":"toolCall","id":"c%d","name":"write","arguments":{"path":"a/b.go","content":"%s"}}],"api":"x","provider":"p","model":"m","usage":{"input":1,"output":2,"cost":{"total":0.1}},"stopReason":"toolUse","timestamp":1767323102000}}`+"\n", i+1, i, i, code)
	}
	return data
}
