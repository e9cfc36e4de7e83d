package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"pigrep/internal/lists"
	"pigrep/internal/near"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/query/audit"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
)

// Words is a list of words; JSON may have a string instead of a list of one.
type Words []string

// UnmarshalJSON reads a list of strings, or one string.
func (w *Words) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		if *w = nil; one != "" {
			*w = Words{one}
		}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(w))
}

// values returns the words where commas separate some of them.
func (w Words) values() (values []string) {
	for _, list := range w {
		values = append(values, filter.Values(list)...)
	}
	return values
}

// Where has the filters that a tool takes, and whose sessions they leave out. The tag reach names
// the filters; without it, a tool takes the filters of all questions.
type Where struct {
	Given          filter.Written `json:"given,omitempty"` // arguments of their own, by the names of the table
	IncludeCurrent bool           `json:"includeCurrent,omitempty" jsonschema:"your own session too" rare:"yes"`
}

func (w *Where) filters() *filter.Written { return &w.Given }

// Filters are the filters of tools that answer with text.
type Filters struct {
	Where           `reach:"text"`
	IncludeSearches bool `json:"includeSearches,omitempty" jsonschema:"calls of pigrep too" rare:"yes"`
}

// spec turns the filters into filters of a request.
func (f *Filters) spec(env filter.Env) (filter.Spec, error) {
	f.Given.Switch(filter.Searches, !f.IncludeSearches)
	spec, err := f.Given.Spec(env)
	if e, ok := errors.AsType[*filter.Error](err); ok {
		err = &Error{codeInput, e.Error(), e.Hint}
	}
	return spec, err
}

// rowsOf returns the filters that are arguments of a tool with this input.
func rowsOf(input reflect.Type) (rows []*filter.Row) {
	where, ok := input.FieldByName("Where")
	if !ok {
		return nil
	}
	reach := reaches[where.Tag.Get("reach")]
	for i := range filter.Table {
		if row := &filter.Table[i]; row.Agents != "" && row.Reach <= reach {
			rows = append(rows, row)
		}
	}
	return rows
}

var reaches = map[string]filter.Reach{"": filter.OfSessions, "sessions": filter.OfSessions, "calls": filter.OfCalls, "text": filter.OfText}

func describeFilters(s *jsonschema.Schema, rows []*filter.Row) {
	at := slices.Index(s.PropertyOrder, "given")
	if at < 0 {
		return
	}
	delete(s.Properties, "given")
	var order []string
	for _, row := range rows {
		p := &jsonschema.Schema{Type: "string", Description: row.Agents}
		words := lists.Map(row.Values, func(v string) any { return v })
		switch {
		case row.Value == "":
			p.Type = "boolean"
		case row.IsList():
			p.Type, p.Items = "array", &jsonschema.Schema{Type: "string", Enum: words}
		default:
			p.Enum = words
		}
		s.Properties[row.Name] = p
		order = append(order, row.Name)
	}
	s.PropertyOrder = slices.Replace(s.PropertyOrder, at, at+1, order...)
}

// Paging is the bound of an answer and where it begins.
type Paging struct {
	MaxBytes int    `json:"maxBytes,omitempty" range:"1000,512000" jsonschema:"default 24000" rare:"yes"`
	Cursor   string `json:"cursor,omitempty" jsonschema:"nextCursor, all else the same"`
}

// The default and the largest value of maxBytes.
const (
	defaultBytes = 24_000
	mostBytes    = 512_000
)

// take clears both, so that the rest identifies the request.
func (p *Paging) take() (taken Paging) {
	taken, *p = *p, Paging{}
	taken.MaxBytes = cmp.Or(taken.MaxBytes, defaultBytes)
	return taken
}

// The words that fields accept, by the name of the field.
func enums() map[string][]any {
	anys := func(words []string) []any { return lists.Map(words, func(w string) any { return w }) }
	return map[string][]any{
		"sort": anys(rank.SortNames),
		"rule": lists.Map(shellcmd.Rules(), func(r shellcmd.Rule) any { return r.ID }),
		"by":   anys(audit.UsageDimensions),
		"case": anys(caseNames),
	}
}

// types are the schemas of types with their own encoding.
var types = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[Words]():           {Type: "array", Items: &jsonschema.Schema{Type: "string"}},
	reflect.TypeFor[session.Time]():    {Type: "string", Format: "date-time"},
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[session.Kind]():    {Type: "string"},
	reflect.TypeFor[[2]int]():          {Type: "array", Items: &jsonschema.Schema{Type: "integer"}},
}

func inputSchema[In any]() *jsonschema.Schema {
	s := schemaOf[In]()
	describeFilters(s, rowsOf(reflect.TypeFor[In]()))
	for name, words := range enums() {
		p := s.Properties[name]
		switch {
		case p == nil:
		case p.Type == "array":
			p.Items.Enum = words
		default:
			p.Enum = words
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[In]()) {
		bounds, ok := f.Tag.Lookup("range")
		if !ok {
			continue
		}
		var least, most float64
		if _, err := fmt.Sscanf(bounds, "%f,%f", &least, &most); err != nil {
			panic(err) // the tags are ours
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch p := s.Properties[name]; p.Type {
		case "array":
			p.Items.MaxLength = jsonschema.Ptr(int(most))
		case "string":
			p.MaxLength = jsonschema.Ptr(int(most))
		default:
			p.Minimum, p.Maximum = &least, &most
		}
	}
	return s
}

func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		panic(err) // the types are ours
	}
	eachSchema(s, func(s *jsonschema.Schema) {
		if len(s.Types) == 2 && s.Types[0] == "null" { // lists are absent instead
			s.Type, s.Types = s.Types[1], nil
		}
	})
	return s
}

// eachSchema visits a schema, and the schemas of its items and properties.
func eachSchema(s *jsonschema.Schema, visit func(*jsonschema.Schema)) {
	if s == nil {
		return
	}
	visit(s)
	eachSchema(s.Items, visit)
	for _, p := range s.Properties {
		eachSchema(p, visit)
	}
}

// brief returns the schema of arguments as models read it, who pay for every word: without
// rare arguments, bounds, and lists where one string will do, which the server accepts, checks and
// explains all the same. The tag rare is for arguments that the instructions name. With the tag told of
// the field Filters, filters of wider questions are rare too.
func brief[In any](whole *jsonschema.Schema) *jsonschema.Schema {
	s, input := whole.CloneSchemas(), reflect.TypeFor[In]()
	s.AdditionalProperties = nil
	told := filter.OfText
	if filters, ok := input.FieldByName("Filters"); ok && filters.Tag.Get("told") != "" {
		told = reaches[filters.Tag.Get("told")]
	}
	for _, row := range rowsOf(input) {
		if row.Rare || row.Reach > told {
			delete(s.Properties, row.Name)
		}
	}
	for _, f := range reflect.VisibleFields(input) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if p := s.Properties[name]; p != nil && f.Tag.Get("rare") != "" {
			delete(s.Properties, name)
		}
	}
	for name, p := range s.Properties {
		p.Minimum, p.Maximum, p.MaxLength = nil, nil, nil
		if p.Type == "array" && !slices.Contains(s.Required, name) { // commas may be part of what is required
			p.Type, p.Items = "string", nil
		}
		if p.Items != nil {
			p.Items.MaxLength = nil
		}
	}
	return s
}

// open allows properties that are not described: answers may get more of them.
func open(s *jsonschema.Schema) *jsonschema.Schema {
	eachSchema(s, func(s *jsonschema.Schema) { s.AdditionalProperties = nil })
	return s
}

// longestInput is the most bytes of all arguments of a call together.
const longestInput = 128 << 10

// decode reads the arguments of a tool. For an unknown name the error suggests the
// one that was meant.
func decode(raw json.RawMessage, schema *jsonschema.Schema, input any) error {
	if len(raw) > longestInput {
		return &Error{codeInput, fmt.Sprintf("the arguments have %d bytes, more than %d", len(raw), longestInput), "a few words find more than a whole text"}
	}
	if len(bytes.TrimSpace(raw)) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return &Error{codeInput, "the arguments are no JSON object", ""}
	}
	known := slices.Sorted(maps.Keys(schema.Properties))
	for _, unknown := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(known, unknown) {
			continue
		}
		hint := "there are " + strings.Join(known, ", ")
		if len(known) == 0 {
			hint = "the tool takes none"
		} else if near := near.Nearest(known, unknown); len(near) > 0 {
			hint = "nearest: " + strings.Join(near, ", ") + "; " + hint
		}
		return &Error{codeInput, fmt.Sprintf("there is no argument %.60q", unknown), hint}
	}
	for _, name := range schema.Required {
		if v := string(bytes.TrimSpace(given[name])); v == "" || v == "null" || v == `""` || v == "[]" {
			return &Error{codeInput, fmt.Sprintf("the argument %q is missing", name), schema.Properties[name].Description}
		}
	}
	texts := make(map[string]Words)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		var err error
		if texts[name], err = textsOf(name, given[name], schema.Properties[name]); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(raw, input); err != nil {
		return &Error{codeInput, "the arguments cannot be read: " + strings.TrimPrefix(err.Error(), "json: "), ""}
	}
	if in, ok := input.(interface{ filters() *filter.Written }); ok {
		filters := make(filter.Written)
		for _, row := range rowsOf(reflect.TypeOf(input).Elem()) {
			if len(texts[row.Name]) > 0 {
				filters[row.Name] = texts[row.Name]
			}
		}
		*in.filters() = filters
	}
	return nil
}

// textsOf returns the texts of an argument, after checking its type, its bounds and the words that
// it accepts. A switch that is on has one text; the texts of a list count together. Some agents
// give every argument, so an empty text, or the number 0, means not given.
func textsOf(name string, raw json.RawMessage, p *jsonschema.Schema) (texts Words, err error) {
	var number int
	var on bool
	var text string
	value, kind, words, longest := any(&text), "a string", p.Enum, p.MaxLength
	switch p.Type {
	case "integer":
		value, kind = &number, "a whole number"
	case "boolean":
		value, kind = &on, "true or false"
	case "array":
		value, kind, words, longest = &texts, "a list of strings", p.Items.Enum, p.Items.MaxLength
	}
	err = json.Unmarshal(raw, value)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil, &Error{codeInput, fmt.Sprintf("the argument %q cannot be of type %s", name, e.Value), "it is " + kind}
	}
	if p.Maximum != nil && number != 0 && (float64(number) < *p.Minimum || float64(number) > *p.Maximum) {
		return nil, &Error{codeInput, fmt.Sprintf("%s is %d, which is not between %.0f and %.0f", name, number, *p.Minimum, *p.Maximum), p.Description}
	}
	if on {
		return Words{"true"}, err
	}
	values := texts.values()
	if text != "" {
		texts, values = Words{text}, []string{text}
	}
	for _, v := range values {
		if len(words) > 0 && !slices.Contains(words, any(v)) {
			list := lists.Map(words, func(w any) string { return fmt.Sprint(w) })
			return nil, &Error{codeInput, fmt.Sprintf("%s: there is no %.60q", name, v), "there are " + strings.Join(list, ", ")}
		}
	}
	if n := utf8.RuneCountInString(strings.Join(texts, "")); longest != nil && n > *longest {
		return nil, &Error{codeInput, fmt.Sprintf("%s has %d characters, more than %d", name, n, *longest), "a few words find more than a whole text"}
	}
	return texts, err
}
