package syntax

import (
	"slices"
	"strings"

	"pigrep/query/engine/filter"
)

func AddField(text, name string, values ...string) string {
	if values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" }); len(values) == 0 {
		return text
	}
	return strings.TrimSpace(strings.TrimRight(text, " ") + " " + fieldOf(name, values).String())
}

// SetField replaces the values of a field that applies to the whole query, or adds the field.
// Without values it removes it.
func SetField(text, name string, values ...string) string {
	had, ok := topField(text, name)
	if !ok {
		return AddField(text, name, values...)
	}
	before, after := text[:had.Start], text[had.End:]
	if len(values) > 0 {
		return before + fieldOf(name, values).String() + after
	}
	before, after = strings.TrimRight(before, " "), strings.TrimLeft(after, " ")
	if rest, ok := strings.CutSuffix(before, " AND"); ok {
		before = rest
	} else {
		after = strings.TrimPrefix(after, "AND ")
	}
	return strings.TrimSpace(before + " " + after)
}

func fieldOf(name string, values []string) *Field {
	if row := filter.LookupField(name); row == nil || !row.Many {
		values = values[:1]
	}
	list := slices.Clone(values)
	for i, v := range values {
		if f := (&Field{Name: name, Value: v}); needsQuotes(name, v) || len(f.Values()) > 1 {
			if len(values) == 1 {
				return &Field{Name: name, Value: v, Quoted: true}
			}
			list[i] = filter.Quote(v)
		}
	}
	return &Field{Name: name, Value: strings.Join(list, ",")}
}

func FieldValues(text, name string) []string {
	f, ok := topField(text, name)
	if !ok {
		return nil
	}
	return f.Values()
}

// topField returns the first field of this name that applies to the whole query.
func topField(text, name string) (*Field, bool) {
	if strings.ToValidUTF8(text, "\uFFFD") != text {
		return nil, false // Parse replaces the bytes, which moves offsets
	}
	root, _ := Parse(text)
	items := []Node{root}
	if n, ok := root.(*Group); ok && n.Op != Or {
		items = n.Items
	}
	for _, item := range items {
		if f, ok := item.(*Field); ok && f.Name == name {
			return f, true
		}
	}
	return nil, false
}

// needsQuotes reports whether the value does not parse back to itself without quotes.
func needsQuotes(name, value string) bool {
	root, _ := Parse(name + ":" + value)
	f, ok := root.(*Field)
	return !ok || f.Value != value
}

// Removable returns the top-level fields and negations of a query, up to eight, each
// with its + or !. Leaving one out leaves a valid query that restricts less.
func Removable(text string) (list []Node) {
	const most = 8
	root, _ := Parse(text)
	items := []Node{root}
	if n, ok := root.(*Group); ok && n.Op == List {
		items = n.Items
	}
	for _, item := range items {
		inner := item
		if must, ok := item.(*Must); ok {
			inner = must.Item
		}
		switch inner.(type) {
		case *Field, *Not:
			if len(list) < most {
				list = append(list, item)
			}
		}
	}
	return list
}
