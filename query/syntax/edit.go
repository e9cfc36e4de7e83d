package syntax

import "strings"

// SetField returns the text of a query in which the field has this value, in
// place of the one it had, or behind the rest. With a value that it has already,
// or "", the field is taken out.
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

// FieldValue returns what a field is set to for the whole query; "" for nothing.
func FieldValue(text, name string) string {
	f, ok := topField(text, name)
	if !ok {
		return ""
	}
	return f.Value
}

// topField finds the first field of this name that holds for the whole query.
func topField(text, name string) (*Field, bool) {
	if strings.ToValidUTF8(text, "\uFFFD") != text {
		return nil, false // places in it would be others
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

// needsQuotes reports whether a field with this value has to be written with
// quotes to be read back as it is.
func needsQuotes(name, value string) bool {
	root, _ := Parse(name + ":" + value)
	f, ok := root.(*Field)
	return !ok || f.Value != value
}

// RemovableFields returns the fields of a query's text that can be left out, with what
// negates them.
func RemovableFields(text string) (list []Node) {
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
		switch n := item.(type) {
		case *Not:
			inner = n.Item
		case *Must:
			inner = n.Item
		}
		if _, ok := inner.(*Field); ok && len(list) < most {
			list = append(list, item)
		}
	}
	return list
}
