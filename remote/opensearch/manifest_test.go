package opensearch

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// grown has files that were pushed in several steps, one of them with an unended line.
func grown(t *testing.T, a *Archive) disk {
	d := oddFiles()
	for _, more := range []string{"", message(7, "more"), message(8, "and more")} {
		for _, path := range []string{"/s/plain.jsonl", "/s/unended.jsonl"} {
			if more != "" {
				d[path] = strings.TrimSuffix(d[path], "\n") + "\n" + more
			}
		}
		if _, err := push(t, a, d); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// However a file came to be there, an archive that has lost nothing is not taken for one that has.
func TestCheckFindsNothing(t *testing.T) {
	f := newFake(t)
	a := f.archive()
	d := grown(t, a)
	delete(d, "/s/plain.jsonl")
	d["/s/broken.jsonl"] = header + message(5, "rewritten")
	if _, err := push(t, a, d); err != nil {
		t.Fatal(err)
	}
	lost, files, err := a.Check(t.Context())
	if err != nil || len(lost) > 0 || files != len(d)+1 {
		t.Errorf("%d files, lost %+v, %v", files, lost, err)
	}
	if report, err := push(t, a, d); err != nil || report.Unchanged != len(d) || report.Documents+report.Repaired+report.Lost > 0 {
		t.Errorf("the next push: %+v, %v", report, err)
	}
}

// A check names any lost document, and the next push sends it again.
func TestLostDocumentsAreSentAgain(t *testing.T) {
	f := newFake(t)
	a := f.archive()
	d := grown(t, a)
	had := restored(t, a)
	for _, index := range []string{"pigrep-v2-2026.03", "pigrep-v2-" + undated} {
		for _, id := range slices.Sorted(maps.Keys(f.indices[index])) {
			key := f.indices[index][id].source["file_key"].(string)
			if f.indices[a.sessionsIndex("")][key].source["size"] == 0.0 { // an empty file has a record alone, which nobody misses
				continue
			}
			f.dead[index+"/"+id] = f.indices[index][id].version + 1
			delete(f.indices[index], id)
			lost, _, err := a.Check(t.Context())
			if err != nil || len(lost) != 1 || lost[0].Host != "laptop" || keyOf("laptop", lost[0].Path) != key || lost[0].Lacks != 1 {
				t.Fatalf("without %s: %+v, %v", id, lost, err)
			}
			report, err := push(t, a, d, func(p *Push) { p.Sessions = nil })
			if err != nil || report.Lost != 1 {
				t.Fatalf("a push of other files says %+v, %v", report, err)
			}
			if report, err := push(t, a, d); err != nil || report.Repaired != 1 || report.Lost > 0 {
				t.Fatalf("without %s: the push says %+v, %v", id, report, err)
			}
			if lost, _, err := a.Check(t.Context()); err != nil || len(lost) > 0 {
				t.Fatalf("after the push: %+v, %v", lost, err)
			}
		}
	}
	if got := restored(t, a); !maps.Equal(got, had) {
		t.Errorf("the archive has %q, want %q", got, had)
	}
}

// A month that is lost, as a policy or half a restore has it, is missing in each answer until it is pushed again.
func TestLostMonth(t *testing.T) {
	f, d := newFake(t), disk{"/s/a.jsonl": header + message(1, "one"), "/s/b.jsonl": strings.NewReplacer("2026-03", "2026-04", "s1", "s2").Replace(header) + message(1, "one")}
	a := f.archive()
	if _, err := push(t, a, d); err != nil {
		t.Fatal(err)
	}
	expect := func(want int) {
		t.Helper()
		for _, q := range []Question{{}, {Text: "one", Wanted: 5}, {Brief: true}, {Facts: true}} {
			if _, c, err := ask(t.Context(), a, q); err != nil || c.Lost != want {
				t.Errorf("%+v: %+v, %v", q, c, err)
			}
		}
	}
	expect(0)
	delete(f.indices, "pigrep-v2-2026.04")
	expect(1)
	if report, err := push(t, a, d); err != nil || report.Repaired != 1 || report.Unchanged != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	expect(0)
}

// forget forgets a session file.
func forget(t *testing.T, a *Archive, name string) {
	t.Helper()
	found, err := a.Matching(t.Context(), name, time.Time{})
	if err == nil {
		err = a.Forget(t.Context(), found, "ann", time.Unix(1800000000, 0))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What was deleted stays deleted, whoever still has the file, until somebody sends it again on purpose. Then it
// is there, although the engine remembers the versions of what it has deleted.
func TestDeletedStaysDeleted(t *testing.T) {
	f, d := newFake(t), disk{"/s/a.jsonl": header + message(1, "one"), "/s/b.jsonl": strings.Replace(header, "s1", "s2", 1) + message(1, "other")}
	a := f.archive()
	again := func(p *Push) { p.Again = true }
	for round := range 3 {
		if report, err := push(t, a, d, again); err != nil || report.Newer+len(report.Failed) > 0 {
			t.Fatalf("round %d: %+v, %v", round, report, err)
		}
		if got := restored(t, a); !maps.Equal(got, d) {
			t.Fatalf("round %d: the archive has %q", round, got)
		}
		if lost, _, err := a.Check(t.Context()); err != nil || len(lost) > 0 {
			t.Errorf("round %d: lost %+v, %v", round, lost, err)
		}
		forget(t, a, "s2")
		d["/s/b.jsonl"] += message(2+round, "it grows")
		report, err := push(t, a, d)
		if err != nil || report.Deleted != 1 || report.Documents > 0 {
			t.Errorf("round %d: %+v, %v", round, report, err)
		}
		if got := restored(t, a); len(got) != 1 || len(f.find("pigrep", []byte(`{"query":{"term":{"file_key":"`+keyOf("laptop", "/s/b.jsonl")+`"}}}`))) > 0 {
			t.Errorf("round %d: left are %q", round, got)
		}
	}
	stone := f.indices[a.sessionsIndex("")][keyOf("laptop", "/s/b.jsonl")].source
	if stone["host"] != "laptop" || stone["path"] != "/s/b.jsonl" || stone["user"] != "ann" || stone["pushed"] != 1.8e12 || stone["session"] != nil {
		t.Errorf("the tombstone is %v", stone)
	}
}

// A document that the engine refuses because it remembers another version is never taken for one that is there:
// a session that somebody deleted with other tools is there after the next push.
func TestConflictsAreSettled(t *testing.T) {
	f, d := newFake(t), disk{"/s/a.jsonl": header + message(1, "one") + message(2, "two")}
	a := f.archive()
	if _, err := push(t, a, d); err != nil {
		t.Fatal(err)
	}
	for index, documents := range f.indices { // also the states
		for id, d := range documents {
			f.dead[index+"/"+id] = d.version + 5
			delete(documents, id)
		}
	}
	report, err := push(t, a, d)
	if err != nil || report.Sessions != 1 || report.Newer+len(report.Failed) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if got := restored(t, a); !maps.Equal(got, d) {
		t.Errorf("the archive has %q", got)
	}
	if report, err := push(t, a, d); err != nil || report.Unchanged != 1 || report.Documents > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// A watch sends a new line with two requests, however many files its machine has: the documents, and once these
// are confirmed what claims them. It makes a month once, forces no refresh, and leaves one line of account a day.
func TestWatchSendsWhatIsNew(t *testing.T) {
	f, d := newFake(t), oddFiles()
	a := f.archive()
	now, memory := time.Unix(1800000000, 0), &Memory{}
	watch := func(p *Push) { p.Memory, p.Now = memory, func() time.Time { return now } }
	if _, err := push(t, a, d, watch); err != nil {
		t.Fatal(err)
	}
	accounts := func() int {
		return len(f.find(a.sessionsIndex(""), []byte(`{"query":{"term":{"sort":"push"}}}`)))
	}
	for i := range 30 {
		f.requests, now = nil, now.Add(time.Minute)
		d["/s/plain.jsonl"] += message(10+i, "more")
		report, err := push(t, a, d, watch)
		if err != nil || report.Documents != 1 || report.Sessions != 1 {
			t.Fatalf("%+v, %v", report, err)
		}
		want := 2
		if i == 0 { // its record is read once
			want = 3
		}
		if len(f.requests) != want || slices.ContainsFunc(f.requests, func(r string) bool { return r != "POST /_bulk" && i > 0 }) {
			t.Errorf("line %d takes %q", i, f.requests)
		}
	}
	if n := accounts(); n != 1 {
		t.Errorf("%d lines of account in an hour", n)
	}
	now = now.Add(24 * time.Hour)
	d["/s/plain.jsonl"] += message(50, "the next day")
	if _, err := push(t, a, d, watch); err != nil || accounts() != 2 {
		t.Errorf("%d lines of account, %v", accounts(), err)
	}
	if got := restored(t, a); got["/s/plain.jsonl"] != d["/s/plain.jsonl"] {
		t.Errorf("the archive has %q", got["/s/plain.jsonl"])
	}
	if lost, _, err := a.Check(t.Context()); err != nil || len(lost) > 0 {
		t.Errorf("lost %+v, %v", lost, err)
	}
}

// A watch does not bring back what somebody deletes meanwhile.
func TestWatchMeetsTombstone(t *testing.T) {
	f, d := newFake(t), disk{"/s/a.jsonl": header + message(1, "one"), "/s/b.jsonl": strings.Replace(header, "s1", "s2", 1) + message(1, "other")}
	a, memory := f.archive(), &Memory{}
	watch := func(p *Push) { p.Memory = memory }
	for i := range 3 {
		d["/s/b.jsonl"] += message(2+i, "it grows")
		if report, err := push(t, a, d, watch); err != nil || report.Deleted != min(i, 1) {
			t.Errorf("push %d: %+v, %v", i, report, err)
		}
		if i == 0 {
			forget(t, f.archive(), "s2")
		}
	}
	if got := restored(t, a); len(got) != 1 {
		t.Errorf("left are %q", got)
	}
	for _, r := range f.requests {
		if strings.HasPrefix(r, http.MethodDelete) {
			t.Error(r)
		}
	}
	if n := len(f.find("pigrep", []byte(`{"query":{"term":{"file_key":"`+keyOf("laptop", "/s/b.jsonl")+`"}}}`))); n > 0 {
		t.Errorf("%d documents are left", n)
	}
}

// Each owner has indices of his own, and who pushed a session is said by the index: what claims to be another
// owner's, or in another index, is no session.
func TestOwners(t *testing.T) {
	f, d := newFake(t), disk{"/s/a.jsonl": header + message(1, "one")}
	shared := f.archive()
	for _, name := range []string{"ann", "bob", ""} {
		a, err := Open(Config{Name: "team", URL: f.URL, Owner: name})
		if err != nil {
			t.Fatal(err)
		}
		for _, unchanged := range []int{0, 1} {
			if report, err := push(t, a, d, func(p *Push) { p.User = "ann" }); err != nil || report.Unchanged != unchanged {
				t.Fatalf("%s: %+v, %v", name, report, err)
			}
		}
	}
	hosts := func() (list []string) {
		sent, _, err := ask(t.Context(), shared, Question{Text: "one", Wanted: 9})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sent {
			list = append(list, s.Host)
		}
		slices.Sort(list)
		return list
	}
	if got := hosts(); !slices.Equal(got, []string{"ann@laptop", "bob@laptop", "laptop"}) {
		t.Errorf("got %q", got)
	}
	states := f.indices[shared.sessionsIndex("ann")]
	for key, d := range states {
		if d.source["sort"] == sortSession {
			f.indices[shared.sessionsIndex("bob")][key] = d // a forged one
			delete(states, key)
		}
	}
	if got := hosts(); !slices.Equal(got, []string{"bob@laptop", "laptop"}) {
		t.Errorf("with a forged one: %q", got)
	}
	if f.indices["pigrep-v2-bob-2026.03"] == nil || f.indices["pigrep-sessions-v2-bob"] == nil {
		t.Error("bob has no indices of his own")
	}
}
