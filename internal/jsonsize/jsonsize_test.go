package jsonsize

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// What is nested deeper than json.Unmarshal decodes takes no memory for each level: a server may send
// megabytes of brackets.
func TestOfDeeplyNested(t *testing.T) {
	for _, open := range []string{"[", `{"a":`, `[{"a":`} {
		data := []byte(strings.Repeat(open, 64<<20/len(open)))
		var v any
		if err := json.Unmarshal(data, &v); err == nil {
			t.Errorf("%s… is decoded", open)
		}
		for _, of := range []reflect.Type{reflect.TypeFor[*any](), reflect.TypeFor[*struct{ A []any }](), nil} {
			if n := Of(data, of, 1<<40); n > 96<<20 {
				t.Errorf("%s… of %v is estimated at %d bytes", open, of, n)
			}
		}
	}
}
