package syntax

import "strings"

// SetField returns the query with the field set to a value: the field is replaced, or
// appended if the query has none. The value that it already has, or "", removes the
// field.
func SetField(text, name, value string) string {
	field := &Field{Name: name, Value: value, Quoted: needsQuotes(name, value)}
	had, ok := topField(text, name)
	if !ok {
		if value == "" {
			return text
		}
		return strings.TrimSpace(strings.TrimRight(text, " ") + " " + field.String())
	}
	before, after := text[:had.Start], text[had.End:]
	if value == "" || had.Value == value {
		before, after = strings.TrimRight(before, " "), strings.TrimLeft(after, " ")
		if rest, ok := strings.CutSuffix(before, " AND"); ok {
			before = rest
		} else {
			after = strings.TrimPrefix(after, "AND ")
		}
		return strings.TrimSpace(before + " " + after)
	}
	return before + field.String() + after
}

// FieldValue returns the value of a field that applies to the whole query, "" if there
// is none.
func FieldValue(text, name string) string {
	f, ok := topField(text, name)
	if !ok {
		return ""
	}
	return f.Value
}

// topField returns the first field of this name that applies to the whole query.
func topField(text, name string) (*Field, bool) {
	if strings.ToValidUTF8(text, "\uFFFD") != text {
		return nil, false // Parse replaces the bytes, which moves offsets
	}
	root, _ := Parse(text)
	items := []Node{root}
	switch n := root.(type) {
	case *List:
		items = n.Items
	case *And:
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
	switch n := root.(type) {
	case *List:
		items = n.Items
	case nil:
		return nil
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
