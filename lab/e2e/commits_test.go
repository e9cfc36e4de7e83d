package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter/claude"
	"pigrep/adapter/codex"
	"pigrep/adapter/pi"
	"pigrep/indexer"
	"pigrep/lab/testkit"
	"pigrep/query/blame"
	"pigrep/ui/cli/location"
)

// wroteFile is one call that wrote a whole file.
type wroteFile struct {
	session, name string
	lines         []string
	at            time.Time
}

// committer writes sessions that write files, whose names and lines are often the same, and makes
// commits of their lines and of others.
type committer struct {
	rng   *rand.Rand
	now   time.Time
	calls []wroteFile
	names []string
}

func (b *committer) lines(n int) (list []string) {
	for range n {
		list = append(list, fmt.Sprintf("return the value of item %d", b.rng.IntN(60)))
	}
	return append(list, "}", "// short")
}

func (b *committer) sessions(dir string, n, calls int) {
	for i := range 40 {
		b.names = append(b.names, fmt.Sprintf("pkg%d/part%d.go", i%3, i), fmt.Sprintf("pkg%d/part%d_test.go", i%3, i), fmt.Sprintf("cmd/part%d.go", i))
	}
	for i := range n {
		b.now = b.now.Add(time.Duration(b.rng.IntN(90)) * time.Hour)
		f := agentFile{id: fmt.Sprintf("01c%05x-0000-7000-8000-%012x", i, b.rng.Uint64()&0xffffffffffff), cwd: "/home/dev/harbor", now: &b.now}
		w := []func(string, agentFile) agentWriter{newPi, newClaude, newCodex}[i%3](dir, f)
		w.prompt("write the parts")
		for range calls {
			name, lines := b.names[b.rng.IntN(len(b.names))], b.lines(1+b.rng.IntN(12))
			var now []authored
			for _, l := range lines {
				now = append(now, authored{Text: l})
			}
			w.write(name, nil, now)
			b.calls = append(b.calls, wroteFile{f.id, name, lines, b.now.Add(-stampStep)}) // some agents say something in an entry before the call
		}
		w.end()
	}
}

// commits returns commits of some files each, with lines of calls and others.
func (b *committer) commits(n int) (list []blame.Commit) {
	for i := range n {
		c := blame.Commit{Hash: fmt.Sprintf("%040x", 0xabcdef0000+i), Subject: "parts", Added: map[string][]string{}}
		of := b.calls[b.rng.IntN(len(b.calls))]
		c.Time = of.at.Add(time.Duration(b.rng.IntN(30)-2) * time.Hour)
		for _, call := range b.calls {
			if call.session == of.session && b.rng.IntN(3) > 0 {
				c.Added[call.name] = append(c.Added[call.name], call.lines...)
			}
		}
		for range b.rng.IntN(3) {
			c.Added[b.names[b.rng.IntN(len(b.names))]] = b.lines(b.rng.IntN(20))
		}
		list = append(list, c)
	}
	return list
}

// best is the plain model: the session that wrote the most of the lines of a commit.
func (b *committer) best(c *blame.Commit) (id string, share float64) {
	type place struct{ name, line string }
	wanted, wrote := map[place]bool{}, map[string]map[place]bool{}
	for name, lines := range c.Added {
		for _, l := range lines {
			if len(strings.TrimSpace(l)) >= 12 {
				wanted[place{name, l}] = true
			}
		}
	}
	last := map[string]time.Time{}
	for _, call := range b.calls {
		if call.at.Before(c.Time.Add(-14*24*time.Hour)) || call.at.After(c.Time.Add(time.Hour)) {
			continue
		}
		for _, l := range call.lines {
			if at := (place{call.name, l}); wanted[at] {
				if wrote[call.session] == nil {
					wrote[call.session] = map[place]bool{}
				}
				wrote[call.session][at], last[call.session] = true, call.at
			}
		}
	}
	for s, lines := range wrote {
		n := float64(len(lines)) / float64(len(wanted))
		if n >= 0.3 && (n > share || n == share && last[s].After(last[id])) {
			id, share = s, n
		}
	}
	return id, share
}

// What log says of a commit is what commit says of it alone, and both say what a plain model does,
// however many commits and files there are, and each time.
func TestCommitsAgreeWithThePlainModel(t *testing.T) {
	for seed := range testkit.Rounds(3, 6, 30) {
		dir := t.TempDir()
		b := &committer{rng: rand.New(rand.NewPCG(uint64(seed), 55)), now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
		b.sessions(dir, 9+seed, 12)
		h := homeOf(t, dir, pi.New(), claude.New(), codex.New())
		res := h.update(t)
		list := b.commits(testkit.HowMany(60, 120, 1000))
		all := commitRows(t, h, res, list)
		if len(all) != len(list) {
			t.Fatalf("%d rows for %d commits", len(all), len(list))
		}
		found := 0
		for i := range list {
			id, share := b.best(&list[i])
			if id != "" {
				found++
			}
			got := ""
			if all[i].Origin != nil {
				got = all[i].SessionID
			}
			if got != id || all[i].Share != share {
				t.Errorf("seed %d: commit %d is of %q (%.4f), want %q (%.4f)", seed, i, got, all[i].Share, id, share)
			}
			if diff := cmp.Diff(all[i:i+1], commitRows(t, h, res, list[i:i+1])); diff != "" {
				t.Errorf("seed %d: commit %d alone (-log +commit):\n%s", seed, i, diff)
			}
		}
		if found < len(list)/3 {
			t.Errorf("only %d of %d commits have a session", found, len(list))
		}
		if diff := cmp.Diff(all[:20], commitRows(t, h, res, list[:20])); diff != "" {
			t.Errorf("seed %d: of 20 commits (-all +20):\n%s", seed, diff)
		}
	}
}

func commitRows(t *testing.T, h home, res *indexer.Result, list []blame.Commit) []blame.CommitRow {
	t.Helper()
	answer, err := blame.Commits(t.Context(), res.Reader, h.registry, location.Disk{}, blame.CommitRequest{Commits: list})
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Warnings) > 0 {
		t.Fatal(answer.Warnings)
	}
	return answer.Rows
}

// A session that writes two files whose names share words is found each time.
func TestCommitOfFilesWithLikeNames(t *testing.T) {
	for n, agent := range []func(string, agentFile) agentWriter{newPi, newClaude, newCodex} {
		dir, now := t.TempDir(), time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		w := agent(dir, agentFile{id: "01c00001-0000-7000-8000-000000000001", cwd: "/home/dev/harbor", now: &now})
		w.prompt("write the hooks")
		added := map[string][]string{}
		for _, name := range []string{"hooks.go", "hooks_test.go", "run_hooks.go"} {
			added[name] = []string{"package " + name + " // the hooks", "var names = []string{" + name + "}"}
			w.write(name, nil, []authored{{Text: added[name][0]}, {Text: added[name][1]}})
		}
		w.end()
		h := homeOf(t, dir, pi.New(), claude.New(), codex.New())
		res := h.update(t)
		for range 20 {
			row := commitRows(t, h, res, []blame.Commit{{Hash: strings.Repeat("a", 40), Time: now, Added: maps.Clone(added)}})[0]
			if row.Match != blame.ByText || row.Share != 1 {
				t.Fatalf("agent %d: the commit is found by %q, with share %v", n, row.Match, row.Share)
			}
		}
	}
}

// A commit whose lines are not known in full is not said to be of no session.
func TestCommitThatIsUnread(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	w := newPi(dir, agentFile{id: "01c00001-0000-7000-8000-000000000001", cwd: "/home/dev/harbor", now: &now})
	w.prompt("write nothing")
	w.end()
	h := homeOf(t, dir, pi.New())
	res := h.update(t)
	answer, err := blame.Commits(t.Context(), res.Reader, h.registry, location.Disk{}, blame.CommitRequest{Commits: []blame.Commit{
		{Hash: strings.Repeat("a", 40), Time: now, Unread: true}, {Hash: strings.Repeat("b", 40), Time: now},
	}})
	testkit.Check(t, err)
	if answer.Rows[0].Match != blame.Unread || answer.Rows[1].Match != blame.None || !slices.Equal(answer.Unread, []string{strings.Repeat("a", 40)}) || len(answer.Uncompared()) != 1 {
		t.Errorf("%+v", answer)
	}
}
