package mcp

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestCursor(t *testing.T) {
	t.Parallel()
	request := hashRequest("index", "search", &SearchInput{Query: "x"})
	want := &cursor{Snapshot: 12, Request: request, At: 17, Window: 20, Part: 1, Offset: 4096, Now: 1700000000000}
	text := want.encode()
	got, err := decodeCursor(text, request)
	if err != nil || cmp.Diff(want, got, cmpopts.IgnoreUnexported(cursor{})) != "" {
		t.Fatalf("got %+v, %v", got, err)
	}
	if _, err := decodeCursor(text, hashRequest("index", "search", &SearchInput{Query: "y"})); err == nil {
		t.Error("the cursor of another request is taken")
	}
	if _, err := decodeCursor(text, hashRequest("other", "search", &SearchInput{Query: "x"})); err == nil {
		t.Error("the cursor of another index is taken")
	}
	for i := range text {
		changed := []byte(text)
		changed[i] ^= 1
		if _, err := decodeCursor(string(changed), request); err == nil {
			t.Errorf("a cursor that was changed at %d is taken", i)
		}
	}
	for _, bad := range []string{"", "=", "AAAA", strings.Repeat("A", 1<<20), text + "A", text[1:], base64.StdEncoding.EncodeToString([]byte("{}12345678")), (&cursor{At: -1, Request: request}).encode()} {
		if _, err := decodeCursor(bad, request); err == nil {
			t.Errorf("%.40q is taken for a cursor", bad)
		}
	}
}

func FuzzDecodeCursor(f *testing.F) {
	f.Add((&cursor{Snapshot: 1, At: 5}).encode())
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := decodeCursor(text, 0)
		if err == nil && min(c.At, c.Window, c.Part, c.Offset) < 0 {
			t.Errorf("%q is %+v", text, c)
		}
	})
}
