package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"
	"weak"

	"pigrep/adapter/pi"
	"pigrep/internal/session"
	"pigrep/query/audit"
)

// A list of all calls holds the facts of few of them, however many it has: those of a
// piece are forgotten when its earliest call is listed, in a long session and in short
// ones.
func TestListedCallsAreForgotten(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	minute := 0
	for n, calls := range []int{6 * session.FactsChunk, 40, 0, 300, 300, 300, 300, 300} {
		var b strings.Builder
		b.WriteString(header(fmt.Sprint("s", n)))
		for i := range calls {
			fmt.Fprintf(&b, `{"type":"message","id":"c%d","parentId":null,"timestamp":"2026-01-%02dT%02d:%02d:00.000Z","message":{"role":"assistant","provider":"p","model":"m","content":[{"type":"toolCall","id":"t%d","name":"bash","arguments":{"command":"make target-%d-%d"}}]}}`+"\n",
				i, 1+minute/1440, minute/60%24, minute%60, i, n, i)
			minute++
		}
		writeInPlace(t, filepath.Join(root, fmt.Sprintf("s%d.jsonl", n)), []byte(b.String()))
	}
	writeInPlace(t, filepath.Join(root, "empty.jsonl"), nil)
	r := update(t, filepath.Join(t.TempDir(), "index"), root).Reader
	list, err := audit.Calls(t.Context(), r, pi.New(), disk{}, audit.Request{})
	if err != nil {
		t.Fatal(err)
	}
	var texts []weak.Pointer[byte] // of the rows so far, in the memory of their facts
	most := 0
	err = list.Each(context.Background(), func(row *audit.CallRow) error {
		texts = append(texts, weak.Make(unsafe.StringData(row.Arguments)))
		if len(texts)%250 == 0 || len(texts) == list.Total {
			runtime.GC()
			held := 0
			for _, p := range texts {
				if p.Value() != nil {
					held++
				}
			}
			most = max(most, held)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) != minute {
		t.Errorf("%d calls are listed, want %d", len(texts), minute)
	}
	if most > 2*session.FactsChunk {
		t.Errorf("the facts of %d of %d listed calls are held, want at most those of two pieces of %d", most, minute, session.FactsChunk)
	}
	runtime.KeepAlive(list)
}

// Calls of one entry are told apart where its facts are in two pieces, and calls of the
// same time are listed last first.
func TestCallsOfAnEntryInTwoPieces(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const total = session.FactsChunk + 3
	call := func(n int) string {
		return fmt.Sprintf(`{"type":"toolCall","id":"t%d","name":"bash","arguments":{"command":"target-%d"}}`, n, n)
	}
	entry := func(first, after int) string {
		var calls []string
		for n := first; n < after; n++ {
			calls = append(calls, call(n))
		}
		return fmt.Sprintf(`{"type":"message","id":"e%d","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"assistant","provider":"p","model":"m","content":[%s]}}`+"\n",
			first, strings.Join(calls, ","))
	}
	text := header("a")
	for n := range session.FactsChunk - 2 {
		text += entry(n, n+1)
	}
	writeInPlace(t, filepath.Join(root, "a.jsonl"), []byte(text+entry(session.FactsChunk-2, total)))
	r := update(t, filepath.Join(t.TempDir(), "index"), root).Reader
	var picked *regexp.Regexp
	commands := func() (list []string) {
		t.Helper()
		answer, err := audit.Calls(t.Context(), r, pi.New(), disk{}, audit.Request{Args: []audit.ArgTest{{Name: "command", Match: picked}}})
		if err == nil {
			err = answer.Each(t.Context(), func(row *audit.CallRow) error {
				list = append(list, strings.TrimPrefix(row.Arguments, "command: "))
				return nil
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	var all []string
	for n := range total {
		all = append(all, fmt.Sprint("target-", n))
		picked = regexp.MustCompile(`\A` + regexp.QuoteMeta(all[n]) + `\z`)
		if n < session.FactsChunk-3 {
			continue
		}
		if got := commands(); !slices.Equal(got, all[n:]) {
			t.Errorf("calls whose command is %s: %q", all[n], got)
		}
	}
	picked = regexp.MustCompile("")
	slices.Reverse(all)
	if got := commands(); !slices.Equal(got, all) {
		t.Errorf("all calls: %q", got)
	}
}
