package adapter

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

func TestPlaces(t *testing.T) {
	vars := map[string]string{"ONE": "/one", "LIST": " /a, ,~/b,/home/u/.own ", "NAME": ".named"}
	env := Environment{Home: "/home/u", WorkDir: "/w", Getenv: func(name string) string { return vars[name] }}
	for words, want := range map[string]string{
		"$ONE ~/.own":          "$ONE:/one default+:/home/u/.own",
		"$NONE ~/.own":         "default+:/home/u/.own",
		"$ONE/below ~/.own/x":  "$ONE:/one/below default+:/home/u/.own/x",
		"$LIST, ~/.own":        "$LIST:/a $LIST:/home/u/b $LIST+:/home/u/.own",
		"~/$NAME/x ~/$NONE ~/": "$NAME:/home/u/.named/x default+:/home/u",
	} {
		var got []string
		for _, r := range Places(env, words) {
			mark := ":"
			if r.Usual {
				mark = "+:"
			}
			got = append(got, r.Origin+mark+filepath.ToSlash(r.Path))
		}
		if filepath.Separator == '/' && strings.Join(got, " ") != want { // other systems have other absolute paths
			t.Errorf("Places(%q) = %q, want %s", words, got, want)
		}
	}
}

func TestLayout(t *testing.T) {
	l := NewLayout("top", "*/*.jsonl\n*/{uuid}/sub/**/agent-*.jsonl\n\nnames.jsonl notes\n*.jsonl loose")
	const id = "01234567-89ab-cdef-0123-456789abcdef"
	for path, want := range map[string]Sort{
		"top/p/a.jsonl":                        Transcript,
		"top/p/" + id + "/sub/agent-1.jsonl":   Transcript,
		"top/p/" + id + "/sub/w/agent-1.jsonl": Transcript,
		"top/names.jsonl":                      Notes,
		"top/a.jsonl":                          Loose,
		"top/.p/a.jsonl":                       Foreign,
		"top/p/x/sub/agent-1.jsonl":            Foreign,
		"top/p/" + id + "/sub/w.jsonl":         Foreign,
		"top/p/" + id + "/other/agent-1.jsonl": Foreign,
		"a.jsonl":                              Foreign,
		"topx/p/a.jsonl":                       Foreign,
		"top//a.jsonl":                         Foreign,
	} {
		got := l.File([]byte(path))
		for i := range path {
			if path[i] == '/' && !l.Enter([]byte(path[:i])) {
				got = Foreign
			}
		}
		if got != want {
			t.Errorf("%s is %d, want %d", path, got, want)
		}
	}
	if l.Enter([]byte("other")) || l.Enter([]byte("top/p/"+id+"/other")) {
		t.Error("enters a directory without files")
	}
}

func TestMarks(t *testing.T) {
	marks := NewMarks("transcript type=user|assistant message.id\" uuid !payload\n" + `notes id" name" only git` + "\ncut \"type\": \"uuid\":")
	for line, want := range map[string]Sort{
		`{"type":"user","message":{"id":"x"},"uuid":1,"payload":{}}`: Foreign,
		`{"type":"user","message":{"id":"m"},"uuid":null}`:           Transcript,
		`{"type":"user","message":{"id":1},"uuid":"u"}`:              Foreign,
		`{"type":"user","message":"m","uuid":"u"}`:                   Foreign,
		`{"type":"users","message":{"id":"m"},"uuid":"u"}`:           Foreign,
		`{"type":["user"],"message":{"id":"m"},"uuid":"u"}`:          Foreign,
		`{"message":{"id":"m"},"uuid":"u"}`:                          Foreign,
		`{"id":"a","name":"n"}`:                                      Notes,
		`{"id":"a","name":"n","git":{}}`:                             Notes,
		`{"id":"a","name":"n","more":1}`:                             Foreign,
		`{"id":"a"}`:                                                 Foreign,
		`{"type":"user","uuid":"u","message":{"content":"it is `:     Transcript,
		`{"type":"user","message":{"content":"it is `:                Foreign,
	} {
		if got := SortOf([]byte(line), marks.Of, marks.cut...); got != want {
			t.Errorf("%s is %d, want %d", line, got, want)
		}
	}
	if torn := `{"type":"mess`; SortOf([]byte(torn), NewMarks("").Of) != Foreign {
		t.Errorf("%s is of an agent without marks", torn)
	}
}

// The arguments of a command have no place for what is unknown, and none for what would be an option.
func TestResuming(t *testing.T) {
	const id = "01234567-89ab-cdef-0123-456789abcdef"
	p := &Profile{Title: "A", Resuming: Resuming{Program: "a", Args: "--resume=ID -C DIR --quiet", Refuses: func(_ Environment, s *session.Summary, q *ResumeRequest) (string, string) {
		if s.Path == "/old" {
			return "it is old", "renew it"
		}
		return "", ""
	}}}
	rec := &session.Record{}
	rec.ID, rec.Version, rec.Messages, rec.CWD = id, 2, 1, "/w"
	for _, tt := range []struct {
		change func(*ResumeRequest)
		want   string
	}{
		{func(*ResumeRequest) {}, "a --resume=" + id + " -C /w --quiet"},
		{func(q *ResumeRequest) { q.Dir = "/elsewhere" }, "a --resume=" + id + " -C /elsewhere --quiet"},
		{func(q *ResumeRequest) { q.Record.CWD = "" }, "a --resume=" + id + " --quiet"},
		{func(q *ResumeRequest) { q.Record.CWD = "-w" }, "a --resume=" + id + " --quiet"},
		{func(q *ResumeRequest) { q.Record.ID = "--yolo" }, "its id is not one that A writes: a UUID"},
		{func(q *ResumeRequest) { q.Record.ID = "" }, "its header has no id"},
		{func(q *ResumeRequest) { q.Record.Version = 0 }, "it has no session header"},
		{func(q *ResumeRequest) { q.Record.Messages = 0 }, "it has no messages"},
		{func(q *ResumeRequest) { q.Record.Path = "/old" }, "it is old"},
		{func(q *ResumeRequest) { q.Packed = true }, "its file is compressed"},
		{func(q *ResumeRequest) { q.Fork = true }, "it has no command that copies a session"},
	} {
		own := *rec
		q := &ResumeRequest{Record: &own}
		tt.change(q)
		got := ""
		r, err := p.Resume(Environment{}, q)
		if err != nil {
			got = err.(*Obstacle).Reason
		} else {
			got = strings.Join(r.Argv, " ")
		}
		if got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
		if _, argv := p.ResumeCommand(Environment{}, &own.Summary); err == nil && q.Dir == "" && !slices.Equal(argv, r.Argv) {
			t.Errorf("the command in a list is %q, want %q", argv, r.Argv)
		}
	}
}

// A memo that is empty is none, and one of another version is forgotten as far as it differs.
func TestLineParser(t *testing.T) {
	type memo struct {
		Tip string
		Few []int
	}
	w := &LineParser[memo]{}
	w.Read = func(jsonl.Value) {
		w.Entry.Type = w.JSON.Name(w.All.Find("type"))
		if w.Skip = w.Entry.Type == "header"; w.Skip {
			return
		}
		w.Miss(w.All.Find("text"))
		w.Memo.Tip = w.Entry.Type
	}
	parse := func(line string) (list []session.Entry) {
		w.Parse(jsonl.Line{Data: []byte(line), Number: 1, Ended: true}, func(e *session.Entry) { list = append(list, *e) })
		return list
	}
	if parse(`{"type":"header"}`) != nil || w.State().Memo != nil {
		t.Error("a header is an entry, or is remembered")
	}
	e := parse(`{"type":"a","timestamp":"2026-01-02T03:04:05Z","text":"hi"} {"type":"b"}`)
	if len(e) != 2 || e[0].ID != "@0" || e[1].ID != "@60" || e[1].Timestamp != e[0].Timestamp || e[0].Parts[0].Kind != session.KindOther {
		t.Errorf("entries %+v", e)
	}
	state := w.State()
	if w.Reset(State{Memo: []byte(`{"Tip":1,"Few":[1]}`)}); w.Memo.Tip != "" || len(w.Memo.Few) != 1 {
		t.Errorf("memo %+v", w.Memo)
	}
	if w.Reset(state); w.Memo.Tip != "b" {
		t.Errorf("memo %+v of %s", w.Memo, state.Memo)
	}
}
