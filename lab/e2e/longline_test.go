package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/indexer"
	"pigrep/lab/testkit"
	"pigrep/query/engine/filter"
	"pigrep/query/grep"
	"pigrep/scope"
)

// Lines that are longer than the limit are left out, whatever the order in which the file
// grew and the limit changed: on disk and in memory, the index equals one built at once,
// and a grep that reads the files finds the same lines. The bytes of a line that is too
// long are read once, even if it never ends.
func TestLongLines(t *testing.T) {
	t.Parallel()
	for seed := range testkit.Rounds(4, 8, 300) {
		random := rand.New(rand.NewPCG(uint64(seed), 1))
		root, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
		file := filepath.Join(root, "a.jsonl")
		limit := int64(400)
		data := header("a")
		indexed := 0 // bytes that need not be read again
		for i := range 1 + random.IntN(12) {
			switch random.IntN(7) {
			case 0:
				data += message(i, "", "short")
			case 1:
				data += message(i, "", strings.Repeat("long ", 20+random.IntN(180)))
			case 2:
				data += strings.Repeat("x", 1+random.IntN(500))
			case 3:
				data += "\n"
			case 4:
				data += strings.TrimSuffix(message(i, "", "no end "+strings.Repeat("y ", random.IntN(200))), "\n")
			case 5:
				limit, indexed = []int64{0, 150, 300, 400, 900}[random.IntN(5)], 0
			case 6:
				data, indexed = header("a")+data[len(header("a")):(len(data)+len(header("a")))/2], 0
			}
			writeInPlace(t, file, []byte(data))
			letTimesSettle()
			o := options(dir, root)
			o.Adapter = adapter.NewRegistry(adapter.Environment{}, pi.New()).Limit(adapter.Limits{Line: limit})
			o.Memory = random.IntN(2) == 0
			res, err := indexer.Update(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			fresh := o
			fresh.Dir, fresh.Memory = filepath.Join(t.TempDir(), "fresh"), false
			want, err := indexer.Update(context.Background(), fresh)
			if err != nil {
				t.Fatal(err)
			}
			equalStates(t, fmt.Sprintf("seed %d, step %d", seed, i), state(t, res.Reader), state(t, want.Reader))
			if len(res.Errors) != len(want.Errors) || res.Complete() != want.Complete() || res.Complete() == want.Reader.Summaries()[0].LeavesOut() {
				t.Fatalf("complete %v with %v, a fresh build %v with %v", res.Complete(), res.Errors, want.Complete(), want.Errors)
			}
			if !o.Memory && res.BytesRead > int64(len(data)-indexed) {
				t.Fatalf("%d bytes read of %d new ones", res.BytesRead, len(data)-indexed)
			}
			if !o.Memory {
				indexed = int(want.Reader.Summaries()[0].Checkpoint.Offset)
			}
			for _, pattern := range []string{"short|long|end", "."} {
				got := grepAll(t, pattern, grep.Input{Reader: res.Reader, Adapter: o.Adapter, Files: []grep.File{{Path: file, Known: &res.Reader.Summaries()[0], Indexed: grep.Whole}}})
				if scanned := grepAll(t, pattern, grep.Input{Adapter: o.Adapter, Files: []grep.File{{Path: file}}}); got != scanned {
					t.Fatalf("grep %s with the index:\n%s\nwithout:\n%s", pattern, got, scanned)
				}
			}
			res.Reader.Close()
			want.Reader.Close()
		}
	}
}

func grepAll(t *testing.T, pattern string, in grep.Input) string {
	in.Source = disk{}
	var b strings.Builder
	_, err := grep.Run(context.Background(), in, grep.Request{Spec: filter.Spec{Scope: scope.All}, Patterns: []string{pattern}}, func(m *grep.Match) error {
		return json.NewEncoder(&b).Encode(m)
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The index covers the beginning of a line that is too long. What follows that line is
// found without the index, too.
func TestGrepBehindALongLine(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "a.jsonl")
	o := options(filepath.Join(t.TempDir(), "index"), root)
	o.Adapter = adapter.NewRegistry(adapter.Environment{}, pi.New()).Limit(adapter.Limits{Line: 300})
	data := header("a") + message(1, "", "first") + strings.Repeat("x", 500)
	writeInPlace(t, file, []byte(data))
	letTimesSettle()
	res, err := indexer.Update(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Reader.Close()
	known := &res.Reader.Summaries()[0]
	if int(known.Checkpoint.Offset) != len(data) || known.Within != 500 {
		t.Fatalf("the checkpoint is at %d, %d bytes within a line; want %d, 500", known.Checkpoint.Offset, known.Within, len(data))
	}
	writeInPlace(t, file, []byte(data+`{"type":"message","id":"9","message":{"role":"user","content":"within"}}`+"\n"+message(2, "1", "second")))
	var found []string
	sum, err := grep.Run(context.Background(), grep.Input{Reader: res.Reader, Adapter: o.Adapter, Source: disk{}, Files: []grep.File{{Path: file, Known: known, Indexed: known.Checkpoint.Offset}}},
		grep.Request{Patterns: []string{"first|within|second"}}, func(m *grep.Match) error {
			found = append(found, m.Lines[0].Text)
			return nil
		})
	if err != nil || strings.Join(found, " ") != "first second" {
		t.Errorf("found %q, %v", found, err)
	}
	if len(sum.Errors) != 1 || !strings.Contains(sum.Errors[0].Err.Error(), "line 3") {
		t.Errorf("errors: %v, want one about line 3", sum.Errors)
	}
}
