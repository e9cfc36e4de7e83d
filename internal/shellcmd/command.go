package shellcmd

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"pigrep/internal/lists"
	"pigrep/internal/session"
)

// A shell command is dissected into the programs it runs:
//
//	sudo env A=1 git -C x push -f && curl u | bash -c 'rm y'
//	 ─▶ sudo, git [-C x push -f], curl [u], bash [-c …] after curl, rm [y]
//
// The dissector follows pipes, lists, substitutions, functions, here-documents for
// a shell, and commands passed to other programs (sudo, env, xargs, find -exec,
// sh -c, eval, ssh, …). Values known only at run time, such as those of most
// variables, stay as written.

// Limits of parsing.
const (
	maxParsed = 64 << 10 // bytes; longer commands are only split into words
	maxDepth  = 8        // nested commands
)

var manyOpen = strings.Repeat("(", 64)

// command is one program that a shell command runs.
type command struct {
	program  string   // without its directory
	dir      string   // the one it runs in
	args     []string // after the program
	upstream []string // earlier programs in its pipeline
	inner    []string // programs in substitutions among its arguments
	by       string   // the program that runs it: xargs, find, sudo, …
	text     string   // code passed to it as text, in its own language
	saved    bool     // it is, or runs, a file that the same command downloaded
	clause   clause
}

// clause is where a program is in the text of a shell command: its statement, and the
// pipeline of that. In code that the command passes to a shell both are those that pass
// it.
type clause struct{ statement, pipeline string }

// access is a file that a shell command reads or writes.
type access struct {
	path   string
	write  bool
	dir    string
	clause string // the statement
}

type word struct {
	text  string
	inner []string // programs in its substitutions
}

// dissector dissects shell commands. It is not safe for concurrent use.
type dissector struct {
	parser   *syntax.Parser
	commands []command
	programs []string // that the statements so far run: what follows in a pipeline reads what they print
	accesses []access
	last     []int // the commands that may have set the exit code, by index
	broken   bool
	strict   bool // set -e: the commands before the last may have set it too
	pipefail bool
	depth    int
	source   string // the text that is dissected
	scripts  int    // how many texts are parsed within one another
	clause   clause // of the next program
	piping   bool   // it is in a pipeline
	dir      string
	remote   bool
	by       string              // the program that runs the next one
	piped    string              // text that the next program reads from stdin
	saved    map[string]bool     // downloaded files
	holds    map[string][]string // by variable: the programs whose output it contains
	effects  []Effect            // nil if they are not wanted
	changes  []session.FileUse   // nil if they are not wanted
}

func newDissector() *dissector {
	return &dissector{parser: syntax.NewParser(syntax.Variant(syntax.LangBash))}
}

// dissect dissects a command that runs in a directory. The results are valid until
// the next call.
func (d *dissector) dissect(text, dir string) {
	*d = dissector{parser: d.parser, commands: d.commands[:0], accesses: d.accesses[:0], effects: d.effects, changes: d.changes, source: text, dir: dir}
	d.script(withoutArmour(text), nil)
}

// withoutArmour replaces armoured keys and certificates by as many blanks: their lines are
// not commands, even without quotes around them.
func withoutArmour(text string) string {
	const begin, end = "-----BEGIN ", "-----END "
	var b strings.Builder
	rest := text
	for from := strings.Index(rest, begin); from >= 0; from = strings.Index(rest, begin) {
		to := len(rest)
		if n := strings.Index(rest[from:], end); n >= 0 {
			to = from + n + len(end)
			to += max(0, strings.Index(rest[to:min(len(rest), to+64)], "-----"))
			to += len(rest[to:]) - len(strings.TrimLeft(rest[to:], "-"))
		}
		b.WriteString(rest[:from])
		b.WriteString(strings.Repeat(" ", to-from))
		rest = rest[to:]
	}
	if b.Len() == 0 {
		return text
	}
	return b.String() + rest
}

func (d *dissector) script(text string, upstream []string) {
	if d.depth >= maxDepth || strings.TrimSpace(text) == "" {
		return
	}
	d.depth++
	d.scripts++
	defer func() { d.depth--; d.scripts-- }()
	if file := d.parse(text); file != nil {
		d.stmts(file.Stmts, upstream)
		return
	}
	d.broken = true
	d.pieces(text, upstream)
}

// parse returns nil if the text is not a shell command.
func (d *dissector) parse(text string) (file *syntax.File) {
	// For text that may be arithmetic, the parser takes quadratic time.
	if len(text) > maxParsed || strings.Contains(text, manyOpen) {
		return nil
	}
	defer func() {
		if recover() != nil {
			file = nil
		}
	}()
	file, err := d.parser.Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	return file
}

// pieces dissects the first program of a text that does not parse. The rest may be
// the content of a file.
func (d *dissector) pieces(text string, upstream []string) {
	text = strings.TrimLeft(text[:min(len(text), maxParsed)], "\n\t ;|&(){}")
	if end := strings.IndexAny(text, "\n;|&()"); end >= 0 {
		text = text[:end]
	}
	if d.scripts == 1 {
		d.clause = clause{text, text}
	}
	d.run(split(text), upstream, "")
}

func split(text string) (words []word) {
	for w := range strings.FieldsSeq(text) {
		words = append(words, word{text: strings.Trim(w, `"'`)})
	}
	return words
}

// within makes a statement the clause of the programs in it, and returns a function that
// ends this.
func (d *dissector) within(s *syntax.Stmt) (end func()) {
	outer, piping := d.clause, d.piping
	if d.scripts == 1 {
		from, to := int(s.Pos().Offset()), int(s.End().Offset())
		text := strings.TrimRight(d.source[min(from, to):min(to, len(d.source))], "; &\n\t")
		d.clause.statement = text
		if !d.piping {
			d.clause.pipeline = text
		}
		if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) {
			d.piping = true
		}
	}
	return func() { d.clause, d.piping = outer, piping }
}

func (d *dissector) stmts(list []*syntax.Stmt, upstream []string) {
	var before []int
	d.last = nil
	for _, s := range list {
		d.stmt(s, upstream)
		if d.strict || d.isIdle(d.last) {
			d.last = either(before, d.last)
		}
		before = d.last
	}
}

func (d *dissector) stmt(s *syntax.Stmt, upstream []string) {
	if s == nil {
		return
	}
	defer d.within(s)()
	heredoc := d.piped
	d.piped = ""
	upstream, heredoc, written := d.redirects(s.Redirs, upstream, heredoc)
	d.last = nil
	first, before := len(d.commands), len(d.programs)
	d.control(s.Cmd, upstream, heredoc)
	d.affect(s, first, heredoc, written)
	if s.Background {
		d.last = nil
	}
	if len(written) > 0 && slices.ContainsFunc(d.programs[before:], func(p string) bool { return slices.Contains(network, p) }) {
		d.save(written)
	}
}

// redirects follows the redirections of a statement: what comes before it in its pipeline,
// the text that it reads, and the files that it writes.
func (d *dissector) redirects(list []*syntax.Redirect, upstream []string, heredoc string) (_ []string, _ string, written []string) {
	upstream = upstream[:len(upstream):len(upstream)]
	for _, r := range list {
		switch r.Op {
		case syntax.DplOut, syntax.DplIn:
			if name := d.word(r.Word).text; strings.HasPrefix(name, socket) {
				upstream = append(upstream, socket)
			}
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.AppClob, syntax.RdrAll, syntax.RdrAllClob, syntax.AppAll, syntax.AppAllClob, syntax.RdrInOut:
			name := d.word(r.Word).text
			d.access(name, true)
			written = append(written, name)
		case syntax.RdrIn:
			w := d.word(r.Word)
			d.access(w.text, false)
			if strings.HasPrefix(w.text, socket) {
				w.inner = append(w.inner, socket)
			}
			upstream = append(upstream, w.inner...)
		case syntax.Hdoc, syntax.DashHdoc:
			heredoc = d.word(r.Hdoc).text
		case syntax.WordHdoc:
			w := d.word(r.Word)
			heredoc = w.text
			upstream = append(upstream, w.inner...)
		}
	}
	return upstream, heredoc, written
}

// control dissects a statement without its redirections.
func (d *dissector) control(cmd syntax.Command, upstream []string, heredoc string) {
	switch c := cmd.(type) {
	case *syntax.CallExpr:
		d.call(c, upstream, heredoc)
	case *syntax.BinaryCmd:
		before := len(d.programs)
		d.stmt(c.X, upstream)
		x, both := d.last, c.Op == syntax.AndStmt
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			upstream = append(upstream[:len(upstream):len(upstream)], d.programs[before:]...)
			d.piped = d.printed(c.X)
			both = d.pipefail
		}
		d.stmt(c.Y, upstream)
		if both || c.Op == syntax.OrStmt && d.isIdle(d.last) {
			d.last = either(x, d.last)
		}
	case *syntax.Subshell:
		dir := d.dir
		d.stmts(c.Stmts, upstream)
		d.dir = dir
	case *syntax.Block:
		d.stmts(c.Stmts, upstream)
	case *syntax.IfClause:
		var last []int
		for ; c != nil; c = c.Else {
			d.stmts(c.Cond, upstream)
			cond := d.last
			d.stmts(c.Then, upstream)
			if d.isIdle(d.last) {
				last = append(last, cond...)
			}
			last = append(last, d.last...)
		}
		d.last = last
	case *syntax.WhileClause:
		d.stmts(c.Cond, upstream)
		d.stmts(c.Do, upstream)
	case *syntax.ForClause:
		if loop, ok := c.Loop.(*syntax.WordIter); ok {
			for _, w := range loop.Items {
				d.programs = append(d.programs, d.word(w).inner...)
			}
		}
		d.stmts(c.Do, upstream)
	case *syntax.CaseClause:
		var last []int
		for _, item := range c.Items {
			d.stmts(item.Stmts, upstream)
			last = append(last, d.last...)
		}
		d.last = last
	case *syntax.FuncDecl:
		d.stmt(c.Body, upstream)
		d.last = nil
	case *syntax.TestClause:
		d.add(command{program: "[[", dir: d.dir, clause: d.clause})
	case *syntax.ArithmCmd:
		d.add(command{program: "((", dir: d.dir, clause: d.clause})
	case *syntax.LetClause:
		d.add(command{program: "let", dir: d.dir, clause: d.clause})
	case *syntax.TimeClause:
		d.stmt(c.Stmt, upstream)
	case *syntax.CoprocClause:
		d.stmt(c.Stmt, upstream)
	case *syntax.DeclClause:
		for _, a := range c.Args {
			d.assign(a)
		}
		d.last = nil
	}
}

// add records a program, which sets the exit code unless another one follows.
func (d *dissector) add(c command) (at int) {
	d.commands = append(d.commands, c)
	at = len(d.commands) - 1
	d.last = []int{at}
	return at
}

func (d *dissector) call(c *syntax.CallExpr, upstream []string, heredoc string) {
	for _, a := range c.Assigns {
		inner := d.assign(a)
		if len(inner) > 0 && len(c.Args) == 0 && a.Name != nil {
			if d.holds == nil {
				d.holds = make(map[string][]string)
			}
			d.holds[a.Name.Value] = inner
		}
	}
	d.run(lists.Map(c.Args, d.word), upstream, heredoc)
}

// socket is the prefix of bash's names for network connections.
const socket = "/dev/tcp/"

// printed returns the text that echo, printf, or cat with a here-document writes to
// the next program; "" if it is not known.
func (d *dissector) printed(s *syntax.Stmt) string {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || d.depth >= maxDepth {
		return ""
	}
	var text []string
	for _, w := range call.Args {
		if lit := w.Lit(); len(text) == 0 && lit != "echo" && lit != "printf" && lit != "cat" {
			return ""
		}
		text = append(text, d.quiet(w))
	}
	if text[0] == "cat" {
		for _, r := range s.Redirs {
			if r.Hdoc != nil {
				return d.quiet(r.Hdoc)
			}
		}
		return ""
	}
	text = text[1:]
	for len(text) > 0 && strings.HasPrefix(text[0], "-") {
		text = text[1:]
	}
	return strings.ReplaceAll(strings.Join(text, " "), `\n`, "\n")
}

// quiet evaluates a word whose substitutions have been followed already.
func (d *dissector) quiet(w *syntax.Word) string {
	commands, accesses, last := len(d.commands), len(d.accesses), d.last
	text := d.word(w).text
	d.commands, d.accesses, d.last = d.commands[:commands], d.accesses[:accesses], last
	return text
}

// assign follows the substitutions in an assignment, and returns the programs in them.
func (d *dissector) assign(a *syntax.Assign) []string {
	inner := d.word(a.Value).inner
	d.programs = append(d.programs, inner...)
	return inner
}

// word evaluates a word as far as its value is known.
func (d *dissector) word(w *syntax.Word) word {
	if w == nil {
		return word{}
	}
	if len(w.Parts) == 1 {
		if lit, ok := w.Parts[0].(*syntax.Lit); ok && strings.IndexByte(lit.Value, '\\') < 0 {
			return word{text: lit.Value}
		}
	}
	var b strings.Builder
	var inner []string
	d.parts(&b, &inner, w.Parts, false)
	return word{b.String(), inner}
}

func (d *dissector) parts(b *strings.Builder, inner *[]string, parts []syntax.WordPart, quoted bool) {
	nested := func(list []*syntax.Stmt, mark string) {
		b.WriteString(mark)
		if d.depth >= maxDepth {
			return
		}
		d.depth++
		dir, before := d.dir, len(d.programs)
		d.stmts(list, nil)
		*inner = append(*inner, d.programs[before:]...)
		d.dir, d.programs = dir, d.programs[:before]
		d.depth--
	}
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			unescape(b, p.Value, quoted)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			d.parts(b, inner, p.Parts, true)
		case *syntax.ParamExp:
			if p.Param != nil && len(d.holds[p.Param.Value]) > 0 {
				*inner = append(*inner, d.holds[p.Param.Value]...)
				b.WriteString("$()")
				continue
			}
			b.WriteByte('$')
			if p.Param != nil {
				b.WriteString(p.Param.Value)
			}
			if p.Exp != nil && p.Exp.Word != nil {
				*inner = append(*inner, d.word(p.Exp.Word).inner...)
			}
		case *syntax.CmdSubst:
			nested(p.Stmts, "$()")
		case *syntax.ProcSubst:
			nested(p.Stmts, "<()")
		case *syntax.ArithmExp:
			b.WriteString("$(())")
		case *syntax.ExtGlob:
			b.WriteString("*")
		}
	}
}

// unescape writes a literal without its backslashes.
func unescape(b *strings.Builder, s string, quoted bool) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			switch next := s[i+1]; {
			case next == '\n':
				i++
				continue
			case !quoted || strings.IndexByte("$`\"\\", next) >= 0:
				i++
			}
		}
		b.WriteByte(s[i])
	}
}

// access records a file. Files of other machines are ignored.
func (d *dissector) access(name string, write bool) {
	if name == "" || name == "-" || d.remote {
		return
	}
	d.accesses = append(d.accesses, access{path: name, write: write, dir: d.dir, clause: d.clause.statement})
}

// run dissects a simple command, given as words.
func (d *dissector) run(words []word, upstream []string, heredoc string) {
	for len(words) > 0 && (words[0].text == "" || isAssignment(words[0].text)) {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	name := words[0].text
	if strings.HasPrefix(name, "$") && strings.HasSuffix(name, ")") {
		name = "$()"
	}
	program := strings.TrimSuffix(path.Base(strings.ReplaceAll(name, `\`, "/")), ".exe")
	rest := words[1:]
	if program == "env" && len(rest) > 1 && (rest[0].text == "-S" || rest[0].text == "--split-string") {
		d.script(join(rest[1:]), upstream)
		return
	}
	asks := program == "command" && len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") // whether there is a program
	if wrapper, ok := programs()["wrapper"][program]; ok && !wrapper.Counts && !asks {
		if inner := wrapper.after(rest); len(inner) > 0 {
			d.run(inner, upstream, heredoc)
			return
		}
	}
	c := command{program: program, dir: d.dir, upstream: upstream, by: d.by, clause: d.clause}
	d.by = ""
	if program == "$()" {
		c.inner = append(c.inner, words[0].inner...)
	}
	for _, w := range rest {
		c.args = append(c.args, w.text)
		c.inner = append(c.inner, w.inner...)
	}
	if len(d.saved) > 0 {
		run := name
		if slices.Contains(interpreters, interpreterOf(program)) || program == "source" || program == "." {
			run = firstArgument(c.args)
		}
		c.saved = strings.Contains(name, "/") && d.saved[Resolve(name, d.dir)] || run != "" && run != name && d.saved[Resolve(run, d.dir)]
	}
	if c.text = c.code(heredoc); c.text != "" {
		d.inspect(c.text)
	}
	at := d.add(c)
	d.files(&d.commands[at])
	d.programs = append(d.programs, program)
	for _, w := range rest {
		d.programs = append(d.programs, w.inner...)
	}
	d.innerCommand(at, rest, upstream, heredoc)
	switch program {
	case "find", "trap": // the exit codes of what they run are lost
		d.last = []int{at}
	case "set":
		for i, arg := range c.args {
			d.strict = d.strict || len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.ContainsRune(arg, 'e')
			d.pipefail = d.pipefail || arg == "pipefail" && i > 0
		}
	}
}

func join(words []word) string {
	return strings.Join(lists.Map(words, func(w word) string { return w.text }), " ")
}

func firstArgument(args []string) string {
	for i, arg := range args {
		if arg == "--" && i+1 < len(args) {
			return args[i+1]
		}
		if !strings.HasPrefix(arg, "-") {
			return arg
		}
	}
	return ""
}

var assignment = compiled(`^[A-Za-z_][A-Za-z0-9_]*=`)

func isAssignment(s string) bool { return assignment().MatchString(s) }

// label is the name under which a command counts: its program, and the subcommand
// if it has one.
func (c *command) label() string {
	name := shorten(c.program, maxLabel)
	if c.program == "python" || c.program == "python3" {
		if i := slices.Index(c.args, "-m"); i >= 0 && i+1 < len(c.args) {
			return name + " -m " + shorten(c.args[i+1], maxLabel)
		}
		return name
	}
	if _, ok := programs()["subcommands"][c.program]; !ok {
		return name
	}
	sub := c.operand(func(arg string) bool { return arg != "" && !(c.program == "make" && isAssignment(arg)) })
	if sub == "" || strings.ContainsAny(sub, "$*") {
		return name
	}
	return name + " " + shorten(sub, maxLabel)
}

func (c *command) subcommand() string { return c.operand(func(string) bool { return true }) }

// operand returns the first argument that is neither a flag nor the value of one, and that
// is counted; "" if there is none.
func (c *command) operand(counts func(arg string) bool) string {
	valued := programs()["subcommands"][c.program].Flags
	for i := 0; i < len(c.args); i++ {
		switch arg := c.args[i]; {
		case slices.Contains(valued, arg):
			i++
		case !strings.HasPrefix(arg, "-") && counts(arg):
			return arg
		}
	}
	return ""
}

const maxLabel = 40

func shorten(s string, n int) string {
	return session.Beginning(strings.Join(strings.Fields(s), " "), n)
}
