package codex

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the adapter does not know is searchable, and noted by name.
func TestStrange(t *testing.T) {
	r := begun().
		line("future_line", `{"text":"about a quokka"}`).
		item(`{"type":"future_item","text":"about a wombat"}`).
		item(`{"type":"message","role":"critic","content":[{"type":"input_text","text":"about a numbat"}]}`).
		item(`{"type":"message","role":"user","content":[{"type":"future_block","text":"about a bilby"}]}`).
		event(`{"type":"future_event","text":"about a dunnart"}`).
		parse(t)
	var names []string
	for _, e := range r.Entries {
		names = append(names, e.Strange...)
	}
	if diff := cmp.Diff([]string{"line future_line", "item future_item", "role critic", "block future_block", "event future_event"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for _, text := range []string{"about a quokka", "about a wombat", "about a numbat", "about a bilby", "about a dunnart"} {
		if !slices.Contains(texts(r), "other: "+text) {
			t.Errorf("%q is not searchable: %q", text, texts(r))
		}
	}
}
