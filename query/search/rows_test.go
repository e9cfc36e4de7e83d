package search_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/query/engine/entry"
	"pigrep/query/grep"
	"pigrep/query/search"
)

var update = flag.Bool("update", false, "write the golden file")

// fill sets every field, at any depth, to a value that tells it from others.
func fill(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Type.String() != "time.Time" {
				member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				fill(v.Field(i), member)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{"raw":1}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), name)
		}
	case reflect.String:
		v.SetString("the " + name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(100 + len(name)))
	case reflect.Uint64, reflect.Uint32:
		v.SetUint(uint64(100 + len(name)))
	case reflect.Float64, reflect.Float32:
		v.SetFloat(float64(len(name)) / 4)
	}
}

// The rows of answers have these members, in this order, full and empty: programs read
// them.
func TestRowsInJSON(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	for _, row := range []any{&search.Hit{}, &search.SessionHit{}, &grep.Row{}, &entry.Row{}} {
		for range 2 {
			data, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Indent(&got, data, "", " "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			fill(reflect.ValueOf(row).Elem(), "")
		}
	}
	const path = "testdata/rows.golden"
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
