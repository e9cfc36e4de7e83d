package redact

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Strings masks the strings in a value that a pointer points to: in fields that other
// packages can set, in elements and behind pointers. It is for the rows of answers, so
// that no field is forgotten: a path may have a token in it. The tag `redact:"-"`
// excludes a field that was already masked as part of a longer text, and whose marked
// ranges must stay valid. A string that ends in an ellipsis may have been cut there.
func Strings(v any) { fields(reflect.ValueOf(v)) }

var rawMessage = reflect.TypeFor[json.RawMessage]()

// cutText is Text for a short text in which an ellipsis may stand for the rest of a secret.
func cutText(s string) string {
	const short = 512
	s = Text(s)
	if len(s) > short && strings.HasSuffix(s, "…") {
		return Beginning(s)
	}
	done := 0
	for n := strings.Index(s, "…"); n >= 0 && len(s) <= short; n = strings.Index(s[done:], "…") {
		head := Beginning(s[:done+n+len("…")])
		s, done = head+s[done+n+len("…"):], len(head)
	}
	return s
}

func fields(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); v.CanSet() {
			if masked := cutText(s); masked != s {
				v.SetString(masked)
			}
		}
	case reflect.Pointer:
		fields(v.Elem())
	case reflect.Interface:
		if e := v.Elem(); e.Kind() == reflect.Pointer {
			fields(e)
		} else if e.Kind() == reflect.String && v.CanSet() {
			v.Set(reflect.ValueOf(Text(e.String())))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Tag.Get("redact") != "-" && (f.IsExported() || f.Anonymous) {
				fields(v.Field(i))
			}
		}
	case reflect.Slice:
		switch {
		case v.Type() == rawMessage:
			if v.CanSet() {
				v.SetBytes(JSON(v.Bytes()))
			}
			return
		case v.Type().Elem().Kind() == reflect.Uint8:
			return
		case v.Type().Elem().Kind() == reflect.String && v.CanSet() && v.Len() > 0: // others may have the list
			own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(own, v)
			v.Set(own)
		}
		for i := range v.Len() {
			fields(v.Index(i))
		}
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.String {
			for _, k := range v.MapKeys() {
				v.SetMapIndex(k, reflect.ValueOf(Text(v.MapIndex(k).String())).Convert(v.Type().Elem()))
			}
		}
	}
}
