package adapter

import (
	"bytes"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Places lists the directories that words with spaces between them name, each once:
//
//	$CODEX_HOME             what the variable names, if it is set
//	$CLAUDE_CONFIG_DIR,     the same, of a list with commas
//	$PRIME_DIR/sessions     a directory below it
//	~/.codex                the agent's own choice, by the home directory alone
//	~/$PI_CONFIG_DIR        the directory of this name in the home directory, if the variable is set
func Places(env Environment, words string) (list []Root) {
	add := func(r Root) {
		if i := slices.IndexFunc(list, func(o Root) bool { return o.Path == r.Path }); i >= 0 {
			list[i].Usual = list[i].Usual || r.Usual
			return
		}
		list = append(list, r)
	}
	for _, word := range strings.Fields(words) {
		first, below, _ := strings.Cut(word, "/")
		below = filepath.FromSlash(below)
		variable, isVariable := strings.CutPrefix(first, "$")
		if before, after, ok := strings.Cut(below, "$"); !isVariable && ok {
			name, after, _ := strings.Cut(after, string(filepath.Separator))
			if dir := env.Getenv(name); dir != "" {
				add(Root{Path: filepath.Join(env.Home, before+dir, after), Origin: "$" + name})
			}
			continue
		}
		if !isVariable {
			add(Root{Path: filepath.Join(env.Home, below), Origin: "default", Usual: true})
			continue
		}
		variable, isList := strings.CutSuffix(variable, ",")
		dirs := []string{env.Getenv(variable)}
		if isList {
			dirs = strings.Split(dirs[0], ",")
		}
		for _, dir := range dirs {
			if isList {
				dir = strings.TrimSpace(dir)
			}
			if dir != "" {
				add(Root{Path: filepath.Join(Absolute(dir, env), below), Origin: "$" + variable})
			}
		}
	}
	return list
}

// Dir is where the agent keeps its files, its skills among them: the first of its homes.
func (p *Profile) Dir(env Environment) string { return Places(env, p.Homes)[0].Path }

// Roots implements Agent. Sessions stay where they are when a variable changes, so all homes count.
func (p *Profile) Roots(env Environment) ([]Root, error) {
	list := Places(env, p.Homes)
	for i := range list {
		list[i].Path, list[i].Layout = filepath.Join(list[i].Path, filepath.FromSlash(p.Sessions)), NewLayout("", p.Files)
	}
	return list, nil
}

// Home implements Homed: a directory with a name that only this agent gives it, as far down as names say, is there.
func (p *Profile) Home(has func(name string) bool) Layout {
	l := NewLayout(p.Sessions, p.Files)
	for _, f := range l.(forms) {
		n := len(f.names) - 1
		for n > 0 && strings.ContainsAny(f.names[n-1], "*{") {
			n--
		}
		deep := slices.ContainsFunc(f.names[:n], func(name string) bool { return name == "**" || name[0] == '{' })
		if n > 0 && !deep && has(strings.Join(f.names[:n], "/")+"/") {
			return l
		}
	}
	return nil
}

// NewLayout returns the Layout of the files of these forms, one a line, below a directory:
//
//	*/*.jsonl                    * is any name, or a part of one; alone, of one that is not hidden
//	*/{uuid}/**/agent-*.jsonl    ** is any number of directories; {uuid} is a name that is a UUID
//	session_index.jsonl notes    what such a file is, if it is not a Transcript: notes, loose, database, foreign
func NewLayout(dir, files string) Layout {
	var list forms
	for line := range strings.Lines(files) {
		if words := strings.Fields(line); len(words) > 0 {
			f := form{strings.Split(strings.TrimPrefix(dir+"/"+words[0], "/"), "/"), Transcript}
			if len(words) > 1 {
				f.sort = map[string]Sort{"notes": Notes, "loose": Loose, "database": Database}[words[1]]
			}
			list = append(list, f)
		}
	}
	return list
}

type forms []form

type form struct {
	names []string
	sort  Sort
}

// Enter implements Layout.
func (l forms) Enter(dir []byte) bool {
	for i := range l {
		if matches(l[i].names[:len(l[i].names)-1], dir, true) {
			return true
		}
	}
	return false
}

// File implements Layout.
func (l forms) File(path []byte) Sort {
	for i := range l {
		if matches(l[i].names, path, false) {
			return l[i].sort
		}
	}
	return Foreign
}

// matches reports whether a path has these names or, with above, the first of them.
func matches(names []string, path []byte, above bool) bool {
	switch {
	case len(path) == 0:
		return above || len(names) == 0
	case len(names) == 0:
		return false
	}
	first, rest, _ := bytes.Cut(path, []byte("/"))
	if names[0] == "**" {
		return matches(names[1:], path, above) || matches(names, rest, above)
	}
	return isNamed(first, names[0]) && matches(names[1:], rest, above)
}

func isNamed(name []byte, form string) bool {
	switch star := strings.IndexByte(form, '*'); {
	case form == "*":
		return len(name) > 0 && name[0] != '.'
	case form == "{uuid}":
		return IsUUID(name)
	case star < 0:
		return string(name) == form
	case strings.IndexByte(form[star+1:], '*') >= 0:
		is, _ := path.Match(form, string(name))
		return is
	default:
		end := form[star+1:]
		return len(name) >= star+len(end) && string(name[:star]) == form[:star] && string(name[len(name)-len(end):]) == end
	}
}
