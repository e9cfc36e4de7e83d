package search

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/scope"
)

// gallery returns an index of sessions with images in prompts, results and attachments, with
// and without text.
func gallery(t testing.TB) *library {
	image := func(mime, data string) map[string]any {
		return map[string]any{"type": "image", "mimeType": mime, "data": data}
	}
	text := func(s string) map[string]any { return map[string]any{"type": "text", "text": s} }
	user := func(blocks ...any) map[string]any { return map[string]any{"role": "user", "content": blocks} }
	read := result("read", "Read image file: a red button", false).Message
	read["content"] = append(read["content"].([]any), image("image/jpeg", strings.Repeat("AAAA", 1000)))
	return newLibrary(t,
		story{Name: "shots", CWD: "/home/u/app", Entries: []turn{
			{ID: "both", Message: user(text("why is the button red?"), image("image/png", "QUJD"), image("image/webp", "QQ=="))},
			{ID: "alone", Message: user(image("image/png", "QUI="))},
			{ID: "read", Message: read},
			{ID: "untyped", Message: user(map[string]any{"type": "image", "data": "QUJD"}, text("look"))},
			prompt("a red button without a picture").Named("none"),
			reply("image/png is only mentioned here").Named("said"),
		}},
		story{Name: "old", CWD: "/home/u/old", Entries: []turn{
			{ID: "file", Message: map[string]any{"role": "user", "content": "see the attachment", "attachments": []any{
				map[string]any{"id": "1", "type": "image", "fileName": "shot.png", "mimeType": "image/png", "size": 3, "content": "QUJD"}}}},
			{ID: "document", Message: map[string]any{"role": "user", "content": "see the document", "attachments": []any{
				map[string]any{"id": "2", "type": "document", "fileName": "a.pdf", "mimeType": "application/pdf", "size": 3, "content": "QUJD", "extractedText": "red"}}}},
		}},
	)
}

func TestSearchImages(t *testing.T) {
	l := gallery(t)
	for _, c := range []struct {
		req  Request
		want []string // a hit for each part
	}{
		{Request{Text: "has:image"}, []string{"alone", "both", "file", "file", "read", "untyped"}},
		{Request{Text: "is:image"}, []string{"alone", "both", "file", "file", "read", "untyped"}},
		{Request{Text: "has:image red"}, []string{"both", "read"}},
		{Request{Text: "red -has:image"}, []string{"document", "none"}},
		{Request{Text: "red has:image kind:result"}, []string{"read"}},
		{Request{Text: "has:image tool:read"}, []string{"read"}},
		{Request{Text: "has:image project:old"}, []string{"file", "file"}},
		{Request{Text: "has:image", Spec: filter.Spec{Scope: scope.Prompts}}, []string{"alone", "both", "file", "file", "untyped"}},
	} {
		c.req.Flat, c.req.Limit = true, All
		resp := l.search(c.req)
		if diff := cmp.Diff(c.want, sorted(ids(resp))); diff != "" || len(resp.Warnings) > 0 {
			t.Errorf("Run(%+v), warnings %q (-want +got):\n%s", c.req, resp.Warnings, diff)
		}
	}
	images := map[string][]entry.ImageRow{
		"both": {{MimeType: "image/png", Size: 3}, {MimeType: "image/webp", Size: 1}}, "alone": {{MimeType: "image/png", Size: 2}},
		"read": {{MimeType: "image/jpeg", Size: 3000}}, "untyped": {{Size: 3}}, "file": {{MimeType: "image/png", Size: 3}},
	}
	for _, h := range l.search(Request{Text: "has:image", Flat: true, Limit: All}).Hits {
		if diff := cmp.Diff(images[h.EntryID], h.Images); diff != "" {
			t.Errorf("%s, images (-want +got):\n%s", h.EntryID, diff)
		}
		if notes := h.Notes(); len(notes) == 0 || h.EntryID == "read" && notes[0] != "image/jpeg 3.0 kB" && notes[0] != "image/jpeg 3 kB" {
			t.Errorf("%s, notes %q", h.EntryID, notes)
		}
	}
	if h := l.search(Request{Text: "mentioned"}).Hits[0]; h.Images != nil {
		t.Errorf("images %v of an entry without any", h.Images)
	}
}

// What has: and is: do not know is searched as text, and the warning lists what they know.
func TestSearchUnknownHas(t *testing.T) {
	l := gallery(t)
	for text, want := range map[string]string{
		"has:images red": `"has:images" is searched as text: has: knows image only`,
		"is:picture red": `"is:picture" is searched as text: is: knows error, named, image only`,
		"hass:image red": `"hass:image" is searched as text: there is no field "hass", did you mean has:?`,
	} {
		resp := l.search(Request{Text: text})
		if diff := cmp.Diff([]string{want}, resp.Warnings); diff != "" || resp.TotalAny == 0 {
			t.Errorf("%s: %d hits, warnings (-want +got):\n%s", text, resp.TotalAny, diff)
		}
	}
}
