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
)

// fts5 is an index of the texts of a tree in SQLite.
type fts5 struct {
	suite     *suite
	texts, db string
}

// fts5 extracts the texts of a tree for the import; nil without sqlite3.
func (b *suite) fts5(t *tree) (*fts5, error) {
	if !b.have("sqlite3") {
		return nil, nil
	}
	f := &fts5{b, t.index + ".texts", t.index + ".db"}
	out, err := os.Create(f.texts)
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(b.ctx, b.self, "-texts", t.dir)
	c.Stdout = out
	err = c.Run()
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return f, err
}

// load imports the texts. detail=column leaves out positions, which nothing here
// asks FTS5 for.
func (f *fts5) load() (cost, error) {
	for _, path := range f.files() {
		if err := os.RemoveAll(path); err != nil {
			return cost{}, err
		}
	}
	return f.suite.run("sqlite3", "-batch", "-cmd", "PRAGMA journal_mode=WAL", "-cmd", "PRAGMA synchronous=off",
		"-cmd", "CREATE VIRTUAL TABLE t USING fts5(body, content='', detail=column, tokenize='unicode61')",
		"-cmd", ".mode ascii", "-cmd", ".separator \x1f \x1e", f.db, ".import "+f.texts+" t")
}

// loaded removes the texts, which only the import needs, and returns the size of the
// database.
func (f *fts5) loaded() (int64, error) {
	if err := os.Remove(f.texts); err != nil {
		return 0, err
	}
	info, err := os.Stat(f.db)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f *fts5) files() []string { return []string{f.db, f.db + "-wal", f.db + "-shm"} }

func (f *fts5) remove() {
	os.Remove(f.texts)
	for _, path := range f.files() {
		os.Remove(path)
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

func (f *fts5) search(words []string) (cost, error) {
	return f.suite.run("sqlite3", f.query(words)...)
}

// found fails unless a search finds something.
func (f *fts5) found(words []string) error {
	out, err := exec.CommandContext(f.suite.ctx, "sqlite3", f.query(words)...).Output()
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("FTS5 finds no row with any of %q", words)
	}
	return err
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
		err := eachPartOf(path, func(p *session.Part) {
			out.Write(bytes.Map(clean, p.Text))
			out.WriteByte(0x1e)
		})
		if err != nil {
			return err
		}
	}
	return out.Flush()
}
