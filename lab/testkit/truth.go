package testkit

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/internal/session"
)

// Truth is what one version of pi reports of a session file. Where pi made ids up
// (IDsFromFile is false), ids are indexes of entries.
type Truth struct {
	List *struct {
		ID, CWD, Name, FirstMessage string
		Created, Modified           session.Time
		MessageCount                int
	}
	OpenError           string
	ContextError        string
	PiHangsOnParentLoop bool `json:"piHangsOnParentCycle"`
	SessionID           string
	CWD                 string
	IDsFromFile         bool
	Entries             []TruthEntry
	LeafID              any
	SessionName         *string
	Labels              map[string]string
	TreeRoots           []any
	Branch              []any
	Context             struct {
		Messages []struct{ Role string }
	}
}

// TruthEntry is an entry as pi reports it.
type TruthEntry struct {
	Type, Role   string
	ID, ParentID any
	ParentIndex  *int
	Timestamp    any
}

// Readers are the versions of pi that reported, the one to believe first.
var Readers = []string{"1.5.2", "0.78.0", "0.61.1", "0.31.1", "0.30.2"}

// Reported is a session file with what versions of pi report of it.
type Reported struct {
	Name, Path string
	Readers    map[string]Truth
}

// Newest returns the report of the newest version of pi that could open the file;
// false if there is none.
func (r Reported) Newest() (Truth, bool) {
	for _, version := range Readers {
		if truth, ok := r.Readers[version]; ok && truth.OpenError == "" {
			return truth, true
		}
	}
	return Truth{}, false
}

// Root is the absolute path of the directory of go.mod, above that of the test.
func Root() string {
	for dir := "."; ; dir = filepath.Join("..", dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || len(dir) > 60 {
			root, _ := filepath.Abs(dir)
			return root
		}
	}
}

// Fixtures is a directory with more session files, "" if there is none.
func Fixtures() string { return os.Getenv("PIGREP_FIXTURES") }

// SessionFiles lists the session files of the repository and of Fixtures, snapshots
// included.
func SessionFiles(t testing.TB) []string {
	t.Helper()
	testdata, more := filepath.Join(Root(), "testdata"), Fixtures()
	if more == "" {
		more = Written()
	}
	return Sessions(t, filepath.Join(testdata, "sessions"), filepath.Join(testdata, "realpi", "sessions"), more)
}

// Sessions lists the session files below directories.
func Sessions(t testing.TB, dirs ...string) []string {
	t.Helper()
	return below(t, dirs, func(path string) bool {
		return strings.HasSuffix(path, ".jsonl") || strings.HasSuffix(path, ".snapshot")
	})
}

func below(t testing.TB, dirs []string, want func(path string) bool) (files []string) {
	t.Helper()
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && want(path) {
				files = append(files, path)
			}
			return err
		})
		Check(t, err)
	}
	return files
}

// Written returns the directory with session files that several versions of pi wrote, and
// with what pi reports of them: the one in Fixtures, else the small one of the repository.
func Written() string {
	if Fixtures() != "" {
		return filepath.Join(Fixtures(), "pi")
	}
	return filepath.Join(Root(), "testdata", "pi")
}

// Story is what happened to one session file, step by step.
type Story struct {
	Name  string
	Steps []Step
}

// Step is a file after one step of a story.
type Step struct {
	Name string
	Data []byte // nil if the file does not exist
}

// Stories returns every story in which pi changed a file.
func Stories(t testing.TB) (stories []Story) {
	t.Helper()
	dir := filepath.Join(Written(), "lifecycle")
	var list []struct {
		Name  string
		Steps []struct {
			Step, File string
			Exists     bool
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "sequences.json"))
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	Check(t, err)
	for _, s := range list {
		story := Story{Name: s.Name}
		for _, step := range s.Steps {
			var data []byte
			if step.Exists {
				if data, err = os.ReadFile(filepath.Join(dir, s.Name, step.File)); err != nil {
					t.Fatal(err)
				}
			}
			story.Steps = append(story.Steps, Step{step.Step, data})
		}
		stories = append(stories, story)
	}
	if len(stories) < 6 {
		t.Fatalf("%d stories, want 6 or more", len(stories))
	}
	return stories
}

// Truths returns the files of the repository and of Fixtures of which pi reported
// something. testdata/realpi/truth.mjs writes the reports of the repository; those
// of Fixtures lie beside the files.
func Truths(t testing.TB) []Reported {
	t.Helper()
	realpi := filepath.Join(Root(), "testdata", "realpi")
	truth := filepath.Join(realpi, "truth")
	dirs := [][2]string{
		{filepath.Join(truth, "realpi"), filepath.Join(realpi, "sessions")},
		{filepath.Join(truth, "testdata"), filepath.Join(Root(), "testdata", "sessions")},
		{Written(), Written()},
	}
	var list []Reported
	for _, dir := range dirs {
		reports, sessions := dir[0], dir[1]
		for _, path := range below(t, []string{reports}, func(path string) bool {
			return strings.HasSuffix(path, ".truth.json") && !strings.HasPrefix(filepath.Base(path), "listall")
		}) {
			data, err := os.ReadFile(path)
			Check(t, err)
			name, err := filepath.Rel(reports, strings.TrimSuffix(path, ".truth.json"))
			Check(t, err)
			r := Reported{Name: filepath.ToSlash(name), Path: filepath.Join(sessions, name)}
			if err := json.Unmarshal(data, &r); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			list = append(list, r)
		}
	}
	if len(list) < 50 {
		t.Fatalf("%d files with a report of pi, want 50 or more", len(list))
	}
	return list
}
