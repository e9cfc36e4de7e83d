package merge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pigrep/lab/stories"
	"pigrep/query/blame"
	"pigrep/query/merge"
	"pigrep/query/recap"
)

// told is a session with calls, each with its result, a minute apart. The files of a host begin with its name.
func told(name string, day int, turns ...stories.Turn) stories.Story {
	s := stories.Story{Name: name, CWD: "/home/u/app", Start: stories.Day.AddDate(0, 0, day), Entries: []stories.Turn{stories.Prompt("the wish of " + name)}}
	for i, turn := range turns {
		turn.Minute = i + 1
		s.Entries = append(s.Entries, turn)
	}
	return s
}

func ran(command, output string) []stories.Turn {
	return []stories.Turn{stories.Called("bash", map[string]any{"command": command}), stories.Result("bash", output, strings.Contains(output, "exited with code"))}
}

func edited(tool string, arguments map[string]any) []stories.Turn {
	return []stories.Turn{stories.Called(tool, arguments), stories.Result(tool, "ok", false)}
}

// onHosts divides stories among hosts, by the host before the name of each. Odd files are among them.
func onHosts(t *testing.T, hosts int, list map[string]stories.Story) *scene {
	t.Helper()
	files := map[string]string{}
	for name, s := range list {
		files[name] = s.Text()
	}
	for name, text := range odd {
		files["h0/"+name] = text
	}
	return divide(t, files, hosts, func(name string) int { return int(name[1] - '0') })
}

const (
	helper  = "package app\n\n// Retry retries a call three times.\nfunc Retry(f func() error) (err error) {\n\tfor range 3 {\n\t\tif err = f(); err == nil {\n\t\t\treturn nil\n\t\t}\n\t}\n\treturn err\n}\n"
	backoff = "\n// Backoff waits longer after each attempt that failed.\nfunc Backoff(n int) time.Duration {\n\treturn time.Second << n\n}\n"
	token   = `const key = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYzAA"`
)

// Each line belongs to the call that one index would name, whichever host has the call. Lines are as they are
// here, although a host masks what it sends. Of calls with equal claims, the first one has the line.
func TestBlameOfHosts(t *testing.T) {
	const file = "/home/u/app/retry.go"
	first := told("first", 1, edited("write", map[string]any{"path": file, "content": helper + token + "\n"})...)
	second := told("second", 2, edited("edit", map[string]any{"path": file, "oldText": "\treturn err\n}\n", "newText": "\treturn err\n}\n" + backoff})...)
	again := told("again", 3, edited("write", map[string]any{"path": file, "content": helper})...)
	s := onHosts(t, 3, map[string]stories.Story{"h0/first.jsonl": first, "h1/second.jsonl": second, "h2/first.jsonl": first, "h2/again.jsonl": again})
	lines := strings.Split(helper+backoff+token+"\nnobody wrote this line", "\n")
	for _, bounds := range [][2]int{{0, 0}, {13, 15}, {18, 18}} {
		req := blame.Request{Path: file, Relative: "retry.go", Lines: lines, From: bounds[0], To: bounds[1], Modified: now}
		one, err := blame.Run(t.Context(), s.all, s.adapter, stories.Disk{}, req)
		check(t, err)
		answers, err := together(t, s, req, func(i int, req blame.Request) (*blame.Response, error) {
			req.Redact = true
			return blame.Run(t.Context(), s.hosts[i], s.adapter, stories.Disk{}, req)
		})
		check(t, err)
		got := merge.Blame(&req, answers)
		if a, b := claims(one), claims(got); !slices.Equal(a, b) || one.Written != got.Written || one.Total != got.Total {
			t.Errorf("lines %v: %d of %d\n%s\none index: %d of %d\n%s", bounds, got.Written, got.Total, strings.Join(b, "\n"), one.Written, one.Total, strings.Join(a, "\n"))
		}
		var text []string
		for _, b := range got.Blocks {
			text = append(text, b.Lines...)
		}
		if want := lines[max(bounds[0]-1, 0):max(bounds[1], (1-min(bounds[1], 1))*len(lines))]; !slices.Equal(text, want) {
			t.Errorf("lines %v: %q", bounds, text)
		}
		req.Redact = true
		if masked := merge.Blame(&req, answers); strings.Contains(fmt.Sprint(masked.Blocks), "sk-ant") {
			t.Errorf("a secret is shown: %v", masked.Blocks)
		}
	}
}

// claims says for each line that is not blank who wrote it.
func claims(r *blame.Response) (list []string) {
	for _, b := range r.Blocks {
		for i, line := range b.Lines {
			who := b.Why
			if b.Origin != nil {
				who = b.SessionID + ":" + b.EntryID
			}
			if strings.TrimSpace(line) != "" {
				list = append(list, fmt.Sprint(b.From+i, " ", b.Match, " ", who))
			}
		}
	}
	return list
}

// A host that answers for lines that were not asked for, or again and again for the same, is believed once.
func TestHostileBlame(t *testing.T) {
	req := &blame.Request{Path: "/a", Lines: []string{"one line", "another line"}}
	origin := &blame.Origin{Line: 3}
	bad := &blame.Response{Blocks: []blame.Block{{From: -5, To: 1 << 40, Match: blame.Exact, Origin: origin}, {From: 1, To: 2, Match: "no such", Origin: origin}, {From: 2, To: 1, Why: "no such"}}}
	got := merge.Blame(req, []*blame.Response{bad, {}, {Blocks: []blame.Block{{From: 1, To: 2, Match: blame.Exact}}}})
	if len(got.Blocks) != 1 || got.Blocks[0].From != 1 || got.Blocks[0].To != 2 || got.Written != 2 || got.Total != 2 {
		t.Errorf("%+v", got)
	}
	commits := &blame.CommitRequest{Commits: []blame.Commit{{Hash: "aa"}, {Hash: "bb"}}}
	rows := merge.Commits(commits, []*blame.CommitResponse{{Rows: []blame.CommitRow{{Hash: "evil", Match: blame.ByHash}, {Match: "no such", Origin: origin}, {}}}, {}})
	if len(rows.Rows) != 2 || rows.Found != 0 || rows.Rows[0].Hash != "aa" || rows.Rows[0].Match != blame.None || rows.Rows[1].Match != blame.None {
		t.Errorf("%+v", rows)
	}
}

// A commit belongs to the session that one index would name: it printed the hash, or wrote most of the lines.
func TestCommitsOfHosts(t *testing.T) {
	write := func(name string, day int, content string) stories.Story {
		return told(name, day, edited("write", map[string]any{"path": "/home/u/app/retry.go", "content": content})...)
	}
	made := told("made", 3, slices.Concat(edited("write", map[string]any{"path": "/srv/made.go", "content": "package made"}), ran("git commit -am made", "[main 1a2b3c4] made"))...)
	s := onHosts(t, 3, map[string]stories.Story{
		"h0/some.jsonl": write("some", 1, helper[:len(helper)/2]), "h1/most.jsonl": write("most", 1, helper), "h1/made.jsonl": made, "h2/made.jsonl": made,
		"h2/early.jsonl": write("early", 2, backoff), "h0/late.jsonl": write("late", 3, backoff),
	})
	day := func(n int) time.Time { return stories.Day.AddDate(0, 0, n) }
	commit := func(hash, text string, unread bool) blame.Commit {
		return blame.Commit{Hash: strings.Repeat(hash, 40/len(hash)), Subject: "the key is " + token, Time: day(4), Added: map[string][]string{"retry.go": strings.Split(text, "\n")}, Unread: unread}
	}
	printed := commit("1a2b3c4d", "package made", false)
	req := blame.CommitRequest{Commits: []blame.Commit{commit("aa", helper, false), printed, commit("bb", backoff, false), commit("cc", "nobody wrote this line\nnor that one here", false), commit("dd", "", true)}}
	one, err := blame.Commits(t.Context(), s.all, s.adapter, stories.Disk{}, req)
	check(t, err)
	answers, err := together(t, s, req, func(i int, req blame.CommitRequest) (*blame.CommitResponse, error) {
		req.Redact = true
		return blame.Commits(t.Context(), s.hosts[i], s.adapter, stories.Disk{}, req)
	})
	check(t, err)
	got := merge.Commits(&req, answers)
	text := func(r *blame.CommitResponse) (list []string) {
		for _, row := range r.Rows {
			who := ""
			if row.Origin != nil {
				who = row.SessionID + ":" + row.EntryID
			}
			list = append(list, fmt.Sprint(row.Hash, row.Subject, row.Match, row.Share, who, row.Committed))
		}
		return append(list, fmt.Sprint(r.Found, r.Unread, r.Uncompared()))
	}
	if a, b := text(one), text(got); !slices.Equal(a, b) {
		t.Errorf("%s\none index:\n%s", strings.Join(b, "\n"), strings.Join(a, "\n"))
	}
	if one.Found != 3 || len(one.Unread) != 1 {
		t.Fatalf("the scene has %d commits of sessions", one.Found)
	}
}

// recapOf asks all hosts, which have names.
func (s *scene) recapOf(t *testing.T, req recap.Request) (*recap.Response, *recap.Lessons) {
	t.Helper()
	req.Together = true
	answers, err := together(t, s, req, func(i int, req recap.Request) (*recap.Response, error) {
		r, err := recap.Run(t.Context(), s.hosts[i], s.adapter, stories.Disk{}, req)
		for k := range r.Sessions {
			r.Sessions[k].Host = fmt.Sprint("h", i)
		}
		return r, err
	})
	check(t, err)
	lessons, err := together(t, s, req, func(i int, req recap.Request) (*recap.Lessons, error) {
		return recap.Learn(t.Context(), s.hosts[i], s.adapter, stories.Disk{}, req)
	})
	check(t, err)
	return merge.Recap(&req, answers), merge.Lessons(lessons)
}

// Hosts tell of the sessions that one index tells of, as long as none has a session of another.
func TestRecapOfHosts(t *testing.T) {
	s := shelves(t, 1)[0]
	for _, limit := range []int{0, 3} {
		one, err := recap.Run(t.Context(), s.all, s.adapter, stories.Disk{}, recap.Request{Limit: limit})
		check(t, err)
		got, _ := s.recapOf(t, recap.Request{Limit: limit})
		text := func(r *recap.Response) (list []string) {
			for _, x := range r.Sessions {
				list = append(list, fmt.Sprint(x.SessionID, x.Modified, x.Prompts, len(x.Facts)))
			}
			slices.Sort(list) // sessions of the same time are in the order of their paths
			return list
		}
		if limit == 0 && !slices.Equal(text(one), text(got)) || len(one.Sessions) != len(got.Sessions) || one.Total != got.Total || limit == 0 && (one.Files != got.Files || one.Cost != got.Cost) {
			t.Errorf("limit %d: %d of %d, one index %d of %d\n%v\n%v", limit, len(got.Sessions), got.Total, len(one.Sessions), one.Total, text(got), text(one))
		}
	}
}

// Of the copies of a session, the longest is told, with the facts that only another copy has, and their places.
func TestRecapOfCopies(t *testing.T) {
	common := ran("go test ./...", "undefined: total\n\nCommand exited with code 1")
	longer := told("both", 1, slices.Concat(common, ran("go test ./...", "ok"), edited("write", map[string]any{"path": "/srv/a.go", "content": "x"}), edited("write", map[string]any{"path": "/srv/a.go", "content": "y"}), []stories.Turn{stories.Reply("It is all done.")})...)
	shorter := told("both", 1, slices.Concat(common, ran("git commit -am x", "[main 1a2b3c4] the other end"), []stories.Turn{stories.Prompt("is it open?")})...)
	s := onHosts(t, 2, map[string]stories.Story{"h0/both.jsonl": shorter, "h1/both.jsonl": longer})
	got, _ := s.recapOf(t, recap.Request{})
	i := slices.IndexFunc(got.Sessions, func(x recap.Session) bool { return x.SessionID == "id-of-both" })
	if i < 0 || got.Total != len(got.Sessions) || slices.ContainsFunc(got.Sessions[i+1:], func(x recap.Session) bool { return x.SessionID == "id-of-both" }) {
		t.Fatalf("%d of %d: %+v", len(got.Sessions), got.Total, got.Sessions)
	}
	x := got.Sessions[i]
	var facts []string
	for _, f := range x.Facts {
		facts = append(facts, fmt.Sprint(f.What, " ", f.Text, " ", f.Passed != nil, " ", f.SessionPath != ""))
	}
	want := []string{"changed /srv/a.go false false", "failed go test ./... true false", "commit the other end false true", "ends It is all done. false false"}
	if x.Host != "h1" || x.Prompts != 2 || !slices.Equal(facts, want) {
		t.Errorf("host %s, %d prompts\n%s", x.Host, x.Prompts, strings.Join(facts, "\n"))
	}
}

// An error that came back on several hosts is a lesson. A copy of a session counts once.
func TestLessonsOfHosts(t *testing.T) {
	const failed = "ModuleNotFoundError: No module named 'yaml'\n\nCommand exited with code 1"
	lesson := func(name string, day int) stories.Story {
		s := told(name, day, slices.Concat(ran("python3 a.py", failed), ran("pip install pyyaml", "ok"), ran("python3 a.py", "ok"))...)
		for i, turn := range s.Entries[1:] { // calls have ids of their own
			id := fmt.Sprint("c", i/2)
			if turn.Message["role"] == "toolResult" {
				turn.Message["toolCallId"] = id
			} else {
				turn.Message["content"].([]any)[0].(map[string]any)["id"] = id
			}
		}
		return s
	}
	for _, c := range []struct {
		files    map[string]stories.Story
		sessions int
	}{
		{map[string]stories.Story{"h0/a.jsonl": lesson("a", 1), "h1/b.jsonl": lesson("b", 2), "h2/c.jsonl": lesson("c", 3), "h2/a.jsonl": lesson("a", 1)}, 3},
		{map[string]stories.Story{"h0/a.jsonl": lesson("a", 1), "h1/b.jsonl": lesson("b", 2), "h2/a.jsonl": lesson("a", 1)}, 0},
	} {
		s := onHosts(t, 3, c.files)
		one, err := recap.Learn(t.Context(), s.all, s.adapter, stories.Disk{}, recap.Request{})
		check(t, err)
		_, got := s.recapOf(t, recap.Request{})
		text := func(l *recap.Lessons) (list []string) {
			for _, x := range l.Lessons {
				list = append(list, fmt.Sprint(x.Error, x.Repair, x.Sessions, len(x.Evidence)))
			}
			return list
		}
		if !slices.Equal(text(one), text(got)) || len(got.Lessons) != min(c.sessions, 1) || c.sessions > 0 && got.Lessons[0].Sessions != c.sessions {
			t.Errorf("%v, one index %v", text(got), text(one))
		}
		if want := len(c.files) - 1 + 3; got.Total != want { // with the odd files that have an entry
			t.Errorf("%d sessions, not %d", got.Total, want)
		}
	}
}
