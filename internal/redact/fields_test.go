package redact

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStringsMasksEveryField(t *testing.T) {
	const secret, masked = "a password=hunter2 b", "a password=[redacted:password] b"
	type inner struct{ Path string }
	type row struct {
		inner
		Path   string
		List   []string
		Rows   []inner
		Next   *inner
		Any    any
		Map    map[string]string
		Raw    json.RawMessage
		Bytes  []byte
		Time   time.Time
		Number int
		Marked string `redact:"-"`
	}
	shared := []string{secret}
	got := row{inner{secret}, secret, shared, []inner{{secret}}, &inner{secret}, secret, map[string]string{"k": secret}, json.RawMessage(`{"password":"hunter2"}`), []byte(secret), time.Time{}, 1, secret}
	Strings(&got)
	want := row{inner{masked}, masked, []string{masked}, []inner{{masked}}, &inner{masked}, masked, map[string]string{"k": masked}, json.RawMessage(`{"password":"[redacted:password]"}`), []byte(secret), time.Time{}, 1, secret}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cut := row{Path: "pul-0123456789abcdef0123456789abcdef0123… show", inner: inner{"make a…"}}
	Strings(&cut)
	if cut.Path != "[redacted:service-token]… show" || cut.inner.Path != "make a…" {
		t.Errorf("what is cut is shown as %q and %q", cut.Path, cut.inner.Path)
	}
	if shared[0] != secret {
		t.Error("a list of others was changed")
	}
}
