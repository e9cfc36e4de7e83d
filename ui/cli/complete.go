package cli

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/sessions"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/settings"
)

// Completion uses the index as it is: it must be fast, so it reads no session files and
// updates nothing. On any error there are no completions.

// complete returns the values of a flag or an argument that start with a prefix. A tab
// separates a value from its description.
type complete = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective)

// maxCompletions limits the number of values.
const maxCompletions = 50

// titleWidth is the width of a title in a description.
const titleWidth = 60

// completions are the functions that complete flags from the index.
var completions = map[string]func(r *index.Reader, prefix string) []string{
	"role":    func(r *index.Reader, prefix string) []string { return termsOf(r, segment.FieldRole, prefix) },
	"tool":    func(r *index.Reader, prefix string) []string { return termsOf(r, segment.FieldTool, prefix) },
	"model":   modelsOf,
	"project": projectsOf,
	"session": sessionsOf,
}

// addCompletions registers the completion of the shared flags of all commands.
func addCompletions(a *app.App, c *cobra.Command) {
	for _, c := range c.Commands() {
		addCompletions(a, c)
	}
	for _, row := range flags.Table {
		if row.Value == "" || c.Flags().Lookup(row.Name) == nil {
			continue
		}
		// It fails only for an undefined flag.
		_ = c.RegisterFlagCompletionFunc(row.Name, completeFlag(a, row))
	}
}

// describeFlags removes the name of the value from the usage of every flag, because
// shells show the usage as it is.
func describeFlags(c *cobra.Command) {
	for _, c := range c.Commands() {
		describeFlags(c)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if value, usage := pflag.UnquoteUsage(f); strings.HasPrefix(f.Usage, "`") {
				f.Usage = strings.TrimPrefix(usage, value)
			}
		})
	}
}

func completeFlag(a *app.App, row flags.Row) complete {
	values := completions[row.Name]
	switch {
	case values != nil:
		return func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return fromIndex(a, cmd, prefix, values), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		}
	case row.Words != nil && row.Many:
		return completeList(row.Words)
	case row.Words != nil:
		return cobra.FixedCompletions(row.Words, cobra.ShellCompDirectiveNoFileComp)
	case row.Value == "DIR":
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	}
	return cobra.NoFileCompletions
}

// completeList completes the last one of comma-separated values.
func completeList(words []string) complete {
	return func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		before := prefix[:strings.LastIndexByte(prefix, ',')+1]
		var list []string
		for _, w := range words {
			if !slices.Contains(strings.Split(before, ","), w) {
				list = append(list, before+w)
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeSession completes the argument that names a session, also as a path.
func completeSession(a *app.App) complete {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list := fromIndex(a, cmd, prefix, sessionsOf)
		if prefix != "" && strings.HasPrefix(sessions.Last, prefix) {
			list = append(list, sessions.Last+"\tthe latest session; "+sessions.Last+"~1 is the one before it")
		}
		return list, cobra.ShellCompDirectiveDefault | cobra.ShellCompDirectiveKeepOrder
	}
}

// fromIndex lists values from the newest generation of the command's index.
func fromIndex(a *app.App, cmd *cobra.Command, prefix string, list func(*index.Reader, string) []string) []string {
	a.Quiet = true
	if err := settings.Apply(a, cmd, func() *cobra.Command { return newRootCommand(a) }); err != nil {
		return nil
	}
	o := &flags.Shared{}
	if f := cmd.Flags().Lookup("session-dir"); f != nil {
		o.SessionDir = settings.FlagValues(f)
	}
	if f := cmd.Flags().Lookup("index-dir"); f != nil {
		o.IndexDir = f.Value.String()
	}
	p, err := location.Find(o, a)
	if err != nil {
		return nil
	}
	r, err := index.Open(p.IndexDir)
	if err != nil {
		return nil
	}
	defer r.Close()
	values := list(r, prefix)
	return values[:min(len(values), maxCompletions)]
}

// termsOf lists the values of a field, most frequent first.
func termsOf(r *index.Reader, f segment.Field, prefix string) []string {
	counts := make(map[string]int)
	for _, s := range r.Segments() {
		err := s.Terms(f, []byte(prefix), func(term []byte, count int) bool {
			counts[string(term)] += count
			return true
		})
		if err != nil {
			return nil
		}
	}
	return byCount(counts)
}

func byCount(counts map[string]int) []string {
	var values []string
	for v := range counts {
		values = append(values, v)
	}
	slices.SortFunc(values, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	return values
}

// modelsOf lists models by name, or as provider/model if the prefix has a slash.
func modelsOf(r *index.Reader, prefix string) []string {
	counts := make(map[string]int)
	for i := range r.Summaries() {
		for _, m := range r.Summaries()[i].Models {
			if !strings.Contains(prefix, "/") {
				m = m[strings.IndexByte(m, '/')+1:]
			}
			if strings.HasPrefix(m, prefix) {
				counts[m]++
			}
		}
	}
	return byCount(counts)
}

// projectsOf lists projects by the last element of their directory, or by the whole path
// if the prefix has a slash.
func projectsOf(r *index.Reader, prefix string) []string {
	counts := make(map[string]int)
	for i := range r.Summaries() {
		dir := strings.ReplaceAll(r.Summaries()[i].CWD, `\`, "/")
		if !strings.Contains(prefix, "/") {
			dir = path.Base(dir)
		}
		if strings.HasPrefix(dir, prefix) && dir != "." && dir != "/" {
			counts[dir]++
		}
	}
	return byCount(counts)
}

// sessionsOf lists session ids with titles, latest first.
func sessionsOf(r *index.Reader, prefix string) []string {
	var found []*session.Summary
	for i := range r.Summaries() {
		if s := &r.Summaries()[i]; strings.HasPrefix(session.Handle(s.ID, s.Path), prefix) {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b *session.Summary) int {
		return cmp.Or(b.LastMessage.Compare(a.LastMessage), strings.Compare(a.ID, b.ID))
	})
	var values []string
	for _, s := range found {
		values = append(values, session.Handle(s.ID, s.Path)+"\t"+terminal.Clip(human.Title(s.Title()), titleWidth))
	}
	return values
}
