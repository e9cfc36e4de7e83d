package lite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"pigrep/internal/lite"
	"pigrep/lab/testkit"
)

// SQLite is the reference: random databases, with and without a log, are read as it reads them.
func TestReadsAsSQLite(t *testing.T) {
	for seed := range testkit.Rounds(8, 40, 1000) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 7))
			w := newWriter(t, r)
			for range 1 + r.IntN(4) {
				w.change()
				compare(t, w.path, w.db)
			}
			if r.IntN(2) == 0 { // closed: the log may be gone
				w.db.Close()
				w.db = open(t, w.path)
				compare(t, w.path, w.db)
			}
		})
	}
}

// Whatever the bytes are, reading ends, with an error or with rows.
func TestDamagedEnds(t *testing.T) {
	for seed := range testkit.Rounds(4, 20, 1000) {
		r := rand.New(rand.NewPCG(uint64(seed), 8))
		w := newWriter(t, r)
		w.change()
		copied := copyOf(t, w.path)
		for _, suffix := range []string{"", "-wal"} {
			data, err := os.ReadFile(copied + suffix)
			if err != nil || len(data) == 0 {
				continue
			}
			for range 30 {
				switch at := r.IntN(len(data)); r.IntN(6) {
				case 0:
					data = data[:at+1]
				case 1: // the first bytes of pages say most
					data[at&^511+r.IntN(16)%(len(data)-at&^511)] = byte(r.Uint32())
				default:
					data[at] = byte(r.Uint32())
				}
				if err := os.WriteFile(copied+suffix, data, 0o600); err != nil {
					t.Fatal(err)
				}
				db, err := lite.Open(copied)
				if err != nil {
					continue
				}
				for _, table := range []string{"a", "b"} {
					for _, column := range []string{"", "k"} {
						for row, err := range db.Rows(table, column, "key 1", "id", "k", "v", "w") {
							_ = row
							if err != nil && !errors.Is(err, lite.ErrDamaged) && !errors.Is(err, lite.ErrNoTable) && !errors.Is(err, lite.ErrUnsupported) {
								t.Fatalf("seed %d: %v", seed, err)
							}
						}
					}
				}
				db.Close()
			}
		}
	}
}

// Session files are sacred: reading leaves no file beside a database, changes none, and works in a
// directory that is read-only. The log counts, whether its index is there or not.
func TestTouchesNothing(t *testing.T) {
	w := newWriter(t, rand.New(rand.NewPCG(1, 9)))
	w.exec("PRAGMA journal_mode=wal", "PRAGMA wal_autocheckpoint=0", "INSERT INTO a (k, v) VALUES ('only in the log', 'x')")
	for name, path := range map[string]string{"with the index of the log": w.path, "a copy": copyOf(t, w.path)} {
		t.Run(name, func(t *testing.T) {
			before := everything(t, filepath.Dir(path))
			if err := os.Chmod(filepath.Dir(path), 0o500); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(filepath.Dir(path), 0o700)
			db, err := lite.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, err := range db.Rows("a", "k", "only in the log", "v") {
				if n++; err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(db.Check(), db.Close()); err != nil || n != 1 {
				t.Errorf("%d rows, %v", n, err)
			}
			if diff := cmp.Diff(before, everything(t, filepath.Dir(path))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What was read while a writer moved pages is not taken for one moment, and what is said to be of
// one moment is.
func TestOneMoment(t *testing.T) {
	w := newWriter(t, rand.New(rand.NewPCG(3, 3)))
	w.exec("PRAGMA journal_mode=wal", "PRAGMA wal_autocheckpoint=0", "CREATE TABLE c (x INTEGER, y TEXT)")
	for i := range 300 {
		w.exec(fmt.Sprintf("INSERT INTO c VALUES (0, '%d %s')", i, strings.Repeat("long ", 200)))
	}
	again := 0
	for i := range 50 {
		db, err := lite.Open(w.path)
		if err != nil {
			t.Fatal(err)
		}
		values := make(map[int64]bool)
		n := 0
		for row, err := range db.Rows("c", "", "", "x", "y") {
			if n++; n == 100 {
				w.exec(fmt.Sprintf("UPDATE c SET x = %d", i+1))
				if i%3 == 0 {
					w.exec("PRAGMA wal_checkpoint(TRUNCATE)")
				} else {
					w.exec("PRAGMA wal_checkpoint(PASSIVE)")
				}
			}
			if err != nil {
				break
			}
			values[row.Values[0].Int] = true
		}
		switch err := db.Check(); {
		case errors.Is(err, lite.ErrBusy):
			again++
		case err != nil:
			t.Fatal(err)
		case len(values) != 1 || n != 300:
			t.Errorf("%d rows of several moments: %v", n, values)
		}
		db.Close()
	}
	if again == 0 {
		t.Error("no checkpoint was seen")
	}
}

func TestForms(t *testing.T) {
	dir := t.TempDir()
	for name, statements := range map[string][]string{
		"WITHOUT ROWID": {"CREATE TABLE a (k TEXT PRIMARY KEY, v) WITHOUT ROWID"},
		"UTF-16":        {"PRAGMA encoding='UTF-16le'", "CREATE TABLE a (k TEXT, v)"},
	} {
		path := filepath.Join(dir, name)
		db := open(t, path)
		for _, s := range statements {
			if _, err := db.Exec(s); err != nil {
				t.Fatal(err)
			}
		}
		err := read(path, "a")
		if !errors.Is(err, lite.ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := read(empty, "a"); !errors.Is(err, lite.ErrNoTable) {
		t.Errorf("an empty file: %v", err)
	}
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := read(other, "a"); !errors.Is(err, lite.ErrDamaged) {
		t.Errorf("another file: %v", err)
	}
}

func read(path, table string) error {
	db, err := lite.Open(path)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, err := range db.Rows(table, "", "", "k") {
		if err != nil {
			return err
		}
	}
	return nil
}

// writer makes random databases.
type writer struct {
	t    *testing.T
	r    *rand.Rand
	path string
	db   *sql.DB
}

func open(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func newWriter(t *testing.T, r *rand.Rand) *writer {
	path := filepath.Join(t.TempDir(), "x.db")
	w := &writer{t, r, path, open(t, path)}
	w.exec("PRAGMA synchronous=off", fmt.Sprintf("PRAGMA page_size=%d", 512<<r.IntN(8)))
	if r.IntN(3) == 0 {
		w.exec("PRAGMA auto_vacuum=full")
	}
	if r.IntN(3) > 0 {
		w.exec("PRAGMA journal_mode=wal", fmt.Sprintf("PRAGMA wal_autocheckpoint=%d", r.IntN(2)*r.IntN(300)))
	}
	w.exec(
		"CREATE TABLE a (id INTEGER PRIMARY KEY, k TEXT NOT NULL, v, w REAL DEFAULT (1 + 2), CHECK (id > -1000 OR k <> ')'))",
		"CREATE INDEX a_part ON a (k) WHERE v IS NOT NULL",
		"CREATE INDEX a_down ON a (k DESC)",
		`CREATE TABLE "B" (k TEXT, "v" BLOB, g INT GENERATED ALWAYS AS (length(k)), s TEXT AS (k || 's') STORED, [w] /* , no */ NUMERIC, -- or
			PRIMARY KEY (k, v, w))`,
	)
	if r.IntN(2) == 0 {
		w.exec("CREATE INDEX a_k ON a (k, v)")
	}
	return w
}

func (w *writer) exec(statements ...string) {
	w.t.Helper()
	for _, s := range statements {
		if _, err := w.db.Exec(s); err != nil {
			w.t.Fatalf("%s: %v", s[:min(len(s), 100)], err)
		}
	}
}

func (w *writer) value() any {
	switch r := w.r; r.IntN(8) {
	case 0:
		return nil
	case 1:
		return r.Int64() >> r.IntN(64)
	case 2:
		return r.NormFloat64()
	case 3:
		return []byte(strings.Repeat("\x00\xff", r.IntN(3000)))
	case 4:
		return strings.Repeat("é long", r.IntN(40000))
	}
	return fmt.Sprint("text ", w.r.IntN(1000))
}

func (w *writer) change() {
	r := w.r
	tx, err := w.db.Begin()
	if err != nil {
		w.t.Fatal(err)
	}
	do := func(s string, args ...any) {
		if _, err := tx.Exec(s, args...); err != nil && !strings.Contains(err.Error(), "UNIQUE") {
			w.t.Fatalf("%s: %v", s, err)
		}
	}
	for range r.IntN(400) {
		key := fmt.Sprint("key ", r.IntN(12))
		if r.IntN(30) == 0 {
			key = strings.Repeat("a long key ", r.IntN(900))
		}
		switch r.IntN(10) {
		case 0:
			do("DELETE FROM a WHERE id % 7 = ?", r.IntN(7))
		case 1:
			do("UPDATE a SET v = ? WHERE id % 9 = ?", w.value(), r.IntN(9))
		case 2:
			do("INSERT OR REPLACE INTO a (id, k, v, w) VALUES (?, ?, ?, ?)", r.Int64()>>r.IntN(64), key, w.value(), r.IntN(9))
		case 3:
			do("DELETE FROM B WHERE k = ?", key)
		case 4, 5:
			do("INSERT INTO B (k, v, w) VALUES (?, ?, ?)", w.value(), w.value(), w.value())
		case 6:
			do("INSERT INTO B (k, v, w) VALUES (?, ?, ?)", key, r.IntN(1e9), w.value())
		default:
			do("INSERT INTO a (k, v) VALUES (?, ?)", key, w.value())
		}
	}
	if r.IntN(5) == 0 {
		do(fmt.Sprintf("ALTER TABLE a ADD COLUMN more%d", r.Uint32()))
	}
	if err := tx.Commit(); err != nil {
		w.t.Fatal(err)
	}
}

// compare compares all rows, and those of some keys.
func compare(t *testing.T, path string, db *sql.DB) {
	t.Helper()
	ours, err := lite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	for table, columns := range map[string][]string{"a": {"id", "k", "v", "w"}, "b": {"k", "v", "s", "w"}} {
		keys := []string{"", "key 1", "key 11", "text 5", "zzz"}
		for _, key := range keys {
			column, where := "", ""
			if key != "" {
				column, where = "k", " WHERE k = '"+key+"'"
			}
			want := queried(t, db, "SELECT rowid, "+strings.Join(columns, ", ")+" FROM "+table+where+" ORDER BY rowid")
			got := [][]any{}
			for row, err := range ours.Rows(table, column, key, columns...) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, plain(row))
			}
			slices.SortFunc(got, func(a, b []any) int {
				if a[0].(int64) < b[0].(int64) {
					return -1
				}
				return 1
			})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s %q: %s", table, key, diff[:min(len(diff), 2000)])
			}
		}
	}
	want := queried(t, db, "SELECT rowid, k FROM b ORDER BY rowid") // from an index
	got := [][]any{}
	for row, err := range ours.Rows("B", "", "", "K") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, plain(row))
	}
	slices.SortFunc(got, func(a, b []any) int { return int(a[0].(int64) - b[0].(int64)) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff[:min(len(diff), 2000)])
	}
	if err := ours.Check(); err != nil {
		t.Error(err)
	}
}

func plain(row lite.Row) []any {
	list := []any{row.ID}
	for _, v := range row.Values {
		switch v.Kind {
		case lite.Null:
			list = append(list, nil)
		case lite.Int:
			list = append(list, v.Int)
		case lite.Float:
			list = append(list, v.Float)
		case lite.Text:
			list = append(list, string(v.Bytes))
		case lite.Blob:
			list = append(list, "blob "+string(v.Bytes))
		}
	}
	return list
}

func queried(t *testing.T, db *sql.DB, query string) [][]any {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	list := [][]any{}
	for rows.Next() {
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		values, to := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			switch b, isBlob := v.([]byte); {
			case isBlob:
				values[i] = "blob " + string(b)
			case columns[i] == "w" && v != nil: // SQLite stores whole numbers as such, and makes them floats again
				if f, ok := v.(float64); ok && f == float64(int64(f)) {
					values[i] = int64(f)
				}
			}
		}
		list = append(list, values)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// copyOf copies a database and its log, without what writers share.
func copyOf(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(to+suffix, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// everything returns the names, times and bytes in a directory.
func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = fmt.Sprint(info.Size(), info.ModTime(), string(data))
	}
	return all
}
