// Package jsonsize estimates, before JSON is decoded, how much memory the decoded value will take: a few
// bytes that somebody sends can become a large value.
package jsonsize

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// Of estimates the memory of JSON decoded into a value of a type, without its text. It stops as soon as
// the estimate exceeds the limit, and returns a number above the limit.
func Of(data []byte, t reflect.Type, limit int64) int64 {
	c := &counting{data: data, limit: limit}
	c.value(t)
	return c.size
}

// counting scans JSON. It does not look for errors, which json.Unmarshal finds.
type counting struct {
	data        []byte
	at, depth   int
	size, limit int64
}

// mostDepth is how deep json.Unmarshal decodes.
const mostDepth = 10_000

// next returns the next character that is not white space; 0 at the end, or beyond the limit.
func (c *counting) next() byte {
	for ; c.at < len(c.data) && c.size <= c.limit; c.at++ {
		if b := c.data[c.at]; b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			return b
		}
	}
	return 0
}

// text scans a string, and returns it with its quotes.
func (c *counting) text() []byte {
	begin := c.at
	for c.at++; c.at < len(c.data) && c.data[c.at] != '"'; c.at++ {
		if c.data[c.at] == '\\' {
			c.at++
		}
	}
	c.at = min(c.at+1, len(c.data))
	return c.data[begin:c.at]
}

// anyKind is the type of values that are decoded without a type.
var anyKind = reflect.TypeFor[any]()

// value scans a value. A slice takes up to three times the memory of its elements while it grows.
func (c *counting) value(t reflect.Type) {
	if c.depth++; c.depth > mostDepth {
		c.at = len(c.data)
	}
	defer func() { c.depth-- }()
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
		c.size += int64(t.Size())
	}
	if t == anyKind {
		c.size += 16
	}
	switch c.next() {
	case '"':
		c.text()
	case '[':
		var elem reflect.Type
		if t == anyKind {
			elem = t
		} else if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			elem = t.Elem()
		}
		for c.at++; ; c.at++ {
			if b := c.next(); b == ']' || b == 0 {
				c.at++
				return
			}
			if elem != nil {
				c.size += 3 * int64(elem.Size())
			}
			c.value(elem)
			if c.next() != ',' {
				c.at++
				return
			}
		}
	case '{':
		for c.at++; ; c.at++ {
			if c.next() != '"' {
				c.at++
				return
			}
			key := c.text()
			if c.next() != ':' {
				return
			}
			c.at++
			c.value(c.member(t, key))
			if c.next() != ',' {
				c.at++
				return
			}
		}
	case 0:
	default: // a number or a word
		for c.at < len(c.data) && !strings.ContainsRune(",]} \t\r\n", rune(c.data[c.at])) {
			c.at++
		}
	}
}

// member returns the type of a member of an object; nil if that is not decoded.
func (c *counting) member(t reflect.Type, key []byte) reflect.Type {
	switch {
	case t == anyKind:
		c.size += 64
		return t
	case t != nil && t.Kind() == reflect.Map:
		c.size += 6 * int64(t.Key().Size()+t.Elem().Size()+8) // it is copied, too
		return t.Elem()
	case t == nil || t.Kind() != reflect.Struct:
		return nil
	}
	members := Members(t)
	if of, ok := members[string(key[1:len(key)-1])]; ok {
		return of
	}
	var name string
	_ = json.Unmarshal(key, &name)
	for is, of := range members {
		if strings.EqualFold(is, name) { // as json.Unmarshal does
			return of
		}
	}
	return nil
}

var members sync.Map

// Members returns the types of the members of a struct in JSON, by their names.
func Members(t reflect.Type) map[string]reflect.Type {
	if of, ok := members.Load(t); ok {
		return of.(map[string]reflect.Type)
	}
	of := make(map[string]reflect.Type)
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() || f.Anonymous && name == "":
		case name != "":
			of[name] = f.Type
		default:
			of[f.Name] = f.Type
		}
	}
	members.Store(t, of)
	return of
}
