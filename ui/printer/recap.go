package printer

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/internal/terminal"
	"pigrep/query/recap"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/ui/prose"
)

// Recap is what was done in sessions.
type Recap struct {
	Response *recap.Response
	All      bool // every fact has a line of its own
}

func (a *Recap) JSON(j *JSON) {
	r := a.Response
	j.Stream(&Stream{
		Command: "recap", Name: "sessions", Rows: rowsIn(r.Sessions, nil),
		end: struct {
			Total    int     `json:"total"`
			Files    int     `json:"files"`
			Cost     float64 `json:"cost"`
			Estimate string  `json:"estimate,omitempty"`
			search.About
		}{r.Total, r.Files, r.Cost, r.Estimate, listedAbout(r.About)},
	})
}

// recapRow is a fact and its session.
type recapRow struct {
	*recap.Session
	*recap.Fact
}

func (r *recapRow) place(layout Layout) string {
	id, file := r.Session.SessionID, r.Session.SessionPath
	if r.Fact.SessionPath != "" {
		id, file = r.Fact.SessionID, r.Fact.SessionPath
	}
	return layout.place(id, file, r.Entry(), r.Offset)
}

func (a *Recap) Sheet(layout Layout) table {
	type row = recapRow
	var rows []row
	for i := range a.Response.Sessions {
		s := &a.Response.Sessions[i]
		for _, what := range recap.Kinds {
			facts := factsOf(s, what)
			shown := min(len(facts), mostFacts)
			if a.All || shown+1 == len(facts) {
				shown = len(facts)
			}
			for _, f := range facts[:shown] {
				rows = append(rows, row{s, f})
			}
			if more := len(facts) - shown; more > 0 {
				rows = append(rows, row{s, &recap.Fact{What: what, Text: human.Number(more) + " more", Error: "--all"}})
			}
		}
	}
	return &sheet[row]{rows: listed(rows), columns: []sheetColumn[row]{
		recordColumn("place", func(r *row) string { return r.place(layout) }),
		recordColumn("what", func(r *row) string { return string(r.What) }),
		recordColumn("text", func(r *row) string { return r.Text }),
		recordColumn("details", func(r *row) string {
			return factDetails(r.Fact, func(p *recap.Pass) string {
				return layout.place(r.Session.SessionID, r.Session.SessionPath, p.Entry(), p.Offset)
			})
		}),
		recordColumn("timestamp (UTC)", func(r *row) string { return stampUTC(r.Timestamp.Time) }),
		recordColumn("session path", func(r *row) string { return r.Session.SessionPath }),
		fieldColumn("id", func(r *row) string { return layout.name(r.Session.SessionID, r.Session.SessionPath) }),
		fieldColumn("title", func(r *row) string { return r.Title }),
		fieldColumn("times", func(r *row) string { return strconv.Itoa(r.Times) }),
		fieldColumn("cwd", func(r *row) string { return r.CWD }),
	}}
}

// factDetails returns what a fact says beside its text.
func factDetails(f *recap.Fact, place func(*recap.Pass) string) string {
	switch f.What {
	case recap.Changed:
		often := func(n int, what string) string {
			return human.When(n > 0, what+human.When(n > 1, fmt.Sprintf(" %d×", n)))
		}
		return human.Joined(", ", often(f.Edits, "edited"), often(f.Writes, "written"), often(f.Deletes, "deleted"))
	case recap.Failed:
		if f.Times == 0 { // it stands for others
			return f.Error
		}
		return timesFailed(f) + " → " + human.Joined(" ", outcome(f, place), afterChanges(f))
	case recap.Commit:
		return f.Hash
	}
	return f.Error
}

// timesFailed returns how a command failed, and how often if it did more than once.
func timesFailed(f *recap.Fact) string {
	return human.When(f.Times > 1, fmt.Sprintf("%d times; ", f.Times)) + f.Error
}

// outcome says whether a command that failed passed later.
func outcome(f *recap.Fact, place func(*recap.Pass) string) string {
	if f.Passed == nil {
		return "never passed"
	}
	return "passed " + place(f.Passed)
}

// afterChanges says what was changed before a command passed.
func afterChanges(f *recap.Fact) string {
	if f.Passed == nil {
		return ""
	}
	files := strings.Join(f.Passed.Changed[:min(3, len(f.Passed.Changed))], ", ")
	ran := strings.Join(lists.Map(f.Passed.Ran, func(line string) string { return terminal.ClipWords(line, mostCommand) }), ", ")
	return human.When(files+ran != "", "after "+human.Joined(" and ", human.When(files != "", "changes in "+files), ran))
}

// FactText returns a fact on a line, with paths relative to a directory.
func FactText(f *recap.Fact, dir string, place func(*recap.Pass) string) string {
	text := relativeTo(f.Text, dir)
	switch details := factDetails(f, place); {
	case f.What == recap.Commit:
		return details + " " + text
	case f.What == recap.Failed:
		return human.Joined(" · ", outcome(f, place), terminal.ClipWords(text, mostCommand), afterChanges(f), timesFailed(f))
	case f.What == recap.Open && f.By == "":
		return "no reply to " + strconv.Quote(text)
	case f.What == recap.Open:
		return text + human.When(f.By == "plan", " · planned")
	case f.What == recap.Aborted && strings.HasPrefix(details, "aborted"):
		return text
	case details != "":
		return text + " · " + details
	}
	return text
}

const (
	factWidth   = 8  // of the column with what a fact is
	fewFacts    = 3  // of each kind that have a line of their own on a terminal
	mostFacts   = 50 // and those in a pipe
	mostCommand = 60 // cells of a command that failed
)

// Text writes the sessions: one with a line for each fact, several with a line for each kind unless all
// are asked for.
func (a *Recap) Text(t *Text) {
	r := a.Response
	if len(r.Sessions) == 0 {
		return
	}
	head := human.Plural(r.Total, "session", "sessions")
	if len(r.Sessions) < r.Total {
		head = fmt.Sprintf("the latest %d of %s (more: -n)", len(r.Sessions), head)
	}
	cost := human.When(r.Cost > 0 && len(r.Sessions) > 1, human.When(r.Estimate != "", "~")+human.Cents.Text(r.Cost))
	t.Print(t.Folded(human.Joined(" · ", head, human.Plural(r.Files, "file changed", "files changed"), cost, r.Estimate), t.Width))
	hidden := false
	for i := range r.Sessions {
		s := &r.Sessions[i]
		t.Print("\n")
		t.Print(t.Style(TitleStyle, strings.Join(onTwoLines(human.Title(s.Title), t.Width), "\n")), "\n")
		t.origin(s.CWD, t.Badge(s.Host, s.Agent, s.Kept), t.Ago(s.Modified.Time), human.Plural(s.Prompts, "turn", "turns"), s.CostText(), t.sessionID(s.SessionID, s.SessionPath))
		if len(r.Sessions) > 1 && !a.All {
			for _, b := range Briefly(s) {
				t.fact(b.Label, b.Text)
			}
			continue
		}
		for _, what := range recap.Kinds {
			// What passed later stands behind what did not.
			facts := factsOf(s, what)
			passed := slices.DeleteFunc(slices.Clone(facts), func(f *recap.Fact) bool { return f.Passed == nil })
			hidden = a.printFacts(t, s, append(neverPassed(facts), passed...)) || hidden
		}
	}
	latest := &r.Sessions[0]
	id := onHost(latest.Host) + shellcmd.Here.Operand(t.name(latest.SessionID, latest.SessionPath))
	hints := []string{fmt.Sprintf("facts of the latest: pigrep recap %s · its text: pigrep show %[1]s", id)}
	if at := slices.IndexFunc(latest.Facts, func(f recap.Fact) bool { return f.SessionPath == "" }); at >= 0 && (a.All || len(r.Sessions) == 1) {
		f := &latest.Facts[at]
		hints = []string{"to read an entry: pigrep show " + onHost(latest.Host) + shellcmd.Here.Operand(t.place(latest.SessionID, latest.SessionPath, f.Entry(), f.Offset))}
		if hidden {
			hints = append(hints, "all facts: pigrep recap --all "+id)
		}
	}
	t.Print("\n")
	for _, hint := range hints {
		t.Print(t.Dim(terminal.Clip(terminal.Clean(hint), t.Width)), "\n")
	}
}

// fact writes a line of a session below a label.
func (t *Text) fact(label, text string) {
	label = "  " + terminal.Pad(label, factWidth) + " "
	t.Print(t.Dim(label), terminal.Clip(terminal.Clean(text), t.Width-len(label)), "\n")
}

// printFacts writes the facts of a kind, each with its entry. It reports whether it left some out.
func (a *Recap) printFacts(t *Text, s *recap.Session, facts []*recap.Fact) (hidden bool) {
	for i, f := range facts {
		label := human.When(i == 0, string(f.What))
		if i == fewFacts && len(facts) > fewFacts+1 && !a.All {
			t.fact(label, human.Number(len(facts)-i)+" more")
			return true
		}
		text := FactText(f, s.CWD, func(p *recap.Pass) string { return shownEntry(p.Entry(), p.Offset) })
		t.fact(label, shownEntry(f.Entry(), f.Offset)+"  "+text)
	}
	return false
}

// shownEntry returns the name of an entry in a session, shortened as in lists of hits.
func shownEntry(id string, offset int64) string {
	return terminal.Clean(sessions.EntryName(id, offset))
}

// A Brief is what a session has of a kind of facts.
type Brief struct {
	Label, Text string
	Entry       string // of the last one; "" if it has no id, or is a subagent's
}

// Briefly returns the facts of a session with their numbers, and the names of the first.
func Briefly(s *recap.Session) (list []Brief) {
	add := func(label, text string, facts []*recap.Fact) {
		if len(facts) == 0 {
			return
		}
		b := Brief{Label: label, Text: text}
		if last := facts[len(facts)-1]; last.SessionPath == "" {
			b.Entry = last.EntryID
		}
		list = append(list, b)
	}
	names := func(what recap.What, name func(*recap.Fact) string) {
		facts := factsOf(s, what)
		add(string(what), fmt.Sprintf("%d: %s", len(facts), strings.Join(lists.Map(facts, name), ", ")), facts)
	}
	names(recap.Changed, func(f *recap.Fact) string { return path.Base(session.Slashed(f.Text)) })
	failed := factsOf(s, recap.Failed)
	add(string(recap.Failed), briefFailures(failed, s.CWD), failed)
	names(recap.Commit, func(f *recap.Fact) string { return f.Hash + " " + f.Text })
	names(recap.Pull, func(f *recap.Fact) string { return f.Text })
	aborted, open := factsOf(s, recap.Aborted), factsOf(s, recap.Open)
	prompts := slices.DeleteFunc(slices.Clone(open), func(f *recap.Fact) bool { return f.By != "" })
	unanswered := human.Some(len(prompts), "prompt without a reply", "prompts without a reply")
	if unanswered != "" {
		unanswered += ": " + strconv.Quote(prompts[len(prompts)-1].Text)
	}
	said := slices.DeleteFunc(slices.Clone(open), func(f *recap.Fact) bool { return f.By == "" })
	add(string(recap.Open), human.Joined(" · ", human.Some(len(aborted), "turn aborted", "turns aborted"), unanswered,
		strings.Join(lists.Map(said, func(f *recap.Fact) string { return f.Text }), " · ")), append(aborted, open...))
	if ends := factsOf(s, recap.Closing); len(ends) > 0 {
		add(string(recap.Closing), ends[0].Text, ends[:1])
	}
	return list
}

// briefFailures counts commands that failed, and names those that never passed, if there are any.
func briefFailures(failed []*recap.Fact, dir string) string {
	named := neverPassed(failed)
	head := strconv.Itoa(len(failed))
	switch passed := len(failed) - len(named); {
	case len(named) == 0:
		head, named = head+" passed later", failed
	case passed > 0:
		head += fmt.Sprintf(", %d passed later; never", passed)
	}
	return head + ": " + strings.Join(lists.Map(named, func(f *recap.Fact) string { return terminal.ClipWords(relativeTo(f.Text, dir), mostCommand/2) }), ", ")
}

func neverPassed(facts []*recap.Fact) []*recap.Fact {
	return slices.DeleteFunc(slices.Clone(facts), func(f *recap.Fact) bool { return f.Passed != nil })
}

func factsOf(s *recap.Session, what recap.What) (list []*recap.Fact) {
	for i := range s.Facts {
		if s.Facts[i].What == what {
			list = append(list, &s.Facts[i])
		}
	}
	return list
}

// Lessons are errors that came back, and what repaired them.
type Lessons struct {
	Response *recap.Lessons
	Markdown bool // as a list of Markdown, wherever there is no JSON
}

func (a *Lessons) JSON(j *JSON) {
	r := a.Response
	j.Stream(&Stream{
		Command: "recap", Name: "lessons", Rows: rowsIn(r.Lessons, nil),
		end: struct {
			Total int `json:"total"`
			search.About
		}{r.Total, listedAbout(r.About)},
	})
}

// lessonRow is a session that is evidence of a lesson.
type lessonRow struct {
	*recap.Lesson
	*recap.Evidence
}

func (a *Lessons) Sheet(layout Layout) table {
	type row = lessonRow
	var rows []row
	for i := range a.Response.Lessons {
		l := &a.Response.Lessons[i]
		for k := range l.Evidence {
			rows = append(rows, row{l, &l.Evidence[k]})
		}
	}
	place := func(r *row, p *recap.Pass) string {
		return layout.place(r.SessionID, r.SessionPath, p.Entry(), p.Offset)
	}
	return &sheet[row]{rows: listed(rows), columns: []sheetColumn[row]{
		recordColumn("place", func(r *row) string { return place(r, &r.Failed) }),
		recordColumn("sessions", func(r *row) string { return strconv.Itoa(r.Sessions) }),
		recordColumn("error", func(r *row) string { return r.Evidence.Error }),
		recordColumn("by", func(r *row) string { return string(r.By) }),
		recordColumn("repair", func(r *row) string { return r.Evidence.Repair.Text }),
		recordColumn("place of the repair", func(r *row) string { return place(r, &r.Evidence.Repair) }),
		recordColumn("timestamp (UTC)", func(r *row) string { return stampUTC(r.Timestamp.Time) }),
		recordColumn("session path", func(r *row) string { return r.SessionPath }),
		fieldColumn("cwd", func(r *row) string { return r.CWD }),
	}}
}

func (a *Lessons) Plain(p *Text) {
	if !a.Markdown {
		p.records(a.Sheet(p.Layout))
		return
	}
	for i := range a.Response.Lessons {
		l := &a.Response.Lessons[i]
		seen := lists.Map(evidence(l, p.Layout), prose.CodeSpan)
		p.Print(fmt.Sprintf("- %s failed: %s. It passed after %s, in %s: %s\n",
			prose.CodeSpan(terminal.Clean(l.Evidence[0].Failed.Text)), prose.CodeSpan(terminal.Clean(l.Error)), repairText(l, prose.CodeSpan),
			human.Plural(l.Sessions, "session", "sessions"), strings.Join(seen, ", ")))
	}
}

// repairText returns a repair with its command or file in the form of a code.
func repairText(l *recap.Lesson, code func(string) string) string {
	return human.When(l.By == recap.ByFile, "a change in ") + code(terminal.Clean(l.Repair))
}

// evidence lists the entries of the calls that failed.
func evidence(l *recap.Lesson, layout Layout) (list []string) {
	for i := range l.Evidence {
		e := &l.Evidence[i]
		list = append(list, terminal.Clean(layout.place(e.SessionID, e.SessionPath, e.Failed.Entry(), e.Failed.Offset)))
	}
	return list
}

// Text writes each lesson with its evidence.
func (a *Lessons) Text(t *Text) {
	for i := range a.Response.Lessons {
		l := &a.Response.Lessons[i]
		t.Print(human.When(i > 0, "\n"))
		t.Print(t.Style(TitleStyle, terminal.Clip(terminal.Clean(l.Error), t.Width)), "\n")
		t.fact("failed", l.Evidence[0].Failed.Text)
		t.fact("repair", repairText(l, func(s string) string { return s }))
		t.fact("seen", fmt.Sprintf("%s: %s", human.Plural(l.Sessions, "session", "sessions"), strings.Join(evidence(l, t.Layout), " ")))
	}
}
