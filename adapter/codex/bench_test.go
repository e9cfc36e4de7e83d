package codex

import (
	"bytes"
	"testing"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// BenchmarkParse reads the fixtures from memory.
func BenchmarkParse(b *testing.B) {
	for _, facts := range []bool{false, true} {
		name := "text"
		if facts {
			name = "facts"
		}
		b.Run(name, func(b *testing.B) {
			var data []byte
			for path, d := range fixtures(b) {
				if !withFacts(path).Header.Notes {
					data = append(append(data, d...), '\n')
				}
			}
			p := New().Parse(adapter.State{Facts: facts})
			r := jsonl.NewReader(nil, 0, 0)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				p.Reset(adapter.State{Facts: facts})
				r.Reset(bytes.NewReader(data), 0, 0)
				for {
					line, err := r.Next()
					if err != nil {
						break
					}
					p.Parse(line, func(*session.Entry) {})
				}
			}
		})
	}
}
