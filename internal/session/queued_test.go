package session

import "testing"

// A prompt that waits in the queue at the head of a file is not the first of a session that is resumed there.
func TestQueuedPrompt(t *testing.T) {
	add := func(r *Record, offset int64, text string, pending bool, shadows ...int64) {
		r.Add(&Entry{Identity: Identity{Type: TypeMessage, Role: RoleUser, ID: text, Offset: offset}, Said: Said{UserText: text}, Repetition: Repetition{Pending: pending, Shadows: shadows}})
	}
	r := &Record{}
	add(r, 0, "go on with the walrus", true)
	if r.FirstPrompt != "go on with the walrus" {
		t.Errorf("first prompt of a queue %q", r.FirstPrompt)
	}
	add(r, 100, "count the walrus of the north", false)
	add(r, 200, "go on with the walrus", false, 0)
	if r.FirstPrompt != "count the walrus of the north" || r.Title() != r.FirstPrompt {
		t.Errorf("first prompt %q, title %q", r.FirstPrompt, r.Title())
	}
	add(r, 300, "and then the narwhal", true)
	add(r, 400, "the last thing to do", false)
	if r.FirstPrompt != "count the walrus of the north" {
		t.Errorf("first prompt later %q", r.FirstPrompt)
	}
}
