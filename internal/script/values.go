package script

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2/js"
)

// value is what is known of a value.
type value struct {
	sort  sort
	text  string // of a text, a number, a word; the name of a tool or method
	glued bool
	list  []value  // elements, or the members of an object
	keys  []string // of the members
	fn    *function
	of    *value // of a method: whose it is; nil if it is Promise.all or the like
}

type sort uint8

// The sorts of values.
const (
	unknown sort = iota
	aText
	aNumber
	aWord // true, false, null, undefined
	aList
	anObject
	aFunction
	aMethod
	allTools
	aTool
)

var undefined = value{sort: aWord, text: "undefined"}

// assigns has the operators that give a variable another value.
var assigns = strings.Fields("= += -= *= /= %= **= &&= ||= ??= <<= >>= >>>= |= &= ^=")

// mutators are the methods that change a list.
var mutators = strings.Fields("push unshift splice pop shift sort reverse fill")

// eval reads a statement or an expression, and the calls in it, and returns what is known of its value.
func (r *reader) eval(n js.INode) value {
	if n == nil || !r.spend(1) {
		return value{}
	}
	switch n := n.(type) {
	case *js.BlockStmt:
		if n != nil {
			r.run(n.List)
		}
	case *js.ExprStmt:
		r.eval(n.Value)
	case *js.ReturnStmt:
		v := r.eval(n.Value)
		if r.result != nil {
			if r.result.times++; r.result.times > 1 {
				v = value{}
			}
			r.result.value = v
		}
	case *js.IfStmt:
		r.each(n.Cond, n.Body, n.Else)
	case *js.ForOfStmt:
		r.loop(n.Init, r.eval(n.Value), n.Body)
	case *js.ForInStmt:
		r.eval(n.Value)
		r.loop(n.Init, value{}, n.Body)
	case *js.ForStmt:
		r.each(n.Init, n.Cond, n.Post, n.Body)
	case *js.WhileStmt:
		r.each(n.Cond, n.Body)
	case *js.DoWhileStmt:
		r.each(n.Body, n.Cond)
	case *js.TryStmt:
		r.each(n.Body, n.Catch, n.Finally)
	case *js.SwitchStmt:
		r.eval(n.Init)
		for _, c := range n.List {
			r.eval(c.Cond)
			r.run(c.List)
		}
	case *js.ThrowStmt:
		r.eval(n.Value)
	case *js.LabelledStmt:
		r.eval(n.Value)
	case *js.VarDecl:
		for _, x := range n.List {
			if x.Default != nil {
				r.take(x, undefined)
			}
		}
	case *js.FuncDecl:
		return r.define(&n.Params, &n.Body)
	case *js.MethodDecl:
		return r.define(&n.Params, &n.Body)
	case *js.ArrowFunc:
		return r.define(&n.Params, &n.Body)
	case *js.Var:
		return r.lookup(n)
	case *js.LiteralExpr:
		return literal(n)
	case *js.TemplateExpr:
		return r.template(n)
	case *js.ArrayExpr:
		all, known := []value{}, true
		for _, x := range n.List {
			v := r.eval(x.Value)
			if x.Spread {
				known = known && v.sort == aList && r.spend(len(v.list))
				all = append(all, v.list...)
			} else {
				all = append(all, v)
			}
		}
		if known {
			return value{sort: aList, list: all}
		}
	case *js.ObjectExpr:
		return r.object(n)
	case *js.DotExpr:
		return r.eval(n.X).member(n.Y.String())
	case *js.IndexExpr:
		v, key := r.eval(n.X), r.eval(n.Y)
		i, err := strconv.Atoi(key.text)
		switch {
		case key.sort == aText:
			return v.member(key.text)
		case key.sort == aNumber && err == nil:
			return v.element(i)
		case v.sort == allTools:
			return value{sort: aTool}
		}
	case *js.CallExpr:
		return r.call(r.eval(n.X), r.arguments(&n.Args))
	case *js.NewExpr:
		r.eval(n.X)
		if n.Args != nil {
			r.callBack(r.arguments(n.Args))
		}
	case *js.UnaryExpr:
		if v := r.eval(n.X); n.Op == js.AwaitToken {
			return v
		}
	case *js.BinaryExpr:
		a, b := r.eval(n.X), r.eval(n.Y)
		switch {
		case n.Op == js.AddToken:
			return r.plus(a, b)
		case slices.Contains(assigns, n.Op.String()):
			return b
		}
	case *js.CondExpr:
		r.each(n.Cond, n.X, n.Y)
	case *js.GroupExpr:
		return r.eval(n.X)
	case *js.CommaExpr:
		for _, x := range n.List[:len(n.List)-1] {
			r.eval(x)
		}
		return r.eval(n.List[len(n.List)-1])
	case *js.YieldExpr:
		r.eval(n.X)
	}
	return value{}
}

// arguments returns a list of arguments.
func (r *reader) arguments(args *js.Args) value {
	list := &js.ArrayExpr{}
	for _, a := range args.List {
		list.List = append(list.List, js.Element{Value: a.Value, Spread: a.Rest})
	}
	return r.eval(list)
}

func literal(e *js.LiteralExpr) value {
	s := string(e.Data)
	switch e.TokenType {
	case js.StringToken:
		return unescape(s[1 : len(s)-1])
	case js.TrueToken, js.FalseToken, js.NullToken:
		return value{sort: aWord, text: s}
	}
	s = strings.ReplaceAll(s, "_", "")
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return value{sort: aNumber, text: strconv.FormatInt(n, 10)}
	}
	if json.Valid([]byte(s)) {
		return value{sort: aNumber, text: s}
	}
	return value{}
}

// object returns an object.
func (r *reader) object(e *js.ObjectExpr) value {
	o := value{sort: anObject}
	for _, p := range e.List {
		x := r.eval(p.Value)
		method, isMethod := p.Value.(*js.MethodDecl)
		switch {
		case p.Spread:
			if x.sort != anObject {
				o.keys, o.list = nil, nil // any may be another one
			}
			for i := range x.keys {
				o.set(x.keys[i], x.list[i])
			}
		case isMethod:
			o.set(keyOf(&method.Name.PropertyName), x)
		case p.Name != nil && p.Name.Computed != nil:
			if key := r.eval(p.Name.Computed); key.sort == aText {
				o.set(key.text, x)
			}
		case p.Name != nil:
			o.set(keyOf(p.Name), x)
		}
	}
	return o
}

func keyOf(n *js.PropertyName) string {
	if n.Literal.TokenType == js.StringToken {
		return literal(&n.Literal).text
	}
	return string(n.Literal.Data)
}

// template reads a template. It is known if all that is in ${} is.
func (r *reader) template(e *js.TemplateExpr) value {
	tag := r.eval(e.Tag)
	decode := unescape
	if tag.sort == aMethod && tag.text == "String.raw" {
		decode = func(s string) value { return textOf(s, false) }
	}
	all := textOf("", false)
	for _, p := range e.List {
		all = r.plus(all, decode(string(p.Value[1:len(p.Value)-len("${")])))
		all = r.plus(all, r.eval(p.Expr))
	}
	if e.Tag == nil || tag.text == "String.raw" {
		return r.plus(all, decode(string(e.Tail[1:len(e.Tail)-1])))
	}
	return value{}
}

var escapes = regexp.MustCompile(`(?s)(?:\\u[0-9a-fA-F]{4})+|\\u\{[0-9a-fA-F]{1,6}\}|\\x[0-9a-fA-F]{2}|\\\r\n|\\.`)

// unescape returns the text of a string that is written with escapes.
func unescape(s string) value {
	glued := false
	s = escapes.ReplaceAllStringFunc(s, func(e string) string {
		last := e[len(e)-1]
		glued = glued || last == '_' || last == '$' || last == '#' || last >= '0' && last <= '9' || last|0x20 >= 'a' && last|0x20 <= 'z' || last >= 0x80
		const plain, means = "nrtbfv0", "\n\r\t\b\f\v\x00"
		switch {
		case len(e) == 2 && strings.Contains(plain, e[1:]):
			return means[strings.Index(plain, e[1:]):][:1]
		case last == '\n':
			return ""
		case len(e) >= 6 && e[1] == 'u' && e[2] != '{':
			var text string
			_ = json.Unmarshal([]byte(`"`+e+`"`), &text) // it knows surrogates
			return text
		case len(e) > 3 && e[1] < 0x80:
			n, _ := strconv.ParseUint(strings.Trim(e[2:], "{}"), 16, 32)
			return string(rune(n))
		}
		return e[1:]
	})
	return textOf(s, glued)
}

// plus returns the sum of two values if it is a text.
func (r *reader) plus(a, b value) value {
	if a.sort != aText && b.sort != aText || !a.isPlain() || !b.isPlain() || !r.make(len(a.text)+len(b.text)) {
		return value{}
	}
	return value{sort: aText, text: a.text + b.text, glued: a.glued || b.glued}
}

// isPlain reports whether the value has a text.
func (v *value) isPlain() bool { return v.sort == aText || v.sort == aNumber || v.sort == aWord }

// make reports whether a text of n bytes may be made.
func (r *reader) make(n int) bool {
	r.bytes -= n
	if r.bytes < 0 {
		r.whole = false
	}
	return r.bytes >= 0
}

// set gives an object a member.
func (v *value) set(key string, x value) {
	if i := slices.Index(v.keys, key); i >= 0 {
		v.list[i] = x
		return
	}
	if len(v.keys) < mostMembers {
		v.keys, v.list = append(v.keys, key), append(v.list, x)
	}
}

func textOf(s string, glued bool) value { return value{sort: aText, text: s, glued: glued} }

func intOf(n int) value { return value{sort: aNumber, text: strconv.Itoa(n)} }

func (v *value) element(n int) value {
	switch {
	case v.sort != aList:
		return value{}
	case n < 0 || n >= len(v.list):
		return undefined
	}
	return v.list[n]
}

// member returns a member of a value, or a method.
func (v value) member(key string) value {
	switch v.sort {
	case anObject:
		if i := slices.Index(v.keys, key); i >= 0 {
			return v.list[i]
		}
	case allTools:
		return value{sort: aTool, text: key}
	case aList:
		if key == "length" {
			return intOf(len(v.list))
		}
	case aMethod:
		if v.of == nil {
			return value{sort: aMethod, text: v.text + "." + key}
		}
	}
	return value{sort: aMethod, text: key, of: &v}
}

// call calls a value.
func (r *reader) call(v value, args value) value {
	switch v.sort {
	case aTool:
		r.add(v.text, args.element(0))
	case aFunction:
		return r.invoke(v.fn, args)
	case aMethod:
		return r.method(v, args)
	default:
		r.callBack(args)
	}
	return value{}
}

// callBack runs the functions among the arguments of an unknown one, once.
func (r *reader) callBack(args value) {
	for _, f := range args.list {
		if f.sort == aFunction && r.spend(1) {
			r.invoke(f.fn, value{})
		}
	}
}

// method calls a method.
func (r *reader) method(v value, args value) value {
	first, of := args.element(0), value{}
	if v.of != nil {
		of = *v.of
	}
	switch {
	case v.text == "Promise.all", v.text == "Promise.allSettled":
		return first
	case v.text == "Object.entries":
		return r.entries(first)
	case v.text == "Object.values" && first.sort == anObject:
		return value{sort: aList, list: first.list}
	case of.sort == aList && first.sort == aFunction && slices.Contains(passes, v.text):
		all := value{sort: aList}
		for i, x := range of.list {
			if !r.spend(1) {
				return value{}
			}
			all.list = append(all.list, r.invoke(first.fn, value{sort: aList, list: []value{x, intOf(i), of}}))
		}
		if v.text == "map" {
			return all
		}
		return value{}
	case v.text == "entries" && of.sort == aList:
		return r.entries(of)
	case v.text == "join" && of.sort == aList:
		return r.join(of.list, first)
	case v.text == "concat" && of.sort == aList && first.sort == aList && r.spend(len(of.list)+len(first.list)):
		return value{sort: aList, list: slices.Concat(of.list, first.list)}
	case v.text == "concat" && len(args.list) == 1:
		return r.plus(of, first)
	case v.text == "trim" && of.sort == aText:
		return textOf(strings.TrimSpace(of.text), of.glued)
	}
	r.callBack(args)
	return value{}
}

// passes are the methods of a list that call a function for each element.
var passes = strings.Fields("map flatMap forEach filter some every find")

// entries returns the pairs of keys and values.
func (r *reader) entries(of value) value {
	if of.sort != aList && of.sort != anObject || !r.spend(len(of.list)) {
		return value{}
	}
	pairs := value{sort: aList}
	for i, x := range of.list {
		key := intOf(i)
		if of.sort == anObject {
			key = textOf(of.keys[i], false)
		}
		pairs.list = append(pairs.list, value{sort: aList, list: []value{key, x}})
	}
	return pairs
}

// join returns the elements of a list with a text between them.
func (r *reader) join(list []value, between value) value {
	if between.sort == aWord {
		between = textOf(",", false)
	}
	size, glued := 0, between.glued
	texts := make([]string, 0, len(list))
	for i := range list {
		if !list[i].isPlain() {
			return value{}
		}
		texts = append(texts, list[i].text)
		size, glued = size+len(list[i].text)+len(between.text), glued || list[i].glued
	}
	if between.sort != aText || !r.make(size) {
		return value{}
	}
	return textOf(strings.Join(texts, between.text), glued)
}

// add adds a call.
func (r *reader) add(tool string, argument value) {
	if len(r.calls) >= mostCalls {
		r.whole = false
		return
	}
	c := Call{Tool: tool}
	if argument.sort == aText || argument.sort == anObject {
		c.JSON = r.json(nil, &argument, &c.Glued, 0)
	}
	r.calls = append(r.calls, c)
}

// json appends the JSON of a value, with null in the place of what is not known.
func (r *reader) json(to []byte, v *value, glued *bool, depth int) []byte {
	*glued = *glued || v.glued
	switch {
	case depth > deepest, !r.spend(1), !r.make(len(v.text)):
		r.whole = false
	case v.sort == aText:
		data, _ := json.Marshal(v.text)
		return append(to, data...)
	case v.sort == aNumber, v.sort == aWord && v.text != "undefined":
		return append(to, v.text...)
	case v.sort == aList:
		to = append(to, '[')
		for i := range v.list {
			if i > 0 {
				to = append(to, ',')
			}
			to = r.json(to, &v.list[i], glued, depth+1)
		}
		return append(to, ']')
	case v.sort == anObject:
		to = append(to, '{')
		for i, key := range v.keys {
			if v.list[i].sort == unknown || v.list[i].sort >= aFunction {
				continue
			}
			if to[len(to)-1] != '{' {
				to = append(to, ',')
			}
			data, _ := json.Marshal(key)
			to = r.json(append(append(to, data...), ':'), &v.list[i], glued, depth+1)
		}
		return append(to, '}')
	}
	return append(to, "null"...)
}
