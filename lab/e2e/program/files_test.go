package program

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// object is one JSON object of a session file.
type object struct {
	value  map[string]any
	offset int64
	length int
	line   int
}

func (o object) str(key string) string {
	s, _ := o.value[key].(string)
	return s
}

// isHeader says whether the object is the first line of a session, of whatever
// version.
func (o object) isHeader() bool {
	return o.str("type") == "session" || o.str("type") == "" && o.str("kind") == "header"
}

// sessionFile is a session file as this package reads it.
type sessionFile struct {
	path    string
	header  *object // the first
	entries []object
}

// readSession reads a file in the plainest way: lines end with "\n", a line
// holds any number of JSON objects, NULs and white space between them are
// nothing, and the rest of a line after something that is no object is given up.
func readSession(t testing.TB, path string) *sessionFile {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := &sessionFile{path: path}
	at, number := 0, 0
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		at = len("\ufeff")
	}
	for at < len(data) {
		number++
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i
		}
		for line := data[at:end]; ; {
			rest := bytes.TrimLeft(line, "\x00 \t\r")
			if len(rest) == 0 {
				break
			}
			dec := json.NewDecoder(bytes.NewReader(rest))
			dec.UseNumber()
			var value any
			if dec.Decode(&value) != nil {
				break
			}
			length := int(dec.InputOffset())
			m, ok := value.(map[string]any)
			if !ok {
				break
			}
			o := object{value: m, offset: int64(end - len(rest)), length: length, line: number}
			switch {
			case !o.isHeader():
				f.entries = append(f.entries, o)
			case f.header == nil:
				f.header = &o
			}
			line = rest[length:]
		}
		at = end + 1
	}
	return f
}

// sessionFiles lists the regular .jsonl files below root, by path.
func sessionFiles(t testing.TB, root string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".jsonl") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(paths)
	return paths
}

// leaves calls visit with every string below a value, and the keys of objects.
func leaves(v any, visit func(s string)) {
	switch v := v.(type) {
	case string:
		visit(v)
	case map[string]any:
		for k, e := range v {
			visit(k)
			leaves(e, visit)
		}
	case []any:
		for _, e := range v {
			leaves(e, visit)
		}
	}
}
