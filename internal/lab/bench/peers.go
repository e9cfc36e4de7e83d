//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"pigrep/adapter/jsonl"
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
		lines := jsonl.NewReader(r, 0, 0)
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
// that byte, 0x1f and NUL left out, for the import of sqlite3.
func writeTexts(dir string, w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<20)
	clean := func(r rune) rune {
		if r == 0x1e || r == 0x1f || r == 0 {
			return -1
		}
		return r
	}
	err := eachFile(dir, func(r io.Reader) error {
		return eachPart(r, func(p *session.Part) {
			out.Write(bytes.Map(clean, p.Text))
			out.WriteByte(0x1e)
		})
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// sqlite returns a function that imports the texts of the tree into SQLite FTS5,
// and one that removes what it left.
func (b *suite) sqlite(t *tree) (load func() (cost, error), remove func(), err error) {
	texts, db := t.index+".texts", t.index+".db"
	remove = func() {
		for _, f := range []string{texts, db, db + "-wal", db + "-shm"} {
			os.Remove(f)
		}
	}
	out, err := os.Create(texts)
	if err != nil {
		return nil, remove, err
	}
	c := exec.CommandContext(b.ctx, b.self, "-texts", t.dir)
	c.Stdout = out
	err = c.Run()
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return func() (cost, error) {
		for _, f := range []string{db, db + "-wal", db + "-shm"} {
			if err := os.RemoveAll(f); err != nil {
				return cost{}, err
			}
		}
		return b.run("sqlite3", "-batch", "-cmd", "PRAGMA journal_mode=WAL", "-cmd", "PRAGMA synchronous=off",
			"-cmd", "CREATE VIRTUAL TABLE t USING fts5(body, content='', tokenize='unicode61')", "-cmd", ".mode ascii", "-cmd", ".separator \x1f \x1e",
			db, ".import "+texts+" t")
	}, remove, err
}
