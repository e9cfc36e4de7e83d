//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// eachFile opens every session file below the directory.
func eachFile(dir string, visit func(io.Reader) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return visit(f)
	})
}

// decodeAll decodes every line with encoding/json, the yardstick for CPU.
func decodeAll(dir string) error {
	return eachFile(dir, func(r io.Reader) error {
		lines := adapter.NewLineReader(r, 0, 0)
		for {
			line, err := lines.Next()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			var v map[string]any
			_ = json.Unmarshal(line.Data, &v)
		}
	})
}

// writeTexts writes the text of every part, ended by the byte 0x1e and with
// that byte and NUL left out, for the import of sqlite3.
func writeTexts(dir string, w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<20)
	clean := func(r rune) rune {
		if r == 0x1e || r == 0x1f || r == 0 {
			return -1
		}
		return r
	}
	err := eachFile(dir, func(r io.Reader) error {
		lines := adapter.NewLineReader(r, 0, 0)
		parser := adapter.Pi().Parse(adapter.State{})
		for {
			line, err := lines.Next()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			parser.Parse(line, func(e *session.Entry) {
				for _, p := range e.Parts {
					out.Write(bytes.Map(clean, p.Text))
					out.WriteByte(0x1e)
				}
			})
		}
	})
	if err != nil {
		return err
	}
	return out.Flush()
}
