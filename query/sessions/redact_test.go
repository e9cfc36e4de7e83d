package sessions

import (
	"strings"
	"testing"

	"pigrep/adapter/pi"
	"pigrep/lab/stories"
)

func TestListMasksFirstPrompts(t *testing.T) {
	l := stories.New(t, stories.Story{Name: "s", Entries: []stories.Turn{stories.Prompt("connect with DB_PASSWORD=hunter2hunter2 please")}})
	list, err := List(t.Context(), l.Reader, pi.New(), stories.Disk{}, Request{Redact: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := list.Sessions[0].FirstPrompt; strings.Contains(got, "hunter2") || !strings.Contains(got, "[redacted:") {
		t.Errorf("the first prompt is shown as %q", got)
	}
}
