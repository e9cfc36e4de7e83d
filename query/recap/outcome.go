package recap

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/query/engine/entry"
	"pigrep/query/fix"
)

// once compiles an expression when it is first needed.
func once(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// failureLine matches a line by which a program says that it failed, whatever the exit code of the call was.
var failureLine = once(`(?m)^(?:` + strings.Join([]string{
	`\S*make\S*: \*\*\* .*`, `npm (?i:err!|error)\b.*`, `error(?:\[E\d+\])?: (?:could not compile|aborting due to).*`, `--- FAIL: .*`, `FAIL(?:ED)?(?:[\s:].*)?`,
	`Traceback \(most recent call last\):`, `[\w./-]*sh: (?:line )?\d+: .*(?:command not found|No such file or directory)`, `.*\berror TS\d+: .*`, `panic: .*`, `fatal: .*`, `CONFLICT \(.*`,
	`(?:FAILURE: )?(?:BUILD FAILED|Build failed)\b.*`, `.*\bELIFECYCLE\b.*`, `.*\bSegmentation fault\b.*`, `error: script ".*" exited with code [1-9].*`, `(?i:\W*(?:exit|rc|status|exit[ _](?:code|status)|exited with(?: code)?)[:= ]+)[1-9]\d*`,
	`=+ .*\b[1-9]\d* (?:failed|errors?)\b.*`, `\s*Tests?:?\s.*\b[1-9]\d* failed.*`, `.*\b[1-9]\d* (?:tests?|specs?|examples?|suites?) failed.*`, `\s*[1-9]\d* fail(?:ing|ures?|ed)?`, `test result: FAILED.*`, `Found [1-9]\d* errors?\b.*`, `\W*[1-9]\d* problems? \([1-9]\d* errors?.*`,
}, "|") + `)\s*$`)

// viewers are programs that show what others did elsewhere.
var viewers = []string{"gh run", "docker logs", "podman logs", "docker-compose logs", "kubectl logs", "journalctl", "tmux capture-pane", "history", "jq", "curl", "pigrep", "git reflog", "git blame"}

// readers are commands of PowerShell that only show something.
var readers = []string{"get-childitem", "gci", "dir", "get-content", "gc", "type", "select-string", "test-path", "get-item", "get-command", "resolve-path", "get-location", "select-object"}

// cannotRun is the least exit code of a shell that could not run a program.
const cannotRun = 126

// isProbe reports whether a call that failed only looked for something, which was not there.
func isProbe(c *session.CallFact, action *fix.Action) bool {
	list := blamed(c)
	if !c.Shell || c.Exit == cannotRun || c.Exit == cannotRun+1 || slices.Contains(list, "cd") {
		return false
	}
	if c.Dialect != session.DialectPOSIX {
		return !slices.ContainsFunc(c.Programs, func(p string) bool { return !slices.Contains(readers, strings.ToLower(p)) && !fix.OnlyShows(p) })
	}
	return len(list) > 0 && !slices.ContainsFunc(list, func(p string) bool { return !fix.OnlyShows(p) }) || action.OnlyShows()
}

// blamed returns the programs that may have made a call fail.
func blamed(c *session.CallFact) (list []string) {
	for i, p := range c.Programs[:min(64, len(c.Programs))] {
		if c.Blamed>>i&1 != 0 {
			list = append(list, p)
		}
	}
	return list
}

// An ending says how a call ended, as a reader of its output sees it.
type ending struct {
	failed bool
	says   string // why, if that is known already
}

// ended returns how a call ended. What it printed counts more than its exit code, which a pipe may hide.
func (t *teller) ended(c *session.CallFact, action *fix.Action) (e ending) {
	switch {
	case t.learns:
		e.failed = c.Failed && c.Shell
	case c.Failed && !c.Shell: // one that reads something is a probe
		e.failed = c.Deed.Writes() || c.Deed == session.DeedDelegate || c.Deed == session.DeedOther && len(c.Files) == 0
	case c.Failed || c.Rejected:
		e.failed = c.Rejected || !isProbe(c, action)
		if e.failed && c.Exit == session.Unknown { // perhaps the person interrupted it
			t.read(c.Result, func(_ *session.Entry, p *session.Part) {
				e.failed = e.failed && !(isOutput(p) && interruption().Match(p.Text[bytes.LastIndexByte(bytes.TrimSpace(p.Text), '\n')+1:]))
			})
		}
	case c.Shell && c.Succeeded() && c.Bytes > 0 && acts(c, action):
		t.read(c.Result, func(_ *session.Entry, p *session.Part) {
			text := bytes.TrimSpace(p.Text[max(0, len(p.Text)-longestOutput):])
			m := failureLine().Find(text)
			first, _, _ := bytes.Cut(text, []byte("\n"))
			for _, line := range [][]byte{first, text[bytes.LastIndexByte(text, '\n')+1:]} {
				if m == nil && fix.SaidError(line) != "" {
					m = line
				}
			}
			if m != nil && isOutput(p) {
				e = ending{true, clipped(cmp.Or(fix.SaidError(p.Text), string(bytes.TrimSpace(m))))}
			}
		})
	}
	return e
}

// longestOutput is how many bytes at the end of an output are searched for signs of a failure.
const longestOutput = 16 << 10

func isOutput(p *session.Part) bool {
	return p.Kind == session.KindResult || p.Kind == session.KindShell
}

// acts reports whether a shell command does more than show something.
func acts(c *session.CallFact, action *fix.Action) bool {
	return !action.OnlyShows() && slices.ContainsFunc(c.Programs, func(p string) bool {
		return !fix.OnlyShows(p) && !slices.Contains(viewers, p)
	})
}

// textOf returns what a call does: its command, or its tool with the file.
func textOf(c *session.CallFact) string {
	switch {
	case c.Shell:
		return clipped(c.Line)
	case len(c.Files) > 0:
		return clipped(c.Tool + " " + c.Files[0].Path)
	}
	return clipped(c.Tool + " " + c.Line)
}

// stepsOf returns what calls did between a failure and its end: the files that they changed, and the commands
// that may have changed something else.
func stepsOf(list []session.CallFact, failed *fix.Action) (files, ran []string) {
	for i := range list {
		c := &list[i]
		for _, name := range changedPaths(c) {
			if name = path.Base(session.Slashed(name)); !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
		if !c.Shell || !c.HasResult || !c.Succeeded() {
			continue
		}
		if action := fix.NewAction(c); acts(c, action) && !action.Repeats(failed) && !action.Checks(failed) && len(shellcmd.Changes(c.Line, c.Dir)) == 0 && len(ran) < mostRan {
			ran = append(ran, clipped(c.Line))
		}
	}
	return files, ran
}

// mostRan is how many commands a Pass names.
const mostRan = 3

var (
	commitLine = once(`(?m)^\[[^\]\n]*?\b([0-9a-f]{7,40})\] (.+)$`)
	shortLog   = once(`(?m)^(?:\* )?([0-9a-f]{7,40}) (?:\([^)\n]*\) )?(.+)$`)
	pullLink   = once(`https://[\w.-]+/[\w./-]+/(?:pull|pull-requests|merge_requests)/\d+`)
	mergedPull = once(`(?i)\b(merged|closed|reopened) (?:and deleted )?(?:pull request|merge request) \S*[#!](\d+)`)
	pullCall   = once(`\bpulls/(\d+)/merge\b`)
)

// made adds the commits and pull requests that a call made, as its output or its command says.
func (t *teller) made(c *session.CallFact, action *fix.Action) {
	own := func(programs ...string) bool {
		return slices.ContainsFunc(programs, func(p string) bool { return slices.Contains(c.Programs, p) })
	}
	commits := own("git commit", "git merge", "git cherry-pick", "git revert", "git am", "git rebase")
	pulls := slices.ContainsFunc(c.Programs, func(p string) bool { return strings.HasPrefix(p, "gh pr") || strings.HasPrefix(p, "glab mr") })
	tool := !c.Shell && (strings.Contains(c.Tool, "pull_request") || strings.Contains(c.Tool, "merge_request")) && strings.Contains(c.Tool, "create")
	if !c.Shell && !tool || c.Bytes == 0 && !pulls || c.Shell && !commits && !pulls && !acts(c, action) && !own("gh api") {
		return
	}
	add := func(f Fact) {
		if !slices.ContainsFunc(t.facts, func(g Fact) bool { return g.What == f.What && g.Hash == f.Hash && (f.Hash != "" || g.Text == f.Text) }) {
			t.facts = append(t.facts, f)
		}
	}
	t.read(c.Result, func(_ *session.Entry, p *session.Part) {
		if !isOutput(p) {
			return
		}
		for _, m := range commitLine().FindAllSubmatch(p.Text, -1) {
			f := t.newFact(Commit, c.Result, string(m[2]))
			f.Hash = string(m[1])
			add(f)
		}
		if own("git commit") && own("git log") { // a quiet commit, and then what it is
			for _, m := range shortLog().FindAllSubmatch(p.Text, -1) {
				if f := t.newFact(Commit, c.Result, string(m[2])); strings.Contains(c.Line, f.Text) {
					f.Hash = string(m[1])
					add(f)
				}
			}
		}
		if pulls && c.Succeeded() || tool {
			for _, m := range pullLink().FindAll(p.Text, -1) {
				add(t.newFact(Pull, c.Result, string(m)))
			}
		}
		if m := mergedPull().FindSubmatch(p.Text); m != nil && (pulls || acts(c, action)) {
			add(t.newFact(Pull, c.Result, strings.ToLower(string(m[1]))+" "+t.pullOf(string(m[2]))))
		}
	})
	if !c.Succeeded() {
		return
	}
	if m := pullCall().FindStringSubmatch(c.Line); m != nil && own("gh api") {
		add(t.newFact(Pull, c.Offset, "merged "+t.pullOf(m[1])))
	}
	for _, deed := range [][2]string{{"merge", "merged"}, {"close", "closed"}, {"reopen", "reopened"}} {
		if of, ok := action.OperandsOf([]string{"gh pr", "glab mr"}, deed[0]); ok {
			name := "the pull request of the branch"
			if len(of) > 0 {
				name = t.pullOf(of[0])
			}
			add(t.newFact(Pull, c.Offset, deed[1]+" "+name))
		}
	}
}

// pullOf returns the address of a pull request, if the session has printed it, else its number.
func (t *teller) pullOf(number string) string {
	for _, f := range t.facts {
		if f.What == Pull && strings.HasPrefix(f.Text, "https://") && path.Base(f.Text) == number {
			return f.Text
		}
	}
	if strings.Trim(number, "0123456789") == "" {
		return "#" + number
	}
	return number
}

// planned adds what the last plan of the session has not begun.
func (t *teller) planned(list []session.CallFact) {
	at := -1
	for i := range list {
		if c := &list[i]; c.Deed == session.DeedPlan && c.HasResult && c.Succeeded() && c.Kind == session.CallPlain && (!t.passes.TestsTime() || t.passes.Time(c.Time)) {
			at = i
		}
	}
	wrote := func(c session.CallFact) bool { return len(changed(&c)) > 0 }
	if at < 0 || slices.ContainsFunc(list[at+1:], wrote) { // agents finish without saying so in the plan
		return
	}
	c := &list[at]
	n := t.record.NodeAt(c.Offset)
	if n < 0 {
		return
	}
	node := &t.record.Nodes[n]
	_ = t.entries.View(entry.RefOf(node, t.record.Contexts.At(n)), entry.Identity{ID: node.ID}, func(_ *session.Entry, v *session.View) {
		for i := range v.Blocks {
			call := v.Blocks[i].Call
			if call == nil || call.Deed != session.DeedPlan {
				continue
			}
			for _, a := range call.Arguments {
				var items []struct{ Content, Step, Subject, Title, Status string }
				if json.Unmarshal(a.Value, &items) != nil {
					continue
				}
				for _, item := range items {
					if text := cmp.Or(item.Content, item.Step, item.Subject, item.Title); item.Status == "pending" && text != "" {
						f := t.newFact(Open, c.Offset, clipped(text))
						f.By = "plan"
						t.facts = append(t.facts, f)
					}
				}
			}
		}
	})
}

var (
	offer     = once(`(?i)^\W*(?:\w+, )?(?:if (?:you|that|this|it|needed|useful|helpful)\b|would you|what (?:would you like|next|else)|que veux-tu|do you want|want me to|shall i|should i\b|let me know|(?:i'm )?happy to|i can (?:also|now|next)|next,? i can|feel free|just (?:say|tell|let)|say the word|tell me|ready (?:when|to)|is there anything|anything else|any other)`)
	listItem  = once(`^\s*(?:[-*•]|\d+[.)])\s+(?:\[ \] )?`)
	openTitle = once(`(?i)^[#*\s>]*(?:(?:what(?:'s| is) )?(?:remaining|still open|open (?:items|questions|points|issues|work)|not (?:yet )?done|not (?:yet )?verified|to ?do|left(?: to do)?|outstanding|known (?:issues|limitations|gaps)|follow[- ]?ups?|unresolved|next steps?|pending|blockers?|what(?:'s| is) left|what remains|not (?:covered|included|tested)))\b[^.!?]{0,40}[:*]*\s*$`)
	stillOpen = once(`(?i)\b(?:not (?:yet )?(?:been )?(?:run|tested|committed|pushed|verified|implemented|fixed|done|merged|deployed|staged)\b|still (?:fails?|failing|open|missing|needs?|broken|red)\b|remains? (?:open|unresolved|unfixed|to be)|(?:could not|couldn't|was unable to|were unable to|can't|cannot) (?:be )?(?:run|test|verify|commit|push|complete|reproduce|verified|tested|access|start)|(?:did not|didn't|have not|haven't|has not|hasn't) (?:yet )?(?:run|test|commit|push|verify|implement|fix|merge|deploy|touch)(?:ed|ted)?\b|blocked (?:by|on)\b|waiting (?:for|on) (?:you|your)\b)`)
	question  = once(`(?i)\b(?:you|your|should (?:i|we)|shall (?:i|we)|which|prefer)\b.*\?\W*$`)
)

// mostStatements is how many statements of a reply are quoted.
const mostStatements = 6

// statements adds what the last reply says is open: below a title that says so, in a sentence, or as a question
// that the person has to answer.
func (t *teller) statements() {
	if t.reply == nil {
		return
	}
	n := 0
	add := func(text string) {
		text = clipped(strings.TrimSpace(listItem().ReplaceAllString(text, "")))
		if n < mostStatements && len(strings.Fields(text)) > 1 && !slices.ContainsFunc(t.facts, func(f Fact) bool { return f.What == Open && f.Text == text }) {
			f := t.newFact(Open, t.replied, text)
			f.By = "reply"
			t.facts = append(t.facts, f)
			n++
		}
	}
	under, code := false, false
	for line := range strings.Lines(string(t.reply)) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			code = !code
		case code:
		case openTitle().MatchString(line):
			under = true
		case strings.TrimSpace(line) == "":
		case under && listItem().MatchString(line):
			add(line)
		default:
			under = false
			for _, s := range sentences(listItem().ReplaceAllString(line, "")) {
				if stillOpen().MatchString(s) && !offer().MatchString(s) {
					add(s)
				}
			}
		}
	}
	list := paragraphs(t.reply)
	if last := list[len(list)-1]; !offer().MatchString(last) {
		if all := sentences(last); len(all) > 0 && question().MatchString(all[len(all)-1]) && !offer().MatchString(all[len(all)-1]) {
			add(all[len(all)-1])
		}
	}
}

// sentenceEnd matches the end of a sentence.
var sentenceEnd = once(`[.!?]["')*]*\s+`)

func sentences(text string) (list []string) {
	from := 0
	for _, at := range sentenceEnd().FindAllStringIndex(text, -1) {
		list = append(list, strings.TrimSpace(text[from:at[1]]))
		from = at[1]
	}
	if rest := strings.TrimSpace(text[from:]); rest != "" {
		list = append(list, rest)
	}
	return list
}

func paragraphs(text []byte) []string {
	return strings.Split(strings.ReplaceAll(strings.TrimSpace(string(text)), "\r\n", "\n"), "\n\n")
}

// lastParagraph returns the last paragraph of a reply that is a sentence, and not an offer to do more.
func lastParagraph(text []byte) string {
	list := paragraphs(text)
	says := func(p string) bool { return len(strings.Fields(p)) >= 4 && !strings.HasSuffix(p, "```") }
	last := string(text)
	for i, p := range slices.Backward(list) {
		p = strings.TrimSpace(p)
		title, _, _ := strings.Cut(p, "\n")
		switch offered := offer().MatchString(p) || listItem().MatchString(p) && i > 0 && offer().MatchString(strings.TrimSpace(list[i-1])); {
		case !says(p):
		case !offered && !openTitle().MatchString(title):
			return clipped(p)
		case last == string(text):
			last = p
		}
	}
	return clipped(last)
}
