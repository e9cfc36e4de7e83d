// Package script answers which tools a script calls, and with which arguments, as far as literals
// say: strings, templates, lists and objects of them, constants, loops over lists of constants, and
// functions that are called with them. It reads JavaScript; it runs none.
//
// Reading is bounded: it takes time and memory in proportion to the script, whatever that says.
package script

import (
	"slices"
)

// Call is a call of a tool.
type Call struct {
	Tool string // "" if it is not constant
	JSON []byte // its argument, without what is not constant; nil if none of it is

	// Glued says that words of the argument stick to letters of escapes in the script: a\nb.
	Glued bool
}

// Limits of what is read of a script.
const (
	longest   = 4 << 20 // bytes
	mostCalls = 1000
	deepest   = 60 // nested expressions, blocks and calls of functions

	mostTokens  = 200_000
	mostMembers = 1000 // of an object
)

// Calls returns the calls of functions of the object tools, in the order in which the script makes
// them. whole is false if some may be missing.
func Calls(src []byte) (calls []Call, whole bool) {
	tokens, ok := lex(src)
	if !ok {
		return nil, false
	}
	r := read(src, tokens)
	return r.calls, r.whole
}

func read(src []byte, tokens []token) *reader {
	r := &reader{src: src, tokens: tokens, changed: make(map[string]bool)}
	for range 2 { // the first time, to learn which names get other values
		r.at, r.depth, r.steps, r.bytes = 0, 0, 20*len(r.tokens)+4000, 8*len(src)+64<<10
		r.calls, r.whole, r.ran = nil, true, make(map[int]bool)
		r.scope = &scope{}
		r.run(len(r.tokens))
		for i := 0; i < len(r.functions) && r.steps > 0; i++ { // who calls them is not known
			if f := r.functions[i]; !r.ran[f.body] {
				r.invoke(f, nil)
			}
		}
		r.functions = r.functions[:0]
	}
	return r
}

// reader walks through a script.
type reader struct {
	src       []byte
	tokens    []token
	at        int
	scope     *scope
	changed   map[string]bool // names that get another value after their first
	functions []*function
	ran       map[int]bool // by the token of their body
	result    *result      // of the function that runs; nil outside of functions
	depth     int
	steps     int // that are left
	bytes     int // that may still be made
	calls     []Call
	whole     bool
}

// result is what a function returns, and how many times it says so.
type result struct {
	value
	times int
}

type scope struct {
	names map[string]value
	outer *scope
}

type function struct {
	scope  *scope
	params int // token, the bracket before them or the only name
	body   int
}

// spend reports whether there is time for n steps.
func (r *reader) spend(n int) bool {
	r.steps -= n
	if r.steps < 0 {
		r.whole = false
	}
	return r.steps >= 0
}

// tok returns the token n places ahead; that at the end has no kind.
func (r *reader) tok(n int) *token {
	if r.at+n < len(r.tokens) {
		return &r.tokens[r.at+n]
	}
	return &token{match: len(r.tokens), line: true}
}

// is reports whether the next token is a sign or word.
func (r *reader) is(s string) bool { return r.tok(0).is(s) }

func (t *token) is(s string) bool { return t.text == s && (t.kind == sign || t.kind == name) }

func (t *token) isAny(list ...string) bool {
	return (t.kind == sign || t.kind == name) && slices.Contains(list, t.text)
}

func (r *reader) accept(s string) bool {
	if r.is(s) {
		r.at++
		return true
	}
	return false
}

// within reads what is in the brackets that the next token opens, and goes on behind them.
func (r *reader) within(read func(end int)) {
	end := r.tok(0).match
	r.at++
	if end >= r.at {
		read(end)
	}
	r.at = max(r.at, end+1)
}

// deeper runs what may nest. It reports false if it is too deep.
func (r *reader) deeper(read func()) bool {
	if r.depth >= deepest {
		r.whole = false
		return false
	}
	r.depth++
	read()
	r.depth--
	return true
}

// run reads statements.
func (r *reader) run(end int) {
	for r.at < end && r.spend(1) {
		from := r.at
		if !r.deeper(r.statement) || r.at == from {
			r.at++
		}
	}
	r.at = max(r.at, end)
}

func (r *reader) inner(read func()) {
	outer := r.scope
	r.scope = &scope{outer: outer}
	read()
	r.scope = outer
}

func (r *reader) statement() {
	t := r.tok(0)
	switch {
	case t.is("{"):
		r.inner(func() { r.within(r.run) })
	case t.isAny("const", "let", "var") && (r.tok(1).kind == name || r.tok(1).isAny("[", "{")):
		r.at++
		for r.take(undefined); r.accept(","); r.take(undefined) {
		}
	case t.is("for"):
		r.at++
		r.accept("await")
		if r.is("(") {
			r.inner(r.loop)
		}
	case t.isAny("if", "while", "switch", "with", "catch") && r.tok(1).is("("):
		r.at++
		r.within(func(end int) { r.list(end) })
	case t.is("class"):
		for r.at++; r.at < len(r.tokens) && !r.is("{"); r.at++ {
		}
		r.at = r.tok(0).match + 1
	case t.is("return"):
		r.at++
		v := value{}
		if !r.tok(0).line {
			v = r.expression()
		}
		if r.result != nil {
			if r.result.times++; r.result.times > 1 {
				v = value{}
			}
			r.result.value = v
		}
	case t.isAny("else", "do", "try", "finally", "throw", "export", "case", "default", ";", ",", ":"):
		r.at++
	case t.is("function"), t.is("async") && r.tok(1).is("function"):
		for r.accept("async"); r.accept("function") || r.accept("*"); {
		}
		id := r.tok(0).text
		if f := r.function(); f.fn != nil {
			r.bind(id, f)
		}
	default:
		r.expression()
	}
}

// take reads a name or a pattern, and gives it a value, or if that is undefined the one behind =.
func (r *reader) take(v value) {
	pattern := r.at
	if r.tok(0).isAny("[", "{") {
		r.at = r.tok(0).match
	}
	r.at++
	if r.accept("=") {
		if d := r.expression(); v.sort == aWord && v.text == "undefined" {
			v = d
		}
	}
	after := r.at
	r.at = pattern
	r.deeper(func() { r.match(v) })
	r.at = after
}

// takeAll is take for the names of a list, such as parameters.
func (r *reader) takeAll(of func(n int) value) {
	r.within(func(end int) {
		rest := false
		for n := 0; r.at < end && r.spend(1); n++ {
			rest = rest || r.accept("...")
			switch {
			case r.is(","):
			case rest:
				r.take(value{})
			default:
				r.take(of(n))
			}
			if !r.accept(",") {
				break
			}
		}
	})
}

// loop reads the head and the body of a loop. A loop over a known list has a pass for each element.
func (r *reader) loop() {
	head, end := r.at+1, r.tok(0).match
	pattern := head
	if r.at = head; r.tok(0).isAny("const", "let", "var") {
		pattern++
	}
	r.at = pattern
	if r.tok(0).isAny("[", "{") {
		r.at = r.tok(0).match
	}
	r.at++
	each := []value{{}}
	switch {
	case r.tok(0).isAny("of", "in"):
		keys := r.is("in")
		r.at++
		if v := r.expression(); v.sort == aList && !keys {
			each = v.list
		}
	default:
		r.at, pattern = head, 0
		for r.at < end {
			from := r.at
			if r.deeper(r.statement); r.at == from {
				r.at++
			}
		}
	}
	body := end + 1
	r.at = body
	for _, v := range each {
		if !r.spend(1) {
			break
		}
		if pattern > 0 {
			r.at = pattern
			r.match(v)
		}
		r.at = body
		r.deeper(r.statement)
	}
	if len(each) > 0 {
		return
	}
	if r.is("{") {
		r.at = r.tok(0).match + 1
	} else {
		r.skip()
	}
}

// match gives the names of a pattern their values.
func (r *reader) match(v value) {
	t := r.tok(0)
	switch {
	case t.is("["):
		r.takeAll(v.element)
	case t.is("{"):
		r.within(func(end int) {
			for r.at < end && r.spend(1) {
				if r.accept("...") {
					v = value{}
				}
				member := v.member(r.tok(0).text)
				if r.is("[") {
					r.at, member = r.tok(0).match, value{}
				}
				if r.tok(1).is(":") {
					r.at += 2
				}
				if r.take(member); !r.accept(",") {
					break
				}
			}
		})
	case t.kind == name:
		r.bind(t.text, v)
	}
}

func (r *reader) bind(id string, v value) {
	if r.changed[id] {
		v = value{}
	}
	if r.scope.names == nil {
		r.scope.names = make(map[string]value)
	}
	r.scope.names[id] = v
}

func (r *reader) lookup(id string) value {
	for s := r.scope; s != nil && r.spend(1); s = s.outer {
		if v, ok := s.names[id]; ok {
			return v
		}
	}
	switch id {
	case "tools":
		return value{sort: allTools}
	case "Promise", "Object", "String":
		return value{sort: aMethod, text: id}
	case "true", "false", "null", "undefined":
		return value{sort: aWord, text: id}
	}
	return value{}
}

// function reads the name, the parameters and the body of a function, or of a method of an object.
func (r *reader) function() value {
	for r.at < len(r.tokens) && !r.is("(") {
		r.at++
	}
	f := &function{scope: r.scope, params: r.at}
	r.at = r.tok(0).match + 1
	f.body = r.at
	if !r.is("{") {
		return value{}
	}
	r.at = r.tok(0).match + 1
	return r.define(f)
}

func (r *reader) define(f *function) value {
	if f.body >= len(r.tokens) {
		return value{}
	}
	r.functions = append(r.functions, f)
	return value{sort: aFunction, fn: f}
}

// arrow reads a function with an arrow; ok is false if there is none.
func (r *reader) arrow() (v value, ok bool) {
	at := r.at
	if r.is("async") && !r.tok(1).isAny("=>", ".", ",", ")") {
		at++
	}
	if at >= len(r.tokens) {
		return value{}, false
	}
	head := at
	switch t := &r.tokens[at]; {
	case t.is("("):
		at = t.match + 1
	case t.kind == name:
		at++
	default:
		return value{}, false
	}
	if at >= len(r.tokens) || !r.tokens[at].is("=>") {
		return value{}, false
	}
	f := &function{scope: r.scope, params: head, body: at + 1}
	if r.at = at + 1; r.is("{") {
		r.at = r.tok(0).match + 1
	} else {
		r.skip()
	}
	return r.define(f), true
}

// skip goes behind an expression without reading it.
func (r *reader) skip() {
	for first := true; r.at < len(r.tokens); first = false {
		t := r.tok(0)
		if !r.spend(1) {
			r.at = len(r.tokens)
			return
		}
		if t.isAny(",", ";", ")", "]", "}") || !first && t.line && r.tokens[r.at-1].endsOperand() && (t.kind != sign || t.is("{")) {
			return
		}
		r.at = max(r.at, min(t.match, len(r.tokens)))
		r.at++
	}
}

func (t *token) endsOperand() bool { return t.kind != sign && t.kind != 0 || t.isAny(")", "]", "}") }

// invoke runs a function.
func (r *reader) invoke(f *function, args []value) value {
	r.ran[f.body] = true
	at, outer, caller, own := r.at, r.scope, r.result, result{}
	r.scope, r.result = &scope{outer: f.scope}, &own
	r.deeper(func() {
		r.at = f.params
		if r.is("(") {
			r.takeAll(func(n int) value { return argument(args, n) })
		} else {
			r.match(argument(args, 0))
		}
		if r.at = f.body; r.is("{") {
			r.within(r.run)
		} else {
			own.value = r.expression()
		}
	})
	r.at, r.scope, r.result = at, outer, caller
	return own.value
}

// argument returns an argument of a call; nil stands for a call that is not known.
func argument(args []value, n int) value {
	switch {
	case n < len(args):
		return args[n]
	case args == nil:
		return value{}
	}
	return undefined
}

var undefined = value{sort: aWord, text: "undefined"}
