package pi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
	"pigrep/lab/testkit"
	"pigrep/scope"
)

// A plain reading of the rules, by recursion over what encoding/json decodes. It
// shares nothing with the parser but the table of kinds.

// node is a JSON value: a *list, a *dict, a string, a json.Number, a bool or nil.
type node any

type list struct{ elements []node }

type dict struct {
	keys   []string // in the order in which the values that count stand
	values map[string]node
}

func (d *dict) get(key string) node {
	if d == nil {
		return nil
	}
	return d.values[key]
}

func (d *dict) text(key string) string {
	s, _ := d.get(key).(string)
	return s
}

func decode(d *json.Decoder) (node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		l := &list{}
		for d.More() {
			v, err := decode(d)
			if err != nil {
				return nil, err
			}
			l.elements = append(l.elements, v)
		}
		_, err := d.Token()
		return l, err
	case json.Delim('{'):
		o := &dict{values: make(map[string]node)}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := decode(d)
			if err != nil {
				return nil, err
			}
			k := key.(string)
			o.keys = slices.DeleteFunc(o.keys, func(s string) bool { return s == k })
			o.keys = append(o.keys, k)
			o.values[k] = v
		}
		_, err := d.Token()
		return o, err
	}
	return token, nil
}

type oracle struct {
	parts []string
	other []string
	texts []string // of the parts, for details
	tool  string   // of a result
	image bool     // there is an image
}

func (o *oracle) add(kind, text string) { o.addCall(kind, text, o.tool) }

func (o *oracle) addCall(kind, text, tool string) {
	if text == "" {
		return
	}
	if tool != "" {
		kind += "(" + tool + ")"
	}
	o.parts = append(o.parts, kind+": "+text)
	o.texts = append(o.texts, text)
}

var noTextKeys = []string{"textSignature", "thinkingSignature", "thoughtSignature", "partialJson", "partialArgs", "streamIndex"}

func isImage(d *dict) bool {
	for _, key := range []string{"mimeType", "media_type", "mediaType"} {
		if strings.HasPrefix(d.text(key), "image/") {
			return true
		}
	}
	return d.text("type") == "image"
}

// leaves returns the strings in v.
func leaves(v node) []string {
	var all []string
	switch v := v.(type) {
	case string:
		if v != "" {
			all = append(all, v)
		}
	case *list:
		for _, e := range v.elements {
			all = append(all, leaves(e)...)
		}
	case *dict:
		for _, key := range v.keys {
			if _, isText := v.values[key].(string); isText && (slices.Contains(noTextKeys, key) || key == "data" && isImage(v)) {
				continue
			}
			all = append(all, leaves(v.values[key])...)
		}
	}
	return all
}

// named returns the lines for a value of arguments, or for all of them.
func named(name string, v node, all bool) []string {
	inner := func(key string) string {
		if name == "" {
			return key
		}
		return name + "." + key
	}
	var lines []string
	text := fmt.Sprint(v)
	switch v := v.(type) {
	case nil:
		text = "null"
	case *list:
		for i, e := range v.elements {
			lines = append(lines, named(inner(fmt.Sprint(i)), e, false)...)
		}
		if all || len(v.elements) > 0 {
			return lines
		}
		text = "[]"
	case *dict:
		for _, key := range v.keys {
			if _, isText := v.values[key].(string); isText && key == "data" && isImage(v) {
				continue
			}
			lines = append(lines, named(inner(key), v.values[key], false)...)
		}
		if all || len(v.keys) > 0 {
			return lines
		}
		text = "{}"
	}
	if name == "" {
		return []string{text}
	}
	return []string{name + ": " + text}
}

func (o *oracle) call(d *dict) {
	lines := []string{d.text("name")}
	if arguments := d.get("arguments"); arguments != nil {
		lines = append(lines, named("", arguments, true)...)
	}
	o.addCall("call", strings.Join(lines, "\n"), d.text("name"))
}

func (o *oracle) block(kind string, v node) {
	if s, ok := v.(string); ok {
		if kind == "other" {
			o.other = append(o.other, leaves(s)...)
			return
		}
		o.add(kind, s)
		return
	}
	d, ok := v.(*dict)
	if !ok {
		o.other = append(o.other, leaves(v)...)
		return
	}
	var known []string
	switch d.text("type") {
	case "text":
		known = []string{"text", "textSignature"}
		o.block(kind, d.get("text"))
	case "thinking":
		known = []string{"thinking", "thinkingSignature"}
		if d.get("redacted") != true {
			o.add("thinking", d.text("thinking"))
		}
	case "image":
		o.image = true
		known = []string{"mimeType"}
		if _, isText := d.get("data").(string); isText {
			known = append(known, "data")
		}
	case "toolCall":
		known = []string{"name", "arguments", "thoughtSignature", "partialJson", "partialArgs", "streamIndex", "intent"}
		o.call(d)
	default:
		rest := &dict{values: d.values, keys: slices.DeleteFunc(slices.Clone(d.keys), func(k string) bool {
			_, isText := d.values[k].(string)
			return isText && (k == "id" || k == "type")
		})}
		o.other = append(o.other, leaves(rest)...)
		return
	}
	o.unknown(d, append(known, "type", "id")...)
}

func (o *oracle) content(kind string, v node) {
	if l, ok := v.(*list); ok {
		for _, e := range l.elements {
			o.block(kind, e)
		}
		return
	}
	if v != nil {
		o.block(kind, v)
	}
}

// onlyImages adds the part of an entry that has images and no other part so far.
func (o *oracle) onlyImages(kind string) {
	if o.image && len(o.parts) == 0 {
		if o.tool != "" {
			kind += "(" + o.tool + ")"
		}
		o.parts = append(o.parts, kind+": ")
	}
}

func (o *oracle) unknown(d *dict, known ...string) {
	for _, key := range d.keys {
		if !slices.Contains(known, key) {
			o.other = append(o.other, leaves(d.values[key])...)
		}
	}
}

func (o *oracle) held(kind string, all []string) {
	all = slices.DeleteFunc(all, func(s string) bool {
		return slices.ContainsFunc(o.texts, func(text string) bool { return strings.Contains(text, s) })
	})
	o.add(kind, strings.Join(all, "\n"))
}

func (o *oracle) message(m *dict) {
	role := m.text("role")
	kind := string(scope.OfRole(role))
	if role == "toolResult" {
		o.tool = m.text("toolName")
	}
	if role != "artifact" { // in file order with the rest
		o.content(kind, m.get("content"))
	}
	known := []string{"role", "id", "timestamp", "content", "details"}
	if files, ok := m.get("attachments").(*list); ok && role == "user" {
		for _, f := range files.elements {
			lines := []string{f.(*dict).text("fileName"), f.(*dict).text("extractedText")}
			o.add("prompt", strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n"))
			o.image = o.image || strings.HasPrefix(f.(*dict).text("mimeType"), "image/")
		}
	}
	o.onlyImages(kind)
	switch role {
	case "user":
		known = append(known, "attachments", "attribution")
	case "assistant":
		known = append(known, "api", "provider", "model", "usage", "stopReason", "errorMessage", "responseId", "responseModel")
		if failure := m.text("errorMessage"); failure != "" {
			o.add("error", m.text("stopReason")+": "+failure)
		}
	case "toolResult":
		known = append(known, "toolCallId", "toolName")
	case "bashExecution":
		known = append(known, "command", "output", "fullOutputPath")
		lines := []string{m.text("command"), m.text("output")}
		o.add("shell", strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n"))
	case "custom", "hookMessage":
		known = append(known, "customType")
	case "system":
		known = m.keys
		var all []string
		for _, key := range []string{"sections", "toolsAdded", "toolsRemoved"} {
			all = append(all, leaves(m.get(key))...)
		}
		o.held("system", all)
	default:
		known = []string{"role", "id", "timestamp", "details"}
	}
	o.held("details", leaves(m.get("details")))
	o.unknown(m, known...)
}

// expected returns the parts of an entry, as kind, tool and text.
func expected(e *dict) []string {
	var o oracle
	common := []string{"type", "id", "parentId", "timestamp"}
	known := common
	switch e.text("type") {
	case "message":
		known = append(known, "message")
		if m, ok := e.get("message").(*dict); ok {
			o.message(m)
		}
	case "compaction":
		known = append(known, "summary", "details", "systemMessage", "firstKeptEntryId")
		o.add("summary", e.text("summary"))
		o.held("details", leaves(e.get("details")))
		if m, ok := e.get("systemMessage").(*dict); ok {
			o.message(m)
		}
	case "branch_summary":
		known = append(known, "summary", "details", "fromId")
		o.add("summary", e.text("summary"))
		o.held("details", leaves(e.get("details")))
	case "custom":
		known = append(known, "customType", "data")
		if e.text("customType") == "tool_execution_start" { // the call once more
			break
		}
		o.add("data", strings.Join(leaves(e.get("data")), "\n"))
	case "custom_message":
		known = append(known, "customType", "content", "details")
		o.content("note", e.get("content"))
		o.onlyImages("note")
		o.held("details", leaves(e.get("details")))
	case "context_edit":
		known = append(known, "targetId", "replacement")
		if r, ok := e.get("replacement").(*dict); ok {
			o.content("note", r.get("content"))
			o.onlyImages("note")
		}
	case "label":
		known = append(known, "targetId", "label")
		o.add("label", e.text("label"))
	case "session_info":
		known = append(known, "name")
		o.add("title", e.text("name"))
	case "title":
		return []string{"title: " + e.text("title")}[:min(1, len(e.text("title")))]
	case "title_change":
		return []string{"meta: " + e.text("title")}
	case "model_change":
		known = append(known, "provider", "modelId", "model")
		if e.get("model") != nil {
			o.add("meta", e.text("model"))
		} else {
			o.add("meta", e.text("provider")+"/"+e.text("modelId"))
		}
	case "thinking_level_change":
		known = append(known, "thinkingLevel")
		o.add("meta", e.text("thinkingLevel"))
	case "leaf":
		known = append(known, "targetId")
	case "usage":
		known = append(known, "kind", "provider", "model", "note", "usage")
		lines := []string{e.text("kind"), e.text("provider") + "/" + e.text("model"), e.text("note")}
		o.add("meta", strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n"))
	}
	o.tool = ""
	if m, ok := e.get("message").(*dict); ok && m.text("role") == "toolResult" {
		o.tool = m.text("toolName")
	}
	o.unknown(e, known...)
	o.add("other", strings.Join(o.other, "\n"))
	return o.parts
}

// expectedFile returns the parts of all entries of a file.
func expectedFile(data []byte) [][]string {
	var all [][]string
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		data = rest
		var pieces [][]string
		for line = bytes.Trim(line, " \t\r\x00"); len(line) > 0; line = bytes.Trim(line, " \t\r\x00") {
			d := json.NewDecoder(bytes.NewReader(line))
			d.UseNumber()
			v, err := decode(d)
			if err != nil {
				if !ended {
					pieces = nil
				}
				break
			}
			line = line[d.InputOffset():]
			if e, ok := v.(*dict); ok && e.text("type") != "session" {
				pieces = append(pieces, expected(e))
			}
		}
		all = append(all, pieces...)
	}
	return all
}

func compareWithOracle(t *testing.T, name string, data []byte) (parts int) {
	t.Helper()
	entries, _, _ := parseFile(t, bytes.NewReader(data))
	adapters.Sparse(t, New(), adapter.State{Path: name}, data)
	want := expectedFile(data)
	if len(entries) != len(want) {
		t.Errorf("%s: %d entries, want %d", name, len(entries), len(want))
		return 0
	}
	for i, e := range entries {
		var got []string
		for _, p := range e.Parts {
			kind := string(p.Kind)
			if p.Tool != "" {
				kind += "(" + p.Tool + ")"
			}
			got = append(got, kind+": "+string(p.Text))
		}
		if !slices.Equal(got, want[i]) {
			t.Errorf("%s: parts of the entry at %d (-want +got):\n%s", name, e.Offset, gocmp.Diff(want[i], got))
		}
		parts += len(got)
	}
	return parts
}

func TestPartsAsOracle(t *testing.T) {
	parts := 0
	for _, path := range testkit.Sessions(t, filepath.Join(testkit.Root(), "testdata", "realpi", "sessions"), testkit.Fixtures()) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		parts += compareWithOracle(t, path, data)
	}
	if parts < 20 {
		t.Errorf("only %d parts were compared", parts)
	}
}

func TestPartsAsOracleSmall(t *testing.T) {
	file := strings.Join([]string{
		`{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/w"}`,
		messageLine(`{"role":"user","content":[{"type":"text","text":"fix\nit"},{"type":"image","data":"QUJD","mimeType":"image/png"}]}`),
		messageLine(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"toolCall","id":"c","name":"edit","arguments":{"path":"a","edits":[{"a":"b"},[],{}],"n":1.50,"t":true,"z":null}}],"stopReason":"error","errorMessage":"529"}`),
		messageLine(`{"role":"toolResult","toolName":"edit","toolCallId":"c","content":[{"type":"text","text":"ok a"}],"details":{"x":"a","y":["b",{"z":"c"}]},"more":{"k":"v"}}`),
		messageLine(`{"role":"bashExecution","command":"ls","output":"a\n"}`) + messageLine(`{"role":"artifact","f":"x","content":"y"}`),
		"garbage", "", "\x00",
		`{"type":"custom","data":{"a":["b"],"a":"c"}}`,
		`{"type":"strange","a":{"b":["c","d",{"e":"f","textSignature":"S"}]}}`,
		`{"type":"session_info","name":"n"`,
	}, "\n")
	if n := compareWithOracle(t, "inline", []byte(file)); n < 10 {
		t.Errorf("only %d parts", n)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`""`, `"\ud83d\ude00"`, `"\ud83d"`, "\"\xff\xfe\"", "\"caf\xc3\"", `"` + strings.Repeat(`é\n`, 100) + `"`, `"` + strings.Repeat("\xff", 200) + `"`} {
		f.Add([]byte(messageLine(`{"role":"user","content":` + s + `}`)))
	}
	for _, s := range []string{
		`{}`, `{"type":"session"}`, `{"kind":"header"}`, `[{"kind":"entry"}]`, `{"type":"custom","data":[[[{"a":{"a":[]}}]]]}`, "1e400 {}", `{"a":1}{"b":2}x`,
		`{"type":"custom","data":{"data":"x","type":"image"}}`, `{"type":"custom","data":{"mimeType":"image/x","data":{"a":"b"}}}`,
		messageLine(`{"role":"assistant","content":[{"type":"toolCall","name":"n","arguments":{"a":{"b":[1,{"c":"d"}]},"a":2}}]}`),
		messageLine(`{"role":"toolResult","details":{"a":"b"},"content":["a","b"],"nestedCalls":{"calls":[{"name":"x","arguments":[]}]}}`),
		`{"type":"message","timestamp":1e3,"message":{"role":"bashExecution","command":1,"output":{"a":"b"},"exitCode":1e30}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, ended := range []bool{true, false} {
			p := New().Parse(adapter.State{})
			var whole, alone []string
			line := adapter.Line{Data: data, Offset: 100, Number: 1, Ended: ended}
			problems := p.Parse(line, func(e *session.Entry) {
				if string(data[e.Offset-100]) != "{" || data[e.Offset-100+int64(e.Length)-1] != '}' {
					t.Fatalf("entry at %d, %d bytes of %q", e.Offset-100, e.Length, data)
				}
				for _, part := range e.Parts {
					if len(part.Text) == 0 || !utf8.Valid(part.Text) {
						t.Fatalf("part %q of %q", part.Text, data)
					}
					whole = append(whole, partString(part))
				}
				one := bytes.Clone(data[e.Offset-100 : e.Offset-100+int64(e.Length)])
				New().Parse(adapter.State{Header: p.State().Header}).Parse(adapter.Line{Data: one, Offset: e.Offset, Number: 1, Ended: true}, func(e *session.Entry) {
					for _, part := range e.Parts {
						alone = append(alone, partString(part))
					}
				})
			})
			if diff := testkit.Diff(whole, alone); diff != "" {
				t.Fatalf("%q, entries read alone (-whole +alone):\n%s", data, diff)
			}
			if !ended && len(problems) > 0 && (len(problems) != 1 || !problems[0].Torn || len(whole) > 0) {
				t.Fatalf("unterminated %q: problems %v, parts %q", data, problems, whole)
			}
		}
	})
}

// tree writes a random JSON value with the keys that matter, some of them twice.
func tree(r *rand.Rand, depth int) string {
	n := r.IntN(10)
	switch {
	case depth > 0 && n < 3:
		var members []string
		for range r.IntN(4) {
			keys := []string{`"a"`, `"b"`, `"\u0061"`, `"é"`, `"id"`, `"textSignature"`, `"partialJson"`, `""`}
			members = append(members, keys[r.IntN(len(keys))]+`:`+tree(r, depth-1))
		}
		for _, key := range []string{`"type"`, `"data"`, `"mimeType"`, `"media_type"`} { // what makes an image, once each
			if r.IntN(6) == 0 {
				members = slices.Insert(members, r.IntN(len(members)+1), key+`:`+tree(r, depth-1))
			}
		}
		for i := range r.IntN(2) * 40 {
			members = append(members, fmt.Sprintf(`"k%d":%s`, i%35, tree(r, 0)))
		}
		return "{" + strings.Join(members, ",") + "}"
	case depth > 0 && n < 5:
		var elements []string
		for range r.IntN(5) {
			elements = append(elements, tree(r, depth-1))
		}
		return "[ " + strings.Join(elements, " ,\t") + "]"
	case n == 5:
		return []string{"1.50", "-0", "1e400", "true", "false", "null"}[r.IntN(6)]
	case n == 6:
		return []string{`"image"`, `"image/png"`, `"text"`, `"text/plain"`}[r.IntN(4)]
	case n == 7:
		return []string{`"` + strings.Repeat("long\\n", 40) + `"`, `"` + strings.Repeat("é", 100) + `"`, `""`, `"\ud83d\ude00 \udead"`, "\"\xff\""}[r.IntN(5)]
	}
	return fmt.Sprintf(`"w%d"`, r.IntN(30))
}

func TestPartsAsOracleRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var file string
		switch r.IntN(6) {
		case 0:
			file = `{"type":"custom","data":` + tree(r, 5) + `}`
		case 1:
			file = messageLine(`{"role":"toolResult","toolName":"t","details":` + tree(r, 5) + `,"content":[{"type":"text","text":"w1 w12 w23"},` + tree(r, 3) + `]}`)
		case 2:
			file = messageLine(`{"role":"assistant","content":[{"type":"toolCall","name":"n","arguments":` + tree(r, 5) + `,"more":` + tree(r, 2) + `}]}`)
		case 3:
			file = messageLine(`{"role":"artifact","x":` + tree(r, 4) + `,"y":` + tree(r, 4) + `}`)
		case 4:
			file = `{"type":"strange","x":` + tree(r, 5) + `,"y":` + tree(r, 2) + `}`
		case 5:
			file = messageLine(`{"role":"user","content":`+tree(r, 3)+`,"z":`+tree(r, 3)+`}`) + strings.Repeat(" ", r.IntN(2)) + `{"type":"custom","data":` + tree(r, 2) + `}`
		}
		compareWithOracle(t, file, []byte(file))
		if t.Failed() {
			return
		}
	}
}
