package help

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/internal/terminal"
	"pigrep/query/audit"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/syntax"
	"pigrep/scope"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/pager"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/settings"
	"pigrep/ui/printer"
)

// topic is a help text that is not about a command. It is generated from the tables that
// the program uses.
type topic struct {
	Name  string
	short string
	Text  func() string
}

var Topics = []topic{
	{"query", "the query language", QueryTopic},
	{"scopes", "kinds of text, and scopes", scopesTopic},
	{"json", "JSON output, and columns in a pipe", jsonTopic},
	{"exit-codes", "exit codes", exitCodesTopic},
	{"environment", "environment variables", EnvironmentTopic},
}

func TopicNames() []string {
	names := make([]string, len(Topics))
	for i, t := range Topics {
		names[i] = t.Name
	}
	return names
}

func TopicOf(name string) *topic {
	for i := range Topics {
		if Topics[i].Name == name {
			return &Topics[i]
		}
	}
	return nil
}

func scopesTopic() string {
	var b strings.Builder
	b.WriteString("Every searchable part of a session has a kind; --kind selects kinds, --scope a\nset of kinds. ")
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
		terminal.WriteColumns(&line, left, r.From)
		rest := strings.TrimPrefix(line.String(), left)
		b.WriteString("  " + rest)
	}
	return b.String()
}

func QueryTopic() string {
	var b strings.Builder
	b.WriteString("The arguments of a query are joined with spaces. A query never has syntax\nerrors: text that fits no rule is searched literally, with a warning.\n\n")
	for _, row := range syntax.Forms {
		terminal.WriteColumns(&b, fmt.Sprintf("  %-19s ", row.Form), row.Meaning)
	}
	b.WriteString("\nFields:\n")
	for _, f := range filter.Fields {
		terminal.WriteColumns(&b, fmt.Sprintf("  %-19s ", f.Example), f.Meaning)
	}
	b.WriteString("\nCase and accents are ignored.\n")
	b.WriteString("A word also matches its English forms (rename, renaming), longer words that\n")
	b.WriteString("start with it and, if it is rare, words with one or two typos; looser matches\n")
	b.WriteString("rank lower. Any substring of Chinese, Japanese or Korean text matches, and\nsimplified and traditional characters match each other.\n")
	b.WriteString("\nIn quotes, \\\" is a quote and \\\\ a backslash; in re: only the quote is escaped.\nAND binds tighter than OR. Plain words are optional: each one that matches\nraises the score. Fields must match.\n")
	return b.String()
}

func exitCodesTopic() string {
	var b strings.Builder
	b.WriteString("All commands exit with one of these codes:\n\n")
	for _, c := range problem.ExitCodes {
		terminal.WriteColumns(&b, fmt.Sprintf("  %-4d", c.Code), c.Meaning)
	}
	b.WriteString("\nMalformed lines in a session file are skipped and counted; they alone never\ncause exit code 2.\n")
	return b.String()
}

// variables are the environment variables of pigrep; agentRows has those of agents.
var variables = [][2]string{
	{location.EnvIndexDir, "where the index is kept; --index-dir overrides it"},
	{settings.EnvConfig, "the settings file, instead of pigrep/config.toml in the user's configuration directory; " + settings.NoSettings + " for none"},
	{"XDG_CONFIG_HOME, HOME", "the user's configuration directory on Linux; macOS and Windows have their own"},
	{"XDG_CACHE_HOME, HOME", "the user's cache directory, where the index is kept by default"},
	{"NO_COLOR", "no colours, with any value; --color overrides it"},
	{"FORCE_COLOR", "text for people, with colours, in a pipe too, with any value but 0"},
	{"TERM", "dumb: no colours, no pager, no TUI"},
	{"FORCE_HYPERLINK", "the terminal takes hyperlinks, with any value but 0, or does not take them, with 0"},
	{strings.Join(terminal.LinkVariables, ", "), "which terminal it is, to know whether it takes hyperlinks"},
	{pager.Env + ", PAGER", "the pager for long output on a terminal, instead of less; cat for none"},
	{"VISUAL, EDITOR", "the editor with which `pigrep tui` opens session files, instead of vi"},
	{"XDG_STATE_HOME", "where `pigrep tui` keeps the query history, instead of ~/.local/state"},
	{"COLUMNS", "the width of the output, instead of the terminal's"},
}

// AgentVariables are the environment variables of all agents.
func AgentVariables() []adapter.Variable {
	return adapter.NewRegistry(adapter.Environment{}, agents.All()...).Variables()
}

// agentRows returns the rows of these variables; variables with the same use share one.
func agentRows() [][2]string {
	var rows [][2]string
	for _, v := range AgentVariables() {
		if n := len(rows); n > 0 && rows[n-1][1] == v.Use {
			rows[n-1][0] += ", " + v.Name
			continue
		}
		rows = append(rows, [2]string{v.Name, v.Use})
	}
	return rows
}

func EnvironmentTopic() string {
	var b strings.Builder
	b.WriteString("Flags override the environment; the environment overrides the settings file\n(`pigrep config` shows all three) and pi's own settings.\n\n")
	ours := slices.IndexFunc(variables, func(v [2]string) bool { return v[0] == settings.EnvConfig }) + 1
	for _, v := range slices.Insert(slices.Clone(variables), ours, agentRows()...) {
		names := v[0]
		if len(names) > variableWidth {
			terminal.WriteColumns(&b, "  ", names)
			names = ""
		}
		terminal.WriteColumns(&b, fmt.Sprintf("  %-*s  ", variableWidth, names), v[1])
	}
	return b.String()
}

// variableWidth is the width of the names of environment variables; longer lists of them
// have lines of their own.
const variableWidth = 27

// sessionFields are the fields of sessions and entries whose names need explanation.
var sessionFields = [][2]string{
	{"created, modified", "of a session: time of its header, of its latest user or assistant message"},
	{"forks, parentSession", "number of forks; path of the session it was forked from"},
	{"parentPath, depth", "where the parent is now; with --forks, the depth below it"},
	{"hits, hitsAny", "hits with all words, all hits; entryId is that of the best hit"},
	{"terms, shares", "of similar: the words that sessions are compared by, the greatest weight first; those of them that a session has. score is from 0 to 1"},
	{"entries", "of show: entries with their parts (kind and text), in reading order"},
	{"parent, forkedInto", "of show: parent and forks, with the number of shared entries"},
	{"argv, dir, shell", "of resume: command, directory, and both as a shell command line"},
}

// grepFields are the fields of the matches of grep whose names need explanation, and of
// its answer.
var grepFields = [][2]string{
	{"lineNumber", "line within the part, from 1; lineOffset is its byte offset"},
	{"text, spans", "the line, and the matched byte ranges in it"},
	{"textOffset", "with --max-columns, of a cut line: where text begins in it"},
	{"textLength", "of a cut line: bytes of the whole line"},
	{"total", "of the answer: matching lines; limited is true if there are more than --limit, and files were left out of the counts"},
}

// fixFields are the fields of the sessions of fix whose names need explanation.
var fixFields = [][2]string{
	{"outcome", "fixed: the call that failed, or one like it, succeeded; gone: the error was not seen again; unfixed: nothing succeeded after it"},
	{"closeness", "1 for the same text with the same numbers, paths and names"},
	{"error, reply", "the last occurrence, and the model's closing reply: their entries, with the text"},
	{"occurrences, later", "occurrences until then, and after the fix on the same branch"},
	{"calls", "after the last occurrence: tool, text (first line of the command, path, or arguments), status (ok, error, none); again marks those that do the same as the one that failed"},
}

// hitFields are the fields of hits whose names need explanation.
var hitFields = [][2]string{
	{"tier", "the loosest way a word matched: exact, parts, forms, prefix, fuzzy"},
	{"missing, elsewhere", "words missing from the hit; those found elsewhere in its session"},
	{"parts", "missing identifiers, paths and other compounds of which the hit has all parts"},
	{"line, offset, length", "position of the entry's JSON object: line (from 1), byte offset and length"},
	{"fragment", "text and spans: matched byte ranges as [start, end)"},
	{"branch, inContext", "active or abandoned; false if a compaction or a branch dropped it"},
	{"alike, alikeAtLeast", "hits of the session that say the same, numbers, ids and times aside, and are not shown (--flat and --per-session 0 show all); true if there may be more"},
	{"images", "type and size in bytes of each image of the entry"},
	{"targetId", "of a label: the labelled entry"},
	{"before, after", "with -B, -A or -C: entries around the hit, on its branch"},
	{"explain", "with --explain: the factors of the score, and the weight of each word"},
	{"copies", "the same entry in forks and clones"},
	{"resume", "directory and command that resume the session"},
}

// AuditRows are the types of the rows of audits, and of their coverage.
var AuditRows = []struct {
	Name string
	Row  any
}{
	{"tool", audit.ToolRow{}}, {"call", audit.CallRow{}}, {"command", audit.CommandRow{}}, {"file", audit.FileRow{}},
	{"touch", audit.TouchRow{}}, {"usage", audit.UsageRow{}}, {"coverage", audit.Coverage{}},
}

// FieldNames lists the JSON fields of a struct except type.
func FieldNames(v any) (names []string) {
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

--jsonl prints one object per line, each with a "type"; the last one is
"summary" and has the remaining fields of the envelope. "total" counts hits with
all words, "totalAny" all hits; "minor" of them have only words that say little,
or some parts of a word, and are left out. Fields are only ever added; a field
of unknown value is omitted. The output depends only on the index and the query.
"didYouMean" is the query with similar words in place of those not found. If no
hit has all words, "words" has the hits and sessions that a search for each of
them alone would have, and "removed" says how many hits there would be without
each filter ("all": without any filter).

Fields of a hit:
`)
	for _, f := range hitFields {
		terminal.WriteColumns(&b, fmt.Sprintf("  %-21s ", f[0]), f[1])
	}
	b.WriteString("\nFields of sessions, similar, show and resume:\n\n")
	for _, f := range sessionFields {
		terminal.WriteColumns(&b, fmt.Sprintf("  %-21s ", f[0]), f[1])
	}
	b.WriteString("\nFields of grep:\n\n")
	for _, f := range grepFields {
		terminal.WriteColumns(&b, fmt.Sprintf("  %-21s ", f[0]), f[1])
	}
	b.WriteString("\nFields of the sessions of fix (type fix):\n\n")
	for _, f := range fixFields {
		terminal.WriteColumns(&b, fmt.Sprintf("  %-21s ", f[0]), f[1])
	}
	b.WriteString("\nFields of rows of tools, tools calls, tools commands, tools files (with a path:\ntouch) and usage. Answers also have total and coverage, those of usage timeZone\nand sources:\n\n")
	for _, r := range AuditRows {
		terminal.WriteColumns(&b, fmt.Sprintf("  %-9s ", r.Name), strings.Join(FieldNames(r.Row), ", "))
	}
	b.WriteString("\nErrors and warnings are one object per line on stderr:\n\n  {\"error\":{\"code\":\"...\",\"message\":\"...\",\"hint\":\"...\"}}\n  {\"warning\":{\"message\":\"...\",\"hint\":\"...\"}}\n\nWith --progress, so is the progress of an update of the index that takes longer\nthan a moment; first is true if there is no index yet:\n\n  {\"progress\":{\"files\":674,\"bytes\":1000000,\"bytesTotal\":5000000,\n               \"secondsLeft\":4,\"first\":true}}\n")
	b.WriteString("\nIn a pipe, without either flag, each line is a record with columns separated by\ntabs; tabs and newlines in values are spaces:\n\n")
	for _, c := range printer.Columns() {
		terminal.WriteColumns(&b, fmt.Sprintf("  %-16s ", c.Command), strings.Join(c.Columns, ", "))
	}
	return b.String()
}
