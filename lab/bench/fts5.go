//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"pigrep/internal/session"
	"pigrep/lab/decode"
	"pigrep/lab/must"
)

// fts5 is an index of the texts of a tree in SQLite.
type fts5 struct {
	suite     *suite
	texts, db string
}

// fts5 extracts the texts of a tree for the import; nil without sqlite3.
func (b *suite) fts5(t *tree) *fts5 {
	if !b.have("sqlite3") {
		return nil
	}
	f := &fts5{b, t.index + ".texts", t.index + ".db"}
	out := must.Get(os.Create(f.texts))
	defer out.Close()
	c := exec.Command(b.self, "-part", "texts", t.dir)
	c.Stdout, c.Stderr = out, os.Stderr
	must.Do(c.Run(), "texts of ", t.dir)
	return f
}

// load imports the texts. detail=column leaves out positions, which nothing here
// asks FTS5 for.
func (f *fts5) load() cost {
	f.removeIndex()
	return f.suite.run("sqlite3", "-batch", "-cmd", "PRAGMA journal_mode=WAL", "-cmd", "PRAGMA synchronous=off",
		"-cmd", "CREATE VIRTUAL TABLE t USING fts5(body, content='', detail=column, tokenize='unicode61')",
		"-cmd", ".mode ascii", "-cmd", ".separator \x1f \x1e", f.db, ".import "+f.texts+" t")
}

// loaded removes the texts, which only the import needs, and returns the size of the
// database.
func (f *fts5) loaded() int64 {
	must.Do(os.Remove(f.texts))
	return must.Get(os.Stat(f.db)).Size()
}

func (f *fts5) removeIndex() {
	for _, path := range []string{f.db, f.db + "-wal", f.db + "-shm"} {
		must.Do(os.RemoveAll(path))
	}
}

// remove removes what is there.
func (f *fts5) remove() {
	if f != nil {
		os.Remove(f.texts)
		f.removeIndex()
	}
}

// query is the best rows that have any of the words.
func (f *fts5) query(words []string) []string {
	quoted := make([]string, len(words))
	for i, w := range words {
		word, prefix := strings.CutSuffix(w, "*")
		quoted[i] = `"` + word + `"`
		if prefix {
			quoted[i] += "*"
		}
	}
	return []string{"-batch", f.db, fmt.Sprintf("SELECT rowid FROM t('%s') ORDER BY rank LIMIT 20", strings.Join(quoted, " OR "))}
}

func (f *fts5) search(words []string) cost { return f.suite.run("sqlite3", f.query(words)...) }

// found fails unless a search finds something.
func (f *fts5) found(words []string) {
	if len(output("sqlite3", f.query(words)...)) == 0 {
		must.Fail("FTS5 finds no row with any of %q", words)
	}
}

// writeTexts writes the text of every part, ended by the byte 0x1e and with
// that byte, 0x1f and NUL left out, for the import of sqlite3.
func writeTexts(dir string, w io.Writer) error {
	paths, err := sessionFiles(dir)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<20)
	clean := func(r rune) rune {
		if r == 0x1e || r == 0x1f || r == 0 {
			return -1
		}
		return r
	}
	for _, path := range paths {
		err := decode.Parts(path, func(p *session.Part) {
			out.Write(bytes.Map(clean, p.Text))
			out.WriteByte(0x1e)
		})
		if err != nil {
			return err
		}
	}
	return out.Flush()
}
