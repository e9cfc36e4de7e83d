//go:build unix

package opensearch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/indexer"
	"pigrep/internal/session"
	"pigrep/lab/stories"
	"pigrep/lab/testkit"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/remote/opensearch"
	"pigrep/scope"
)

// everyWord looks for the terms of all texts: the engine must choose at least the sessions that
// the index of this machine finds.
func everyWord(t *testing.T, m *machine, url, prefix string) {
	archive, err := opensearch.Open(opensearch.Config{Name: "team", URL: url, Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	reader, registry := indexed(t, m.sessions)
	found := make(map[string]bool)
	for _, s := range reader.Segments() {
		s.Terms(segment.FieldText, nil, func(term []byte, _ int) bool { found[string(term)] = true; return true })
	}
	words := slices.Sorted(maps.Keys(found))
	step := max(1, len(words)/testkit.HowMany(100, 500, len(words)))
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(4)
	var looked atomic.Int64
	for i := 0; i < len(words); i += step {
		group.Go(func() error {
			spec, text := filter.Spec{Scope: scope.All}, `"`+words[i]+`"`
			here, err := sessions.List(ctx, reader, registry, stories.Disk{}, sessions.FromSearch(search.Request{Text: text, Spec: spec, Limit: search.All}))
			if err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
			sent, err := sessionsFor(ctx, archive, registry, &opensearch.Question{Text: text, Spec: spec})
			if err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
			for _, s := range here.Sessions {
				if _, there := sent[s.SessionPath]; !there {
					t.Errorf("%s is in %s, which is not found", text, s.SessionPath)
				}
			}
			if len(here.Sessions) > 0 { // a term may be cut, which the text does not have
				looked.Add(1)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("found %d of %d words", looked.Load(), len(words))
	if n := int(looked.Load()); n < 9*len(words)/step/10 {
		t.Errorf("of the %d words, %d were looked for and found", len(words), n)
	}
}

// sessionsFor returns what an archive sends for a question, by the paths of the session files on their machines.
func sessionsFor(ctx context.Context, archive *opensearch.Archive, registry *adapter.Registry, q *opensearch.Question) (map[string]session.Summary, error) {
	found := make(map[string]session.Summary)
	parts, err := archive.Divide(ctx, q)
	for _, p := range parts {
		x, err := p.Open(ctx, registry)
		if err != nil {
			return nil, err
		}
		for _, s := range x.Reader.Summaries() {
			_, path, _ := remote.Split(s.Path)
			found[path] = s
		}
		x.Reader.Close()
	}
	return found, err
}

// indexed indexes sessions as this machine does.
func indexed(t *testing.T, dir string) (*index.Reader, *adapter.Registry) {
	registry := adapter.NewRegistry(adapter.Environment{}, agents.All()...)
	built, err := indexer.Update(t.Context(), indexer.Options{
		Dir: filepath.Join(t.TempDir(), "index"), Adapter: registry, Roots: []adapter.Root{{Path: dir, Origin: "test"}},
		Now: time.Now, Logger: slog.New(slog.DiscardHandler), PID: os.Getpid(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { built.Reader.Close() })
	return built.Reader, registry
}

// other are the cases that an archive answers differently, as docs/teams.md says: a part of an
// identifier, and a typing error, are no hits where others are better.
var other = []string{"file and line", "Latin glued to Chinese"}

// everyCase asks the questions of testdata/searches here and there.
func everyCase(t *testing.T, m *machine, host string) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "searches", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, path := range files {
		data, err := os.ReadFile(path)
		var cases []struct {
			Name         string
			Query, Flags []string
		}
		if err == nil {
			err = json.Unmarshal(data, &cases)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range cases {
			if i%testkit.HowMany(20, 4, 1) > 0 {
				continue
			}
			asked++
			args := append([]string{"search", "--json", "--flat", "-n", "1000"}, c.Flags...)
			there, code := hitsOf(t, m, host, append(append(args, "--from", "team", "--"), c.Query...))
			here, want := hitsOf(t, m, host, append(append(args, "--session-dir", m.sessions, "--"), c.Query...))
			if same := slices.Equal(here, there) && code == want; same == slices.Contains(other, c.Name) {
				t.Errorf("%s: %q %q: exit code %d\n%s\nhere %d\n%s", c.Name, c.Flags, c.Query, code, strings.Join(there, "\n"), want, strings.Join(here, "\n"))
			}
		}
	}
	t.Logf("asked %d questions", asked)
}

// hitsOf returns which hits an answer has, and the exit code.
func hitsOf(t *testing.T, m *machine, host string, args []string) (list []string, code int) {
	t.Helper()
	out, errs, code := m.run(args...)
	var answer struct {
		Hits []struct {
			SessionPath, Kind, Tier string
			Line, Part              int
			Fragment                struct{ Spans [][2]int }
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatalf("%q: exit code %d, %s", args, code, errs)
	}
	for _, h := range answer.Hits {
		list = append(list, fmt.Sprintln(strings.TrimPrefix(h.SessionPath, host+":"), h.Line, h.Part, h.Kind, h.Tier, h.Fragment.Spans))
	}
	slices.Sort(list)
	return list, code
}

// nowhere asks for words that no text has, or only texts that filters leave out. An archive says of a
// word only what is true of all that it has, and names the nearest words among what it sent.
func nowhere(t *testing.T, url string) {
	dir := t.TempDir()
	for name, lines := range map[string][]string{
		"one": {"user", "The compaction, the compaction and a companion.", "assistant", "Die Kompaktierung funktioniert."},
		"two": {"user", "a companion", "assistant", "zeppelins and src/auth/login.go"},
	} {
		text := fmt.Sprintf(`{"type":"session","version":3,"id":"%s","timestamp":"2026-03-02T09:15:00.000Z","cwd":"/p/%[1]s"}`+"\n", name)
		for i := 0; i < len(lines); i += 2 {
			text += fmt.Sprintf(`{"type":"message","id":"e%d","parentId":null,"timestamp":"2026-03-02T09:15:01.000Z","message":{"role":%q,"content":[{"type":"text","text":%q}]}}`+"\n", i, lines[i], lines[i+1])
		}
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := newMachine(t, dir)
	m.setUp(url, "--prefix", "nowhere")
	m.push()
	why := func(args ...string) string {
		out, errs, code := m.run(append([]string{"search", "--json"}, args...)...)
		var answer struct {
			Words   []search.WordCount
			Removed []search.Removed
		}
		if err := json.Unmarshal([]byte(out), &answer); err != nil || code > 1 {
			t.Fatalf("%q: exit code %d, %v, %s%s", args, code, err, out, errs)
		}
		text := search.ExplainWords(answer.Words, answer.Removed, "", search.Without)
		for _, r := range answer.Removed {
			text += fmt.Sprintf("; %d %s", r.Hits, search.Without(r.Filter))
		}
		return text
	}
	for _, c := range []struct{ query, here, there string }{ // there is "" if it says the same
		{"compactification companion", "compactification occurs nowhere (nearest: compaction); companion has 2 hits in 2 sessions; no entry has both", ""},
		{"compactification zork", "compactification and zork occur nowhere (nearest to compactification: compaction)", "compactification and zork occur nowhere"},
		{"zork", "zork occurs nowhere", ""},
		{"zeppelins companion --kind prompt", "zeppelins has hits only without --kind (1); companion has 2 hits in 2 sessions; no entry has both", "zeppelins has hits only without any filter (1); companion has 2 hits in 2 sessions; no entry has both"},
		{"zeppelins --project one", "; 1 without --project", "; 1 without any filter"},
		{`"companion zeppelins"`, `"companion zeppelins" occurs nowhere`, ""},
		{"companion --project three", "; 2 without --project", "; 2 without any filter"},
	} {
		args := strings.Fields(c.query)
		if strings.HasPrefix(c.query, `"`) {
			args = []string{c.query}
		}
		if got := why(append(args, "--session-dir", dir)...); got != c.here {
			t.Errorf("%s: here %q, want %q", c.query, got, c.here)
		}
		want := cmp.Or(c.there, c.here)
		if strings.HasPrefix(c.query, `"`) { // the engine does not count phrases
			want = ""
		}
		if got := why(append(args, "--from", "team")...); got != want {
			t.Errorf("%s: from the archive %q, want %q", c.query, got, want)
		}
	}
}

// forged puts documents into an archive that pigrep would not write. No command shows what a
// terminal would obey, nor fails because of them; answers say what is missing.
func forged(t *testing.T, url string) {
	m := newMachine(t, testSessions(t))
	m.setUp(url, "--prefix", "forged", "--as", "laptop")
	m.push()
	var found struct {
		Hits struct {
			Hits []struct {
				ID     string         `json:"_id"`
				Source map[string]any `json:"_source"`
			}
		}
	}
	if err := json.Unmarshal([]byte(get(t, url+"/forged-sessions-v2/_search?q=sort:session&size=1000")), &found); err != nil || len(found.Hits.Hits) < 10 {
		t.Fatalf("%d sessions, %v", len(found.Hits.Hits), err)
	}
	const odd = "\x1b]0;owned\x07\x1b[2J\u009b31m"
	for i, h := range found.Hits.Hits {
		change := map[string]any{"user": odd, "facts": map[string]any{"Name": odd + "name", "FirstPrompt": odd, "Subject": odd, "Labels": []string{odd}, "Models": []string{odd}, "Agent": odd, "Parent": odd, "Messages": -5, "Entries": -5, "Tokens": -1 << 62, "Cost": -1e300}}
		switch i % 8 {
		case 0:
			change["session"], change["cwd"] = odd, odd
		case 1:
			change["offset"], change["lines"] = 1<<62, 1<<31-1
		case 2:
			change["offset"] = -1
		case 3:
			change["month"] = "2026.03/_close?x="
		case 4:
			change["host"] = odd
		case 5:
			change["begun"], change["oldest"], change["newest"] = -1<<62, 1<<61, 1<<61
		case 6:
			change["lines"] = 0
		case 7:
			change["facts"] = "none"
		}
		body, err := json.Marshal(map[string]any{"doc": change})
		if err != nil {
			t.Fatal(err)
		}
		if answer := post(t, url+"/forged-sessions-v2/_update/"+h.ID, string(body)); !strings.Contains(answer, `"result":"updated"`) {
			t.Fatal(answer)
		}
	}
	post(t, url+"/forged-sessions-v2/_doc?refresh=true", `{"sort":"push","host":"`+"\\u001b[2J"+`","user":"\u001b[31m","pushed":9000000000000000,"sessions":-1,"documents":-1,"bytes":-1}`)
	for _, line := range slices.Concat(commands, []string{"remote status", "remote forget --dry-run --before yesterday"}) {
		args := append(strings.Fields(line), "--from", "team")
		if args[0] == "remote" {
			args = slices.Insert(strings.Fields(line), 2, "team")
		}
		out, errs, code := m.run(args...)
		if strings.ContainsAny(out+errs, "\x1b\x07\u009b") {
			t.Errorf("%s: exit code %d, prints %q", line, code, out+errs)
		}
		if code > 2 || strings.Contains(errs, "goroutine ") || strings.Contains(errs, "internal error") {
			t.Errorf("%s: exit code %d, %s", line, code, errs)
		}
	}
	const said = "of team are not in this answer, or in part: something else than pigrep has written there"
	if out, errs, code := m.run("sessions", "--from", "team", "--json"); code != 0 || !strings.Contains(out, `"complete":false`) || !strings.Contains(out, said) {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	if out := m.must("remote", "status", "team"); !strings.Contains(out, "documents of session files were written by something else than pigrep, among them ") {
		t.Error(out)
	}
	for _, h := range found.Hits.Hits {
		post(t, url+"/forged-sessions-v2/_update/"+h.ID+"?refresh=true", `{"doc":{"facts":"none"}}`)
	}
	if out, errs, code := m.run("sessions", "--from", "team"); code != 2 || !strings.Contains(errs, said) {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
}

// clocks pushes from a machine whose clock is wrong by a day: nothing of what is found, and nothing of
// what counts as pushed, depends on it.
func clocks(t *testing.T, url string) {
	archive, err := opensearch.Open(opensearch.Config{Name: "team", URL: url, Prefix: "clocks"})
	if err == nil {
		_, err = archive.Init(t.Context(), 1, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	reader, registry := indexed(t, testSessions(t))
	for i, skew := range []time.Duration{24 * time.Hour, -24 * time.Hour, 0} {
		report, err := archive.Push(t.Context(), opensearch.Push{Host: "laptop", User: "me", Adapter: registry, Files: stories.Disk{}, Sessions: reader.Summaries(), Now: func() time.Time { return time.Now().Add(skew) }})
		if err != nil || len(report.Refused)+len(report.Failed) > 0 || i > 0 && report.Documents > 0 || i == 0 && report.Documents == 0 {
			t.Errorf("a clock that is wrong by %s: %+v, %v", skew, report, err)
		}
	}
	sent, err := sessionsFor(t.Context(), archive, registry, &opensearch.Question{Brief: true})
	for _, own := range reader.Summaries() {
		if s, there := sent[own.Path]; !there || !s.Newest.Equal(own.Newest.Truncate(time.Millisecond)) {
			t.Errorf("the newest entry of %s is of %s", own.Path, s.Newest)
		}
	}
	if err != nil || len(sent) != len(reader.Summaries()) {
		t.Errorf("%d sessions of %d, %v", len(sent), len(reader.Summaries()), err)
	}
}
