package cli

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pigrep/query/engine/entry"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/ui/cli/help"
	"pigrep/ui/show"
)

// The help names every field of the JSON of hits, sessions and entries that does not say itself
// what it is.
func TestHelpNamesJSONFields(t *testing.T) {
	plain := strings.Fields(`type rank score kind role sessionPath sessionId sessionName cwd entryId parentId timestamp part tool toolCallId
		isError provider model label name firstPrompt title messages labels models tokens cost version mimeType size entryType text`)
	words := regexp.MustCompile(`\w+`).FindAllString(help.Topic("json"), -1)
	var fields func(reflect.Type, map[reflect.Type]bool)
	fields = func(of reflect.Type, seen map[reflect.Type]bool) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of] || !strings.HasPrefix(of.PkgPath(), "pigrep/") {
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			f := of.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" || !f.IsExported() && !f.Anonymous || name == "explain" {
				continue
			}
			if name != "" && !slices.Contains(words, name) && !slices.Contains(plain, name) {
				t.Errorf("pigrep help json does not name %s of %s", name, of)
			}
			fields(f.Type, seen)
		}
	}
	for _, v := range []any{search.Hit{}, sessions.Row{}, show.SessionFacts{}, entry.Row{}} {
		fields(reflect.TypeOf(v), make(map[reflect.Type]bool))
	}
}
