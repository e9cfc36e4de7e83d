package e2e

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
	"pigrep/query/engine/entry"
)

// truths calls f for every file that has a report of pi.
func truths(t *testing.T, f func(t *testing.T, name, path string, all map[string]testkit.Truth)) {
	for _, r := range testkit.Truths(t) {
		t.Run(r.Name, func(t *testing.T) { f(t, r.Name, r.Path, r.Readers) })
	}
}

func readRecord(t *testing.T, path string) *session.Record {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := entry.ReadRecord(pi.New(), path, bytes.NewReader(data), info.ModTime())
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// id writes an id of a truth file, which is an index where pi made ids up, as
// the id that the record has.
func id(rec *session.Record, v any) string {
	switch v := v.(type) {
	case float64:
		if int(v) < len(rec.Nodes) {
			return rec.Nodes[int(v)].ID
		}
		return fmt.Sprint(v)
	case string:
		return v
	}
	return ""
}

func ids(rec *session.Record, list []any) []string {
	var all []string
	for _, v := range list {
		all = append(all, id(rec, v))
	}
	return all
}

// better says where pi loses something that is there to be read.
var better = map[string]string{
	"/two-objects-one-line.jsonl":       "pi drops lines that hold two objects",
	"L07-complete-tail-no-newline-078/": "pi drops the line onto which an old version glued the next entry",
	"/missing-fields.jsonl":             "pi takes lines that are no objects for entries",
	"L15-forkfrom-v1/":                  "pi knows one entry of those without an id, and restores it alone",
}

// skipBetter skips the comparison of a file from which pi loses something.
func skipBetter(t *testing.T, name string) {
	t.Helper()
	for part, why := range better {
		if strings.Contains(name, part) && !strings.Contains(name, "source-v1") {
			t.Skip(why)
		}
	}
}

func TestRecordsEqualPi(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	truths(t, func(t *testing.T, name, path string, all map[string]testkit.Truth) {
		skipBetter(t, name)
		rec := readRecord(t, path)
		tree := rec.Tree()
		for _, version := range testkit.Readers {
			want, ok := all[version]
			if !ok {
				continue
			}
			// What pi does not open, or opens by beginning a new session in
			// it, says nothing about the file.
			if want.OpenError == "" && rec.Version != 0 {
				compareTree(t, version, want, rec, tree)
			}
			break
		}
	})
}

func compareTree(t *testing.T, version string, want testkit.Truth, rec *session.Record, tree *session.Tree) {
	t.Helper()
	check := func(what string, want, got any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, as pi %s says (-want +got):\n%s", what, version, diff)
		}
	}
	check("session id", want.SessionID, rec.ID)
	check("cwd", want.CWD, rec.CWD)
	check("number of entries", len(want.Entries), len(rec.Nodes))
	if len(want.Entries) == len(rec.Nodes) {
		for i, e := range want.Entries {
			n := &rec.Nodes[i]
			check(fmt.Sprintf("entry %d", i), e.Type+" "+renamed(e.Role), n.Type+" "+renamed(n.Role))
			if want.IDsFromFile {
				check(fmt.Sprintf("entry %d", i), id(rec, e.ID)+" < "+id(rec, e.ParentID), n.ID+" < "+n.ParentID)
			}
		}
	}
	if want.LeafID != nil && tree.Leaf() >= 0 {
		check("leaf", id(rec, want.LeafID), rec.Nodes[tree.Leaf()].ID)
	}
	if want.SessionName != nil || version == "1.5.2" {
		name := ""
		if want.SessionName != nil {
			name = *want.SessionName
		}
		check("name", name, rec.Name)
	}
	if want.Labels != nil {
		labels := rec.Labels
		if labels == nil {
			labels = map[string]string{}
		}
		check("labels", want.Labels, labels)
	}
	if want.Branch != nil {
		var got []string
		for _, i := range tree.Path() {
			got = append(got, rec.Nodes[i].ID)
		}
		check("branch", ids(rec, want.Branch), got)
	}
	if want.TreeRoots != nil {
		var got []string
		for _, i := range tree.Roots() {
			got = append(got, rec.Nodes[i].ID)
		}
		check("roots", ids(rec, want.TreeRoots), got)
	}
	if want.ContextError == "" && !want.PiHangsOnParentLoop {
		var roles []string
		for _, m := range want.Context.Messages {
			roles = append(roles, renamed(m.Role))
		}
		check("context", roles, contextRoles(rec, tree))
	}
}

// renamed is the name that version 3 has for a role.
func renamed(role string) string {
	if role == "hookMessage" {
		return "custom"
	}
	return role
}

// contextRoles lists the roles of what the record says is in context, a
// compaction first, as pi does.
func contextRoles(rec *session.Record, tree *session.Tree) []string {
	var roles []string
	for _, i := range tree.Path() {
		if !tree.InContext(i) {
			continue
		}
		switch n := &rec.Nodes[i]; n.Type {
		case "message":
			roles = append(roles, renamed(n.Role))
		case "custom_message":
			roles = append(roles, "custom")
		case "branch_summary":
			roles = append(roles, "branchSummary")
		case "compaction":
			roles = slices.Insert(roles, 0, "compactionSummary")
		}
	}
	return roles
}

func TestListsEqualPi(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	truths(t, func(t *testing.T, name, path string, all map[string]testkit.Truth) {
		skipBetter(t, name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// Since 0.78.1 pi's list drops messages with a line separator in them.
		drops := bytes.ContainsAny(data, "\u2028\u2029")
		for _, version := range testkit.Readers {
			want, ok := all[version]
			if !ok || want.List == nil || drops && version == "1.5.2" {
				continue
			}
			rec := readRecord(t, path)
			type facts struct {
				ID, CWD, Name, FirstMessage string
				Created, Modified           string
				MessageCount                int
			}
			at := func(v session.Time) string { return v.UTC().Format("2006-01-02T15:04:05.000Z") }
			w := want.List
			prompt := strings.TrimSpace(w.FirstMessage)
			if prompt == "(no messages)" {
				prompt = ""
			}
			if len(prompt) > session.MaxFirstPrompt {
				prompt = prompt[:len(rec.FirstPrompt)]
			}
			wanted := facts{w.ID, w.CWD, w.Name, prompt, at(w.Created), at(w.Modified), w.MessageCount}
			got := facts{rec.ID, rec.CWD, rec.Name, rec.FirstPrompt, at(session.Time{Time: rec.Created()}), at(session.Time{Time: rec.Modified()}), rec.Messages}
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Errorf("what pi %s lists (-want +got):\n%s", version, diff)
			}
			break
		}
	})
}

// What pi does not open, pigrep does not resume, and the other way round.
func TestObstaclesEqualPi(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	truths(t, func(t *testing.T, name, path string, all map[string]testkit.Truth) {
		want, ok := all["1.5.2"]
		if !ok {
			t.Skip("the newest pi says nothing of it")
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) == 0 {
			t.Skip("pi begins a new session in an empty file")
		}
		env := adapter.Environment{Home: "/none", Getenv: func(string) string { return "" }}
		_, why := pi.New().Resume(env, &adapter.ResumeRequest{Record: readRecord(t, path), Head: data})
		if (want.OpenError != "") != (why != nil) {
			t.Errorf("pi says %q, pigrep %v", want.OpenError, why)
		}
	})
}
