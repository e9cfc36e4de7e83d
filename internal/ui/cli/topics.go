package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/internal/ui/printer"
	"pigrep/query/audit"
	"pigrep/query/syntax"
	"pigrep/scope"
)

// topic is a help text that belongs to no command. It is made when it is asked
// for, from the tables that the program itself uses.
type topic struct {
	name  string
	short string
	text  func() string
}

var topics = []topic{
	{"query", "the query language", queryTopic},
	{"scopes", "the kinds of text, and the scopes made of them", scopesTopic},
	{"json", "the JSON output, and the columns in a pipe", jsonTopic},
	{"exit-codes", "what the exit code says", exitCodesTopic},
	{"environment", "the variables that are read", environmentTopic},
}

func topicNames() []string {
	names := make([]string, len(topics))
	for i, t := range topics {
		names[i] = t.name
	}
	return names
}

func topicOf(name string) *topic {
	for i := range topics {
		if topics[i].name == name {
			return &topics[i]
		}
	}
	return nil
}

func scopesTopic() string {
	var b strings.Builder
	b.WriteString("Every searchable piece of a session has a kind; --kind names kinds, --scope a\nset of them. ")
	fmt.Fprintf(&b, "The default scope is %s.\n\n", scope.Default)
	fmt.Fprintf(&b, "  %-9s", "kind")
	for _, s := range scope.Scopes {
		fmt.Fprintf(&b, "  %s", s)
	}
	b.WriteString("  from\n")
	for _, r := range scope.Kinds {
		fmt.Fprintf(&b, "  %-9s", r.Kind)
		for _, s := range scope.Scopes {
			mark := ""
			if s.Holds(r.Kind) {
				mark = "x"
			}
			fmt.Fprintf(&b, "  %-*s", len(s), mark)
		}
		left := b.String()[strings.LastIndexByte(b.String(), '\n')+1:] + "  "
		var line strings.Builder
		writeColumns(&line, left, r.From)
		rest := strings.TrimPrefix(line.String(), left)
		b.WriteString("  " + rest)
	}
	return b.String()
}

func queryTopic() string {
	var b strings.Builder
	b.WriteString("The arguments of a query are joined with spaces. Nothing in it is an error: what\nfits no rule is searched as it stands, and a warning says so.\n\n")
	for _, row := range syntax.Forms {
		writeColumns(&b, fmt.Sprintf("  %-19s ", row.Form), row.Meaning)
	}
	b.WriteString("\nFields:\n")
	for _, f := range syntax.Fields {
		writeColumns(&b, fmt.Sprintf("  %-19s ", f.Example), f.Value)
	}
	b.WriteString("\nUpper and lower case are the same, and so are letters with and without accents.\n")
	b.WriteString("A word also matches by its English forms (rename, renaming), as the beginning of\n")
	b.WriteString("a longer one, and, when it is rare, with one or two letters wrong; each looser\n")
	b.WriteString("way ranks lower. Chinese, Japanese and Korean text is found by any piece of it,\nand simplified and traditional characters find each other.\n")
	b.WriteString("\nIn quotes a backslash before a quote is the quote, and two are one; in re: only\nthe quote needs it. AND binds tighter than OR; side by side, each word counts\nand none is required, but a field is.\n")
	return b.String()
}

func exitCodesTopic() string {
	var b strings.Builder
	b.WriteString("All commands end with one of these:\n\n")
	for _, c := range exitCodes {
		writeColumns(&b, fmt.Sprintf("  %-4d", c.Code), c.Meaning)
	}
	b.WriteString("\nMalformed lines in a session file are skipped and counted; alone they never\nmake it 2.\n")
	return b.String()
}

// variables is the table of environment variables, those of agents aside.
var variables = [][2]string{
	{envIndexDir, "where the index is kept; --index-dir goes before it"},
	{envConfig, "the settings file, in place of pigrep/config.toml in the user's directory for settings; " + noSettings + " for none"},
	{"XDG_CONFIG_HOME, HOME", "the user's directory for settings on Linux; on macOS and Windows the system knows"},
	{"XDG_CACHE_HOME, HOME", "where the index is kept when nothing else is said: the user's cache directory"},
	{"NO_COLOR", "no colours, with any value; --color goes before it"},
	{"FORCE_COLOR", "text for people and colours in a pipe too, with any value but 0"},
	{"TERM", "no colours when it is dumb"},
	{envPager + ", PAGER", "what long answers are read with on a terminal, in place of less -RFX; cat for none"},
	{"VISUAL, EDITOR", "what `pigrep tui` opens a session file with, in place of vi"},
	{"XDG_STATE_HOME", "where `pigrep tui` keeps earlier queries, in place of ~/.local/state"},
	{"COLUMNS", "the width to lay text out for, in place of the terminal's"},
}

// agentVariables are the environment variables of all agents.
func agentVariables() []adapter.Variable {
	return adapter.NewRegistry(adapter.Environment{}, agents.All()...).Variables()
}

// agentRows are the rows of these variables; those with one use share a row.
func agentRows() [][2]string {
	var rows [][2]string
	for _, v := range agentVariables() {
		if n := len(rows); n > 0 && rows[n-1][1] == v.Use {
			rows[n-1][0] += ", " + v.Name
			continue
		}
		rows = append(rows, [2]string{v.Name, v.Use})
	}
	return rows
}

func environmentTopic() string {
	var b strings.Builder
	b.WriteString("Flags go before the environment, the environment before the settings file\n(`pigrep config` shows all three) and before pi's own settings.\n\n")
	ours := slices.IndexFunc(variables, func(v [2]string) bool { return v[0] == envConfig }) + 1
	for _, v := range slices.Insert(slices.Clone(variables), ours, agentRows()...) {
		writeColumns(&b, fmt.Sprintf("  %-27s  ", v[0]), v[1])
	}
	return b.String()
}

// sessionFields explains the fields of a session and of an entry whose names do
// not.
var sessionFields = [][2]string{
	{"created, modified", "of a session: its header's time, its latest user or assistant message"},
	{"forks, parentSession", "how many sessions were forked from it; the path of what it was forked from"},
	{"parentPath, depth", "where that is now; how deep it stands below it with --forks"},
	{"hits, hitsAny", "hits with every word, all hits; entryId is the best one's"},
	{"entries", "of show: each with its parts (kind and text), in reading order"},
	{"parent, forkedInto", "of show: the lineage, with the number of entries that are shared"},
	{"argv, dir, shell", "of resume: the command, where to run it, and both as a line for a shell"},
}

// hitFields explains the fields of a hit whose names do not.
var hitFields = [][2]string{
	{"tier", "the loosest way a word matched: exact, parts, forms, prefix, fuzzy"},
	{"missing, elsewhere", "words the hit lacks; those of them that its session has in another part"},
	{"line, offset, length", "where the entry's JSON object is: line from 1, bytes of the file"},
	{"fragment", "text, and spans: the matched bytes of it as [start, end)"},
	{"branch, inContext", "active or abandoned; false for what a compaction or a branch dropped"},
	{"targetId", "of a label: the entry it is on"},
	{"before, after", "with -B, -A or -C: the entries beside the hit, on its branch"},
	{"explain", "with --explain: factors whose product is the score, and what each word is worth"},
	{"copies", "where forks and clones have the same entry"},
	{"resume", "the directory and the command that resume the session"},
}

// auditRows are the types of the rows of audits, and of what they looked at.
var auditRows = []struct {
	name string
	row  any
}{
	{"tool", audit.ToolRow{}}, {"call", audit.CallRow{}}, {"command", audit.CommandRow{}}, {"file", audit.FileRow{}},
	{"touch", audit.TouchRow{}}, {"usage", audit.UsageRow{}}, {"coverage", audit.Coverage{}},
}

// fieldNames lists the fields of a struct in JSON, but for its type.
func fieldNames(v any) (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "type" {
			names = append(names, name)
		}
	}
	return names
}

func jsonTopic() string {
	var b strings.Builder
	b.WriteString(`--json prints one object:

  {"schemaVersion":1,"command":"search","query":"...","scope":"conversations",
   "hits":[{"type":"hit",...}],"sessions":[{"type":"session",...}],
   "total":17,"totalAny":60,"totalIsExact":true,"warnings":[],
   "index":{"generation":12,"files":674,"pendingFiles":0,"pendingBytes":0,
            "skippedLines":0,"complete":true}}

--jsonl prints one object a line, each with a "type"; the last is "summary" and
has what the envelope has besides the lists. "total" counts hits that lack no
word, "totalAny" all. Fields are only ever added; what is not known is absent.
The output depends on the index and the query alone. "didYouMean" is the query
with similar words for those that are nowhere; "removed" says of an empty answer
how many hits there are without each filter ("all": without any).

Fields of a hit that need a word:
`)
	for _, f := range hitFields {
		writeColumns(&b, fmt.Sprintf("  %-21s ", f[0]), f[1])
	}
	b.WriteString("\nFields of sessions, show and resume:\n\n")
	for _, f := range sessionFields {
		writeColumns(&b, fmt.Sprintf("  %-21s ", f[0]), f[1])
	}
	b.WriteString("\nFields of the rows of tools, tools calls, tools commands, tools files (touch:\nwith a path) and usage. Beside the rows are their total and coverage, and with\nusage timeZone and sources:\n\n")
	for _, r := range auditRows {
		writeColumns(&b, fmt.Sprintf("  %-9s ", r.name), strings.Join(fieldNames(r.row), ", "))
	}
	b.WriteString("\nErrors and warnings are one object a line, on stderr:\n\n  {\"error\":{\"code\":\"...\",\"message\":\"...\",\"hint\":\"...\"}}\n  {\"warning\":{\"message\":\"...\",\"hint\":\"...\"}}\n")
	b.WriteString("\nIn a pipe, without either flag, there is one record a line; columns are\nseparated by tabs, tabs and newlines in them are spaces:\n\n")
	for _, c := range printer.Columns() {
		writeColumns(&b, fmt.Sprintf("  %-16s ", c.Command), strings.Join(c.Columns, ", "))
	}
	return b.String()
}
