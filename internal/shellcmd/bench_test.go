package shellcmd_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
)

// BenchmarkFacts measures the cost of facts in addition to parsing session files.
// $PIGREP_FIXTURES names a directory with session files.
func BenchmarkFacts(b *testing.B) {
	root := os.Getenv("PIGREP_FIXTURES")
	if root == "" {
		b.Skip("PIGREP_FIXTURES names no directory with session files")
	}
	var files []string
	size := int64(0)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".jsonl") {
			files = append(files, path)
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, fold := range []bool{false, true} {
		b.Run(map[bool]string{false: "parse", true: "facts"}[fold], func(b *testing.B) {
			b.SetBytes(size)
			o := shellcmd.NewFolder()
			for b.Loop() {
				for _, path := range files {
					f, err := os.Open(path)
					if err != nil {
						b.Fatal(err)
					}
					p := pi.New().Parse(adapter.State{Facts: fold})
					var facts session.Facts
					for lines := jsonl.NewReader(f, 0, 0); ; {
						line, err := lines.Next()
						if err == io.EOF {
							break
						}
						if err != nil {
							b.Fatal(err)
						}
						p.Parse(line, func(e *session.Entry) {
							if fold {
								o.Add(&facts, e, "")
							}
						})
					}
					f.Close()
				}
			}
		})
	}
}
