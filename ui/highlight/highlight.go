// Package highlight finds comments, keywords, strings and other tokens in source code.
// It does not deal with colours: the terminal and exported pages have their own.
//
// The lexers come from chroma, for the languages of coding sessions. They are read when the first
// code is highlighted, and compiled language by language: importing chroma's own registry, which
// reads all 280 of them, would add 7 ms to every start.
package highlight

import (
	"embed"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alecthomas/chroma/v2"
)

// Class is what a token is.
type Class uint8

// The classes. Their names are also the names of CSS classes.
const (
	Plain Class = iota
	Comment
	Keyword
	Type     // a class, or a type that is built in
	Function // the name of a function where it is defined or called, a decorator, a built-in
	Name     // the name of a key, an attribute, a variable of a shell
	Tag      // of markup
	String
	Number // and other constants
	Heading
	Inserted
	Deleted
)

var classNames = [...]string{"", "comment", "keyword", "type", "function", "name", "tag", "string", "number", "heading", "inserted", "deleted"}

// String returns the name of the class; "" for Plain.
func (c Class) String() string { return classNames[c] }

// Run is a piece of source code of one class.
type Run struct {
	Text  string
	Class Class
}

// Bounds on highlighting. Source code comes from session files, and hostile text can
// keep a lexer busy for a very long time. Anything beyond the bounds is plain.
const (
	maxSource = 32 << 10 // bytes
	maxLine   = 2 << 10  // bytes of the longest line
)

// MaxTime bounds how long Code works on a source. It is a variable for tests, whose output must not
// depend on how busy the machine is.
var MaxTime = 200 * time.Millisecond

// Code returns the runs of source code. Their texts add up to the source. The language
// is a name, a short name such as "ts", or the name of a file; code of an unknown one is
// a single plain run.
func Code(source, language string) []Run {
	if source == "" {
		return nil
	}
	lexer := lexerOf(language)
	if lexer == nil {
		return []Run{{source, Plain}}
	}
	head := beginning(source)
	tokens, err := lexer.Tokenise(nil, head)
	if err != nil || head == "" {
		return []Run{{source, Plain}}
	}
	var runs []Run
	at := 0
	add := func(n int, c Class) {
		if k := len(runs) - 1; k >= 0 && runs[k].Class == c {
			runs[k].Text = source[at-len(runs[k].Text) : at+n]
		} else if n > 0 {
			runs = append(runs, Run{source[at : at+n], c})
		}
		at += n
	}
	var late atomic.Bool
	defer time.AfterFunc(MaxTime, func() { late.Store(true) }).Stop()
	for t := tokens(); t != chroma.EOF; t = tokens() {
		// Lexers change line endings and invalid bytes.
		if !strings.HasPrefix(head[at:], t.Value) || late.Load() {
			break
		}
		add(len(t.Value), classOf(t.Type))
	}
	add(len(source)-at, Plain)
	return runs
}

// beginning returns the lines of source code that are highlighted.
func beginning(source string) string {
	end := 0
	for line := range strings.Lines(source) {
		if len(line) > maxLine || end+len(line) > maxSource {
			break
		}
		end += len(line)
	}
	return source[:end]
}

// Known reports whether code in a language, or in a file of this name, is highlighted.
func Known(language string) bool { return lexerOf(language) != nil }

//go:embed lexers/*.xml
var files embed.FS

var registry = sync.OnceValue(func() *chroma.LexerRegistry {
	r := chroma.NewLexerRegistry()
	list, err := files.ReadDir("lexers")
	if err != nil {
		panic(err)
	}
	for _, f := range list {
		r.Register(chroma.MustNewXMLLexer(files, "lexers/"+f.Name()))
	}
	return r
})

// lexerOf returns the lexer of a language or file; nil if there is none.
func lexerOf(language string) chroma.Lexer {
	if language == "" || len(language) > maxName || strings.ContainsAny(language, "*?[") {
		return nil
	}
	name := language[strings.LastIndexAny(language, `/\`)+1:] // lexers match base names
	found.Lock()
	defer found.Unlock()
	lexer, ok := found.byName[name]
	if !ok {
		if len(found.byName) >= maxKnown {
			clear(found.byName)
		}
		lexer = registry().Get(name)
		found.byName[name] = lexer
	}
	return lexer
}

// found caches lexers by name. A lookup compares the name with the patterns of all
// lexers, which takes as long as highlighting a page of code.
var found = struct {
	sync.Mutex
	byName map[string]chroma.Lexer
}{byName: make(map[string]chroma.Lexer)}

// maxKnown is the number of names in found.
const maxKnown = 1000

// maxName is the length in bytes of the longest name of a language or file.
const maxName = 256

// classes has the tokens that are not plain, and the groups of tokens.
var classes = map[chroma.TokenType]Class{
	chroma.Comment: Comment, chroma.LiteralString: String, chroma.LiteralDate: String, chroma.LiteralNumber: Number,
	chroma.Keyword: Keyword, chroma.OperatorWord: Keyword, chroma.KeywordConstant: Number, chroma.KeywordType: Type,
	chroma.NameVariable: Name, chroma.NameAttribute: Name, chroma.NameProperty: Name, chroma.NameKeyword: Name, chroma.NameEntity: Name,
	chroma.NameTag: Tag, chroma.NameConstant: Number, chroma.NameClass: Type, chroma.NameException: Type,
	chroma.NameDecorator: Function, chroma.NameFunction: Function, chroma.NameFunctionMagic: Function, chroma.NameBuiltin: Function,
	chroma.NameBuiltinPseudo: Plain,
	chroma.GenericHeading:    Heading, chroma.GenericSubheading: Heading, chroma.GenericInserted: Inserted, chroma.GenericDeleted: Deleted,
}

func classOf(t chroma.TokenType) Class {
	for _, kind := range []chroma.TokenType{t, t.SubCategory(), t.Category()} {
		if class, ok := classes[kind]; ok {
			return class
		}
	}
	return Plain
}
