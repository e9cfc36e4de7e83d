package search

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"pigrep/adapter/pi"
	"pigrep/query/engine/entry"
)

// refusing refuses to open the session files whose path has a suffix.
type refusing struct {
	Disk
	suffix string
}

func (r refusing) Open(path string) (entry.File, error) {
	if strings.HasSuffix(path, r.suffix) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	return r.Disk.Open(path)
}

// A session file that the system refuses to open costs its own hits only, and the
// warning names the reason.
func TestUnreadableSession(t *testing.T) {
	for _, text := range []string{"timeout", "connection timeout", `"connection timeout"`} {
		for _, flat := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/flat=%t", text, flat), func(t *testing.T) {
				l := newLibrary(t,
					story{Name: "open", Entries: []turn{prompt("a connection timeout here")}},
					story{Name: "secret", Start: day.AddDate(0, 0, 1), Entries: []turn{prompt("another connection timeout there")}},
				)
				resp, err := Run(context.Background(), l.Reader, pi.New(), refusing{suffix: "secret.jsonl"}, Request{Text: text, Flat: flat})
				if err != nil {
					t.Fatal(err)
				}
				if got := ids(resp); len(got) != 1 || got[0] != "open-0000" {
					t.Errorf("hits %q, want the one of the readable session", got)
				}
				if resp.TotalIsExact || resp.Unreadable != 1 {
					t.Errorf("the total is exact: %t, with %d hits that cannot be read; want false, 1", resp.TotalIsExact, resp.Unreadable)
				}
				warnings := strings.Join(resp.Warnings, "\n")
				if !strings.Contains(warnings, fs.ErrPermission.Error()) || !strings.Contains(warnings, "secret.jsonl") {
					t.Errorf("warnings %q do not name the reason and the file", warnings)
				}
				if strings.Contains(warnings, "has changed") {
					t.Errorf("warnings %q say that the file has changed", warnings)
				}
			})
		}
	}
}
