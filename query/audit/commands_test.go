package audit

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pigrep/internal/session"
)

// A row that encodes itself is as the encoder writes it, with every field.
func TestCommandRowAsJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "git commit", `a "b" \c`, "tab\tand \x00", "é <&>", "\u2028\x7f\xff"} {
		for _, last := range []time.Time{{}, time.UnixMilli(1_768_473_003_070)} {
			row := &CommandRow{}
			fields := reflect.ValueOf(row).Elem()
			for i := range fields.NumField() {
				switch f := fields.Field(i); f.Kind() {
				case reflect.String:
					f.SetString(text)
				case reflect.Int:
					f.SetInt(int64(i) - 3)
				default:
					f.Set(reflect.ValueOf(session.Time{Time: last}))
				}
			}
			var want bytes.Buffer
			e := json.NewEncoder(&want)
			e.SetEscapeHTML(false)
			if err := e.Encode(row); err != nil {
				t.Fatal(err)
			}
			if got := string(row.AppendJSON([]byte("before"))) + "\n"; got != "before"+want.String() {
				t.Errorf("%s, want %s", got, want.String())
			}
		}
	}
}
