package program

import (
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
	"pigrep/scope"
)

// world is a set of session files, read here and indexed by the program.
type world struct {
	home, indexDir, root string
	files                []*sessionFile
	origin               map[string]string // path in root → the fixture it is a copy of
	reader               *index.Reader
	records              map[string]*session.Record
}

// everything is a world of our session files and the fixtures. The first test that
// asks has it made; nobody changes it.
func everything(t *testing.T) *world {
	t.Helper()
	if shared == nil {
		shared = newWorld(t, filepath.Join(scratch, "everything"), true)
	}
	return shared
}

var shared *world

// newWorld indexes the session files of ours, and of the fixtures, if asked for,
// those that are sessions and the snapshots of files that changed.
func newWorld(t *testing.T, home string, fixtures bool) *world {
	t.Helper()
	w := &world{home: home, origin: map[string]string{}}
	w.root, w.indexDir = filepath.Join(w.home, "sessions"), filepath.Join(w.home, "index")
	w.collect(t, sessions(), "own")
	if fixtures {
		w.collect(t, filepath.Join(moduleRoot, "testdata", "realpi", "sessions"), "fixtures/realpi")
		if dir := testkit.Fixtures(); dir != "" {
			w.collect(t, dir, "fixtures")
		} else {
			w.collect(t, testkit.Written(), "fixtures/pi")
		}
	}
	for _, path := range sessionFiles(t, w.root) {
		w.files = append(w.files, readSession(t, path))
	}
	r := pigrep(t, w.home, "index", "--session-dir", w.root, "--index-dir", w.indexDir)
	if r.exit != 0 {
		t.Fatalf("pigrep index: exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	var err error
	if w.reader, err = index.Open(w.indexDir); err != nil {
		t.Fatal(err)
	}
	w.records = map[string]*session.Record{}
	for _, s := range w.reader.Summaries() {
		rec, err := w.reader.Record(s.File)
		if err != nil || rec == nil {
			t.Fatalf("record of %s: %v, %v", s.Path, rec, err)
		}
		w.records[s.Path] = rec
	}
	return w
}

// collect copies the sessions and snapshots of pi's format below dir into the root: what
// other agents write has truth files, and is read otherwise than the table says.
func (w *world) collect(t *testing.T, dir, name string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		dir, base := filepath.Split(rel)
		if isOther := dir == "agents/" && base != "openclaw" || base == ".codex" || base == ".claude"; isOther && d.IsDir() {
			return fs.SkipDir
		}
		if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(path, ".jsonl") && !strings.HasSuffix(path, ".snapshot") {
			return err
		}
		to := filepath.Join(w.root, name, rel)
		if !strings.HasSuffix(to, ".jsonl") {
			to += ".jsonl"
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, data, 0o644)
		}
		w.origin[to] = path
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// show shortens a path for a message.
func (w *world) show(path string) string {
	rel, _ := filepath.Rel(w.root, path)
	return rel
}

var seed = maphash.MakeSeed()

// posting is the hash of a term at a part of a kind, or of any kind, of an entry.
func posting(term string, file uint32, offset int64, kind string) uint64 {
	return maphash.Comparable(seed, struct {
		term, kind string
		file       uint32
		offset     int64
	}{term, kind, file, offset})
}

// postings is all that the index holds, and how often a term occurs.
func (w *world) postings(t *testing.T) (held map[uint64]bool, counts map[string]int) {
	t.Helper()
	held, counts = map[uint64]bool{}, map[string]int{}
	for _, s := range w.reader.Segments() {
		kinds := map[uint32]string{}
		for _, row := range scope.Kinds {
			for it := s.Bitmap(segment.FieldKind, []byte(row.Kind)).Iterator(); it.HasNext(); {
				doc := it.Next()
				kinds[doc] = string(row.Kind)
				id := s.ID(doc)
				held[posting("", id.File, id.Offset, kinds[doc])] = true
				held[posting("", id.File, id.Offset, "")] = true
			}
		}
		s.Walk(segment.FieldText, func(term []byte, doc, _, _ uint32) {
			id := s.ID(doc)
			if id.File == segment.NoFile {
				t.Errorf("the term %q is in a document that is not part of an entry", term)
				return
			}
			held[posting(string(term), id.File, id.Offset, kinds[doc])] = true
			held[posting(string(term), id.File, id.Offset, "")] = true
			counts[string(term)]++
		})
		if err := s.Fault(); err != nil {
			t.Fatal(err)
		}
	}
	return held, counts
}

// Every part of every entry of every session is in the index, with all its words.
func TestNothingIsLost(t *testing.T) {
	w := everything(t)
	held, _ := w.postings(t)
	entries, parts, checked, problems := 0, 0, 0, 0
	fail := func(format string, args ...any) {
		if problems++; problems <= 60 {
			t.Errorf(format, args...)
		}
	}
	for _, f := range w.files {
		rec := w.records[f.path]
		if rec == nil {
			if f.header != nil {
				fail("%s is not indexed", w.show(f.path))
			}
			continue
		}
		for _, o := range f.entries {
			entries++
			for _, p := range partsOf(o) {
				parts++
				where := fmt.Sprintf("%s line %d, %s %.60q", w.show(f.path), o.line, p.kind, p.text)
				missing := []string{}
				words(p.text, func(term string) {
					checked++
					if !held[posting(term, rec.File, o.offset, p.kind)] && !slices.Contains(missing, term) {
						missing = append(missing, term)
					}
				})
				if len(missing) > 0 {
					if !held[posting("", rec.File, o.offset, p.kind)] {
						fail("%s: no such part", where)
					} else {
						fail("%s: without the words %.20q", where, missing)
					}
				}
			}
		}
	}
	if problems > 0 {
		t.Errorf("%d parts with words lost", problems)
	}
	t.Logf("%d files, %d entries, %d parts, %d words", len(w.files), entries, parts, checked)
	if entries < 100 || checked < 1000 {
		t.Error("too little was looked at")
	}
}

// A search for any word of any part finds that part. The words go to the
// program by the dozen, with any of them being enough.
func TestEveryWordIsFoundBySearching(t *testing.T) {
	t.Run("own", func(t *testing.T) {
		w := newWorld(t, t.TempDir(), false)
		defer w.reader.Close()
		searchEveryWord(t, w, 1)
	})
	if testkit.Fixtures() != "" {
		// These hold so many words that every 96th has to do.
		t.Run("fixtures", func(t *testing.T) { searchEveryWord(t, everything(t), uint32(testkit.HowMany(2000, 96, 1))) })
	}
}

// searchEveryWord searches for every nth word, and of those that are nearly
// everywhere for fewer.
func searchEveryWord(t *testing.T, w *world, every uint32) {
	_, counts := w.postings(t)
	type spot struct {
		path, id, kind string
		offset         int64
	}
	spots := map[string]map[spot]bool{}
	for _, f := range w.files {
		if w.records[f.path] == nil {
			continue
		}
		for _, o := range f.entries {
			id, _ := o.value["id"].(string)
			for _, p := range partsOf(o) {
				words(p.text, func(term string) {
					nth := every
					if counts[term] > 300 && every > 1 {
						nth *= 8
					}
					if crc32.ChecksumIEEE([]byte(term))%nth != 0 {
						return
					}
					if spots[term] == nil {
						spots[term] = map[spot]bool{}
					}
					spots[term][spot{f.path, id, p.kind, o.offset}] = true
				})
			}
		}
	}
	terms := slices.Sorted(maps.Keys(spots))
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
	sort.SliceStable(terms, func(i, j int) bool { return counts[terms[i]] < counts[terms[j]] })
	problems, searches := 0, 0
	for len(terms) > 0 {
		n, hits := 0, 0
		for n < len(terms) && n < 24 && (n == 0 || hits+counts[terms[n]] < 2500) {
			hits += counts[terms[n]]
			n++
		}
		batch := terms[:n]
		terms = terms[n:]
		searches++
		e, r := search(t, w.home, append([]string{"-n", "1000000", "--scope", "all", "--no-update", "--session-dir", w.root, "--index-dir", w.indexDir, "--"}, batch...)...)
		if r.exit != 0 {
			t.Fatalf("pigrep search %q: exit code %d\n%s", batch, r.exit, r.stderr)
		}
		found, copies := map[spot]bool{}, map[[2]string]bool{}
		for _, h := range e.Hits {
			found[spot{h.SessionPath, "", h.Kind, h.Offset}] = true
			found[spot{h.SessionPath, "", "", h.Offset}] = true
			for _, c := range h.Copies {
				copies[[2]string{c.SessionPath, c.EntryID}] = true
			}
		}
		for _, term := range batch {
			for s := range spots[term] {
				if found[spot{s.path, "", s.kind, s.offset}] || copies[[2]string{s.path, s.id}] || s.id == "" && copies[[2]string{s.path, fmt.Sprintf("@%d", s.offset)}] {
					continue
				}
				if problems++; problems <= 30 {
					t.Errorf("a search for %q does not find %s:%s at %d, %s", term, w.show(s.path), s.id, s.offset, s.kind)
				}
			}
		}
		if problems > 30 {
			t.Fatalf("and more; words searched together: %q", batch)
		}
	}
	t.Logf("%d words in %d searches", len(spots), searches)
}

// What pi reports of a file, the index says too.
func TestSessionsAreWhatPiReports(t *testing.T) {
	w := everything(t)
	reports := map[string]testkit.Reported{}
	for _, r := range testkit.Truths(t) {
		reports[filepath.Clean(r.Path)] = r
	}
	for _, f := range w.files {
		r, ok := reports[w.origin[f.path]]
		if !ok {
			continue
		}
		delete(reports, w.origin[f.path])
		rec := w.records[f.path]
		if rec == nil {
			for version, truth := range r.Readers {
				if len(truth.Entries) > 0 {
					t.Errorf("%s is not indexed; pi %s reports %d entries", w.show(f.path), version, len(truth.Entries))
				}
			}
			continue
		}
		t.Run(w.show(f.path), func(t *testing.T) { compareTruth(t, f, rec, r) })
	}
	for path := range reports {
		t.Errorf("pi reports of %s, which is not in the world", path)
	}
}

func compareTruth(t *testing.T, f *sessionFile, rec *session.Record, reported testkit.Reported) {
	messages := 0
	ids := map[string]string{}
	var types []string
	for _, o := range f.entries {
		if o.str("type") == "message" {
			messages++
		}
	}
	for _, n := range rec.Nodes {
		ids[n.ID] = n.Type + "/" + n.Role
		types = append(types, n.Type)
	}
	if rec.Messages != messages || rec.Entries != len(f.entries) || len(rec.Nodes) != len(f.entries) {
		t.Errorf("%d messages, %d entries and %d nodes; the file has %d messages and %d entries", rec.Messages, rec.Entries, len(rec.Nodes), messages, len(f.entries))
	}
	for version, r := range reported.Readers {
		if r.OpenError != "" || r.Entries == nil {
			continue
		}
		if f.header == nil {
			// Old versions write a new header into what is no session.
			continue
		}
		if r.SessionID != "" && rec.ID != r.SessionID {
			t.Errorf("session id %q, pi %s says %q", rec.ID, version, r.SessionID)
		}
		if r.CWD != "" && rec.CWD != r.CWD {
			t.Errorf("cwd %q, pi %s says %q", rec.CWD, version, r.CWD)
		}
		name := ""
		if r.SessionName != nil {
			name = *r.SessionName
		}
		if rec.Name != name {
			t.Errorf("name %q, pi %s says %q", rec.Name, version, name)
		}
		if r.IDsFromFile {
			for _, e := range r.Entries {
				id, _ := e.ID.(string)
				got, ok := ids[id]
				kind, role, _ := strings.Cut(got, "/")
				// Readers from 0.35 on call the role hookMessage custom.
				if !ok || kind != e.Type || e.Role != "" && role != e.Role && role != "hookMessage" {
					t.Errorf("entry %q is %q, pi %s says %s/%s", id, got, version, e.Type, e.Role)
				}
			}
			labels := rec.Labels
			if labels == nil {
				labels = map[string]string{}
			}
			want := r.Labels
			if want == nil {
				want = map[string]string{}
			}
			if diff := cmp.Diff(want, labels); diff != "" {
				t.Errorf("labels (-pi %s +ours):\n%s", version, diff)
			}
		} else {
			// pi takes numbers, strings and lists for entries, without a type.
			untyped := func(s string) bool { return s == "" }
			var want []string
			for _, e := range r.Entries {
				want = append(want, e.Type)
			}
			if diff := cmp.Diff(slices.DeleteFunc(want, untyped), slices.DeleteFunc(types, untyped)); diff != "" && f.isPlain() {
				t.Errorf("types of entries (-pi %s +ours):\n%s", version, diff)
			}
		}
		if l := r.List; l != nil {
			if l.ID != "" && l.ID != rec.ID || l.CWD != "" && l.CWD != rec.CWD || l.Name != rec.Name {
				t.Errorf("id %q, cwd %q, name %q; pi %s lists %+v", rec.ID, rec.CWD, rec.Name, version, *l)
			}
			if rec.Messages != l.MessageCount && f.isPlain() && !f.holds("\u2028") {
				t.Errorf("%d messages, pi %s lists %d", rec.Messages, version, l.MessageCount)
			}
		}
	}
}

// isPlain reports whether every object stands on a line of its own, as pi
// wants it: of objects on one line it sees none.
func (f *sessionFile) isPlain() bool {
	line := f.header.line
	for _, o := range f.entries {
		if o.line == line {
			return false
		}
		line = o.line
	}
	return true
}

// holds reports whether some text of the file holds s.
func (f *sessionFile) holds(s string) bool {
	found := false
	for _, o := range f.entries {
		leaves(o.value, func(text string) { found = found || strings.Contains(text, s) })
	}
	return found
}
