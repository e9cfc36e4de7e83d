package shellcmd

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"pigrep/internal/lists"
	"pigrep/internal/session"
)

// An Effect is what a shell command does to the text of a file, as far as the command alone
// says it. One of the four forms is set.
type Effect struct {
	Path string // with slashes, absolute if the directory is known

	Text   string // a here-document is written to the file
	Append bool   // to its end

	Patch bool // Text is a diff, which names the files itself if Path is ""

	From string // the file, or directory, that was moved to Path

	Swaps []Swap // made in each line
}

// A Swap replaces one string by another, as an expression of sed without patterns does.
type Swap struct {
	Old, New string
	All      bool // in a line, not only the first one
}

// Effects returns what a shell command that runs in a directory does to the text of files, in
// order. What depends on values that are known only at run time is left out.
func Effects(text, dir string) []Effect {
	d := newDissector()
	d.effects = []Effect{}
	d.dissect(text, dir)
	return d.effects
}

// Changes returns the files that a shell command which runs in a directory edits, writes or deletes, as far
// as the command alone says it: without those in temporary directories, and those that are only known at
// run time.
func Changes(text, dir string) []session.FileUse {
	d := newDissector()
	d.effects, d.changes = []Effect{}, []session.FileUse{}
	d.dissect(text, dir)
	return d.changes
}

// writers are programs whose output is the text of a file, if it goes into one. Of others it is a log.
var writers = []string{"cat", "echo", "printf", "tee", "jq", "sed", "awk", "envsubst", "sort", "base64", "git show", "curl"}

// change adds the files that a program changes.
func (d *dissector) change(c *command, deed session.Deed, names ...string) {
	for _, name := range names {
		full := Resolve(name, c.dir)
		if d.changes == nil || name == "" || strings.ContainsAny(name, "*?$[{") || harmless().MatchString(full) || !isAbsolute(full) {
			continue
		}
		d.changes = append(d.changes, session.FileUse{Path: full, Deed: deed})
	}
}

// affect adds the effects of a statement, given its text to read and the files it writes.
// first is the number of its first program among the commands.
func (d *dissector) affect(s *syntax.Stmt, first int, heredoc string, written []string) {
	if _, ok := s.Cmd.(*syntax.CallExpr); !ok || d.effects == nil || d.remote || first >= len(d.commands) {
		return
	}
	c := &d.commands[len(d.commands)-1] // of those that run one another, the last does it
	resolved := func(name string) string { return Resolve(name, c.dir) }
	plain := plainArguments(c)
	appends := slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool { return r.Op == syntax.AppOut || r.Op == syntax.AppClob }) || c.program == "tee" && slices.Contains(c.args, "-a")
	writes := map[bool]session.Deed{true: session.DeedEdit, false: session.DeedWrite}[appends]
	if slices.Contains(writers, c.label()) {
		d.change(c, writes, written...)
	}
	switch label := c.label(); label {
	case "rm", "unlink":
		d.change(c, session.DeedDelete, plain...)
	case "git rm":
		d.change(c, session.DeedDelete, plain[1:]...)
	case "cp":
		if len(plain) == 2 {
			d.change(c, session.DeedWrite, into(plain[0], plain[1]))
		}
	case "tee":
		d.change(c, writes, plain...)
	case "sed", "perl":
		if slices.ContainsFunc(c.args, func(a string) bool {
			return strings.HasPrefix(a, "-i") || strings.HasPrefix(a, "--in-place") || label == "perl" && strings.HasPrefix(a, "-pi")
		}) {
			d.change(c, session.DeedEdit, editedFiles(c, plain)...)
		}
	}
	switch label := c.label(); {
	case label == "cat" && heredoc != "" && len(plain) == 0 && len(written) > 0:
		d.effects = append(d.effects, Effect{Path: resolved(written[len(written)-1]), Text: heredoc, Append: appends})
	case label == "tee" && heredoc != "":
		for _, name := range plain {
			d.effects = append(d.effects, Effect{Path: resolved(name), Text: heredoc, Append: appends})
		}
	case (label == "git apply" || label == "patch" || label == "apply_patch") && heredoc != "":
		d.effects = append(d.effects, Effect{Text: heredoc, Patch: true})
	case label == "mv" && len(plain) == 2, label == "git mv" && len(plain) == 3:
		from := plain[len(plain)-2]
		to := into(from, plain[len(plain)-1])
		d.effects = append(d.effects, Effect{Path: resolved(to), From: resolved(from)})
		d.change(c, session.DeedDelete, from)
		d.change(c, session.DeedWrite, to)
	case label == "sed":
		d.effects = append(d.effects, swaps(c, plain)...)
	}
}

// into returns where a file is that was copied or moved to a path, which may be a directory.
func into(from, to string) string {
	if strings.HasSuffix(to, "/") || path.Base(to) == "." || path.Base(to) == ".." || path.Ext(from) != "" && path.Ext(to) == "" {
		return path.Join(to, path.Base(strings.TrimRight(slashed(from), "/")))
	}
	return to
}

// nextSwap matches what is between an expression and the next one.
var nextSwap = compiled(`[;\n]\s*s\b`)

// swaps returns the effects of sed if it edits files in place and its expressions swap strings.
func swaps(c *command, args []string) (list []Effect) {
	if !c.has("-i") && !c.has("--in-place") {
		return nil
	}
	scripts := slices.Concat(c.values("-e"), c.values("--expression"))
	if len(scripts) == 0 {
		scripts = args[:min(1, len(args))]
	}
	extended := slices.ContainsFunc([]string{"-E", "-r", "--regexp-extended"}, c.has)
	var all []Swap
	for _, s := range scripts {
		for _, one := range nextSwap().Split(s, -1) {
			if swap, ok := parseSwap("s"+strings.TrimPrefix(strings.TrimSpace(one), "s"), extended); ok {
				all = append(all, swap)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return lists.Map(editedFiles(c, args), func(name string) Effect { return Effect{Path: Resolve(name, c.dir), Swaps: all} })
}

// parseSwap reads s/old/new/flags.
func parseSwap(s string, extended bool) (Swap, bool) {
	if len(s) < 4 {
		return Swap{}, false
	}
	parts := [3]string{}
	n, sep := 0, s[1]
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && s[i+1] == sep:
			i++
			parts[n] += string(sep)
		case c == '\\' && i+1 < len(s):
			parts[n] += s[i : i+2]
			i++
		case c == sep && n < 2:
			n++
		default:
			parts[n] += string(c)
		}
	}
	special := `*[^$`
	if extended {
		special += `+?(){}|`
	}
	from, ok := unescaped(parts[0], special)
	to, ok2 := unescaped(parts[1], "&")
	return Swap{from, to, strings.Contains(parts[2], "g")}, n == 2 && ok && ok2 && from != ""
}

// unescaped returns a text without the backslashes before its punctuation. It reports false if
// a character is special, or an escape stands for more than itself.
func unescaped(s, special string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			i++
			if c = s[i]; c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.IndexByte("+?(){}|<>", c) >= 0 && !strings.ContainsAny(special, "+") {
				return "", false
			}
		} else if strings.IndexByte(special, c) >= 0 {
			return "", false
		}
		b.WriteByte(c)
	}
	return b.String(), true
}
