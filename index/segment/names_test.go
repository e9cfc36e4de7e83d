package segment

import (
	"strings"
	"testing"
)

// FieldName has the terms that a text contains only in the names of arguments.
func TestNames(t *testing.T) {
	a := NewAccumulator()
	texts := []struct {
		text  string
		names []string // in the text, in order
		want  string
	}{
		{"bash\ncommand: make test\ntimeout: 60", []string{"command", "timeout"}, "command timeout"},
		{"bash\ncommand: sleep --timeout 5\ntimeout: 60", []string{"command", "timeout"}, "command"},
		{"write\nmaxRetries: 2\npath: retries/a.go", []string{"maxRetries", "path"}, "max maxretries path"},
		{"edit\nedits.0.old_text: old\nedits.1.old_text: new text", []string{"edits.0.old_text", "edits.1.old_text"}, "0 1 edits oldtext"},
		{"timeout: 60", nil, ""},
	}
	for i, x := range texts {
		d := Document{ID: ID{File: 1, Offset: int64(i)}, Text: []byte(x.text)}
		end := 0
		for _, name := range x.names {
			start := end + strings.Index(x.text[end:], name)
			end = start + len(name)
			d.Names = append(d.Names, [2]int{start, end})
		}
		a.Add(&d)
	}
	image, err := a.Build()
	if err != nil {
		t.Fatal(err)
	}
	s, err := image.Segment()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	have := make([][]string, len(texts))
	s.Terms(FieldName, nil, func(term []byte, _ int) bool {
		for it := s.Bitmap(FieldName, term).Iterator(); it.HasNext(); {
			doc := it.Next()
			have[doc] = append(have[doc], string(term))
		}
		return true
	})
	if err := s.Fault(); err != nil {
		t.Fatal(err)
	}
	for i, x := range texts {
		if got := strings.Join(have[i], " "); got != x.want {
			t.Errorf("%q with the names %q: %q, want %q", x.text, x.names, got, x.want)
		}
	}
}
