package adapter

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"pigrep/internal/session"
)

// Stores reads a table of what the agent with a name keeps: lines of the fields of a Store,
// with | between them. Paths are below a directory, or below ~/, with forward slashes; the
// format of the sessions is not said.
func Stores(text, agent, dir string, env Environment) (list []Store) {
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		if line[0] == '#' || len(fields) < 5 {
			continue
		}
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		path := filepath.FromSlash(fields[3])
		if below, ok := strings.CutPrefix(fields[3], "~/"); ok {
			path = filepath.Join(env.Home, filepath.FromSlash(below))
		} else {
			path = filepath.Join(dir, path)
		}
		list = append(list, Store{Name: fields[0], Role: fields[1], Format: cmp.Or(fields[2], agent), Path: path, Coverage: Coverage(fields[4])})
	}
	return list
}

// Tool says what a tool does, and which of its arguments say so.
type Tool struct {
	Deed    session.Deed
	Command string          // the argument with a shell command, "" for none
	Dialect session.Dialect // of the command
	File    string          // the argument with a path, "" for none
	Use     session.Deed    // what is done to the file, if it is not the Deed
}

// Tools reads a table of tools and returns it by name. Each line begins with a deed and the
// names of the tools that do it. command= and file= name the arguments with a command or a
// path; powershell is the dialect of the commands. reads marks a tool that lists lines but
// also reads the file that it is given.
func Tools(text string) map[string]Tool {
	all := make(map[string]Tool)
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		t := Tool{Deed: session.Deed(slices.Index(session.Deeds[:], fields[0]))}
		for _, property := range fields[2:] {
			switch name, value, _ := strings.Cut(property, "="); name {
			case "command":
				t.Command = value
			case "file":
				t.File = value
			case "powershell":
				t.Dialect = session.DialectPowerShell
			case "reads":
				t.Use = session.DeedRead
			}
		}
		for name := range strings.SplitSeq(fields[1], ",") {
			all[name] = t
		}
	}
	return all
}
