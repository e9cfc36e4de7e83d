package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"pigrep/internal/files"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/query/blame"
	"pigrep/query/engine/filter"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/pager"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

// blameOptions lack some filters: blame looks at calls that write.
type blameOptions struct {
	flags.Shared `takes:"filters files answer output from on wait reveal format -scope -kind -role -tool -model -error -branch"`
	pager.Options
	Vimgrep bool
}

func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return problem.Usagef("name a file, and lines if only these matter: pigrep blame main.go:10-20", "blame takes one file, not %d", len(args))
	}
	return nil
}

func completeFile(*app.App) complete {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}
}

func runBlame(ctx context.Context, a *app.App, o *blameOptions, args []string) error {
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return err
	}
	name, req, err := readLines(a, args[0])
	if err != nil {
		return err
	}
	if o.Vimgrep && q.Out.Format == printer.FormatText {
		q.Out.Format = printer.FormatPlain
	}
	req.Spec, req.Env, req.Redact, req.Resume = q.Request.Spec, q.Request.Env, o.Redact, q.ResumeCommand
	res, x, err := asking.Answer(ctx, q, "looked for the lines", nil, func(ctx context.Context, x *snapshot.Snapshot) (*blame.Response, error) {
		return x.Answers().Blame(ctx, *req)
	})
	if err != nil {
		return err
	}
	defer x.Close()

	x.Report(&res.Index, res.Warnings)
	o.Mask(res)
	x.Know(&q.Out.Layout)
	if err := pager.ShowIfLong(a, &o.Options, q.Out, &printer.Blame{Response: res, Name: name, All: req.From > 0, Vim: o.Vimgrep}); err != nil {
		return err
	}
	return asking.Finish(x, res.Written > 0, 0, func() {
		a.Explain("", "no session wrote a line of %s, as far as %s say", name, human.Plural(res.Index.Files, "session file", "session files"))
	})
}

// lineSuffix matches the lines after the name of a file, as people and editors write them.
var lineSuffix = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+?):(\d+)(?:[-,](\d+)|:\d+)?:?$`)
})

const mostFile = 16 << 20

// readLines reads a file that is named with or without lines, and returns its name and what to ask.
func readLines(a *app.App, arg string) (name string, req *blame.Request, err error) {
	req = &blame.Request{}
	name = arg
	if _, err := os.Stat(a.Absolute(arg)); err != nil {
		if m := lineSuffix().FindStringSubmatch(arg); m != nil {
			name = m[1]
			req.From, _ = strconv.Atoi(m[2])
			req.To = req.From
			if m[3] != "" {
				req.To, _ = strconv.Atoi(m[3])
			}
		}
	}
	path := a.Absolute(name)
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target // which is what sessions write
		}
	}
	text, err := readText(path, name, &req.Modified)
	if err != nil {
		return "", nil, err
	}
	req.Lines = strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	if n := len(req.Lines); req.From != 0 || name != arg {
		switch {
		case req.From < 1 || req.From > n:
			return "", nil, problem.Usagef("", "%s has %s, and no line %d", name, human.Plural(n, "line", "lines"), req.From)
		case req.To < req.From:
			return "", nil, problem.Usagef("", "the lines %d-%d are in the wrong order", req.From, req.To)
		}
		req.To = min(req.To, n)
	}
	req.Path = filepath.ToSlash(path)
	if root := repositoryOf(path); root != "" {
		if rel, err := filepath.Rel(root, path); err == nil {
			req.Relative = filepath.ToSlash(rel)
		}
	}
	return name, req, nil
}

func readText(path, name string, modified *time.Time) (string, error) {
	f, err := files.OpenNow(path) // a pipe would wait for a writer
	if errors.Is(err, fs.ErrNotExist) {
		return "", problem.Usagef("blame asks about lines as they are now; pigrep tools files NAME lists who changed a file that is gone", "there is no file %s", name)
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	if err != nil {
		return "", problem.Usagef("", "cannot read %s: %v", name, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		if *modified = info.ModTime(); !info.Mode().IsRegular() {
			hint := "blame asks about the lines of a text"
			if info.IsDir() {
				hint = "name one file in it"
			}
			return "", problem.Usagef(hint, "%s is not a file", name)
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot read %s: %w", name, err)
	case len(data) > mostFile:
		return "", problem.Usagef("blame asks about the lines of a text that somebody wrote", "%s is larger than %s", name, human.Bytes(mostFile))
	case len(data) == 0:
		return "", problem.Usagef("blame asks about the lines of a text", "%s is empty", name)
	case bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0:
		return "", problem.Usagef("blame asks about the lines of a text", "%s is not a text", name)
	}
	return string(data), nil
}

// repositoryOf returns the directory of the checkout that has a file, "" if there is none.
func repositoryOf(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

type logOptions struct {
	flags.Shared `takes:"filters files answer output from on wait reveal format -scope -kind -role -tool -model -error -branch"`
	pager.Options
	Limit  flags.Number
	commit bool
}

func (o *logOptions) AddFlags(cmd *cobra.Command) {
	flags.AddHidden(cmd.Flags(), "commit", "", "the argument is a commit", &o.commit)
}

var pullRequest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:#|pull/|pr/)(\d+)$`) })

// defaultCommits is how many commits log lists; it reads what each of them changed.
const defaultCommits = 20

func runLog(ctx context.Context, a *app.App, o *logOptions, args []string) error {
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return err
	}
	name, dir := strings.Join(args, ""), a.Absolute(".")
	if o.commit && name == "" {
		return problem.Usagef("name a commit: pigrep log HEAD", "commit takes one commit, not 0")
	}
	pull := pullRequest().FindStringSubmatch(name)
	_, pathErr := os.Lstat(a.Absolute(name))
	var hash string
	if name != "" && pull == nil && (o.commit || pathErr != nil) {
		if hash, err = commitOf(ctx, a, dir, name); err != nil && o.commit {
			return err
		}
	}
	var req blame.CommitRequest
	switch {
	case pull != nil && (o.commit || pathErr != nil):
		req.Pull = pull[1]
	case hash != "":
		if req.Commits, err = commitsBefore(ctx, a, dir, hash, "", 1); err != nil {
			return err
		}
	default:
		most := defaultCommits
		if o.Limit.Given {
			most = cmp.Or(o.Limit.N, math.MaxInt32-1) // 0 is no limit
		}
		dir, list, err := logged(ctx, a, name, most+1)
		if err != nil {
			return err
		}
		return askCommits(ctx, a, q, o, "log", dir, blame.CommitRequest{Commits: list[:min(len(list), most)]}, len(list) > most)
	}
	return askCommits(ctx, a, q, o, "commit", dir, req, false)
}

func askCommits(ctx context.Context, a *app.App, q *asking.Command, o *logOptions, command, dir string, req blame.CommitRequest, more bool) error {
	req.Spec, req.Env, req.Redact, req.Resume = q.Request.Spec, q.Request.Env, o.Redact, q.ResumeCommand
	res, x, err := asking.Answer(ctx, q, "looked for the commits", nil, func(ctx context.Context, x *snapshot.Snapshot) (*blame.CommitResponse, error) {
		return compareCommits(ctx, a, dir, req, func(req blame.CommitRequest) (*blame.CommitResponse, error) { return x.Answers().Commits(ctx, req) })
	})
	if err != nil {
		return err
	}
	defer x.Close()

	res.Warnings = append(res.Warnings, res.Uncompared()...)
	x.State.Complete = x.State.Complete && len(res.Unread) == 0
	x.Report(&res.Index, res.Warnings)
	o.Mask(res)
	x.Know(&q.Out.Layout)
	if err := pager.ShowIfLong(a, &o.Options, q.Out, &printer.Commits{Response: res, Command: command, More: more}); err != nil {
		return err
	}
	if len(res.Unread) > 0 { // a warning says so
		return asking.Outcome(res.Found > 0, false)
	}
	return asking.Finish(x, res.Found > 0, 0, func() {
		if len(res.Rows) == 0 {
			a.Explain("", "no commit changed it")
			return
		}
		a.Explain("", "no session made %s (%s searched)", map[bool]string{true: "this commit", false: "these commits"}[len(res.Rows) == 1], human.Plural(res.Index.Files, "session file", "session files"))
	})
}

// commitsAtOnce is how many commits are compared at once, at most.
const commitsAtOnce = 200

// compareCommits asks which sessions made commits, with the lines that they add. It keeps the lines of some
// commits at a time; those that did not fit are compared next.
func compareCommits(ctx context.Context, a *app.App, dir string, req blame.CommitRequest, ask func(blame.CommitRequest) (*blame.CommitResponse, error)) (*blame.CommitResponse, error) {
	if len(req.Commits) == 0 {
		return ask(req)
	}
	all := &blame.CommitResponse{Rows: make([]blame.CommitRow, len(req.Commits))}
	left := make([]int, len(req.Commits))
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		now := left[:min(len(left), commitsAtOnce)]
		list := lists.Map(now, func(i int) blame.Commit { return req.Commits[i] })
		broken, err := addPatches(ctx, a, dir, list)
		if err != nil {
			return nil, err
		}
		some := req
		some.Commits = nil
		var asked, again []int
		for k, c := range list {
			if c.Unread && c.Added == nil && !broken {
				again = append(again, now[k])
				continue
			}
			asked, some.Commits = append(asked, now[k]), append(some.Commits, c)
		}
		res, err := ask(some)
		if err != nil {
			return nil, err
		}
		for k, i := range asked {
			all.Rows[i] = res.Rows[k]
		}
		all.Found, all.Unread, all.About.Index = all.Found+res.Found, append(all.Unread, res.Unread...), res.About.Index
		for _, w := range res.Warnings {
			if !slices.Contains(all.Warnings, w) {
				all.Warnings = append(all.Warnings, w)
			}
		}
		left = append(again, left[len(now):]...)
	}
	return all, nil
}

// Limits in bytes: of the lines of a commit, of the lines that are compared at once, and of a line.
const (
	mostAdded    = 16 << 20
	mostAddedAll = 48 << 20
	mostLine     = 64 << 10
)

// git runs the git program in a directory, and passes its output to a function. No argument of the user is
// an option: callers put these after --end-of-options or --, and paths are not patterns.
//
// The repository may be anybody's. Only plumbing is run, which ignores most settings and none of
// which starts a program here: no hook, pager, filter, signature check or monitor, and no transport,
// so that a partial clone fetches nothing.
func git(ctx context.Context, a *app.App, dir string, in string, read func(*bufio.Reader), args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "--no-pager", "--no-optional-locks", "--literal-pathspecs", "-c", "core.fsmonitor=false"}, args...)...)
	cmd.Env = append(a.Environ(), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",
		"GIT_GLOB_PATHSPECS=0", "GIT_NOGLOB_PATHSPECS=0", "GIT_ICASE_PATHSPECS=0")
	cmd.WaitDelay = time.Second
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(in), &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if errors.Is(err, exec.ErrNotFound) {
		return &problem.Error{Code: problem.CodeUsage, Message: "there is no git program", Hint: "install git, or name the file: pigrep blame FILE"}
	}
	if err != nil {
		return err
	}
	read(bufio.NewReaderSize(out, mostLine))
	err = cmd.Wait()
	_, message, _ := strings.Cut("\n"+errs.String(), "\nfatal: ")
	message, _, _ = strings.Cut(message, "\n")
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		return nil
	case strings.Contains(message, "not a git repository"):
		return problem.Usagef("run it in a checkout of the repository", "%s is not in a git repository", dir)
	case strings.Contains(message, "dubious ownership"):
		return problem.Usagef("`git status` there says how to trust it", "git does not trust the repository of %s: it belongs to somebody else", dir)
	case message == "":
		return &gitError{err.Error()}
	default:
		return &gitError{message}
	}
}

type gitError struct{ message string }

func (e *gitError) Error() string { return "git: " + e.message }

func gitText(ctx context.Context, a *app.App, dir string, args ...string) (text string, err error) {
	err = git(ctx, a, dir, "", func(r *bufio.Reader) {
		data, _ := io.ReadAll(r)
		text = strings.TrimSpace(string(data))
	}, args...)
	return text, err
}

func commitOf(ctx context.Context, a *app.App, dir, rev string) (string, error) {
	hash, err := gitText(ctx, a, dir, "rev-parse", "--verify", "--end-of-options", rev+"^{commit}")
	if _, ok := errors.AsType[*gitError](err); ok {
		hint := "give a hash, a branch or a tag; #12 is a pull request"
		if shallow, _ := gitText(ctx, a, dir, "rev-parse", "--is-shallow-repository"); shallow == "true" {
			hint = "this is a shallow clone, which lacks older commits: git fetch --unshallow"
		}
		return "", problem.Usagef(hint, "there is no commit %s", rev)
	}
	return hash, err
}

// commitsBefore returns the latest commits up to one, or those that change a file or directory.
func commitsBefore(ctx context.Context, a *app.App, dir, hash, path string, most int) (list []blame.Commit, err error) {
	args := []string{"rev-list", "--encoding=UTF-8", "--format=%ct %s", "--max-count=" + strconv.Itoa(most), hash, "--"}
	if path != "" {
		args = append(args, path)
	}
	err = git(ctx, a, dir, "", func(r *bufio.Reader) {
		for line, more := nextLine(r); more; line, more = nextLine(r) {
			if hash, ok := strings.CutPrefix(line, "commit "); ok {
				line, _ = nextLine(r)
				when, subject, _ := strings.Cut(line, " ")
				seconds, _ := strconv.ParseInt(when, 10, 64)
				list = append(list, blame.Commit{Hash: hash, Subject: subject, Time: time.Unix(seconds, 0).UTC()})
			}
		}
	}, args...)
	return list, err
}

// addPatches adds to commits the lines that they add. broken says that git could not read all of them.
func addPatches(ctx context.Context, a *app.App, dir string, list []blame.Commit) (broken bool, err error) {
	var hashes strings.Builder
	for i := range list {
		hashes.WriteString(list[i].Hash + "\n")
	}
	var last *blame.Commit
	err = git(ctx, a, dir, hashes.String(), func(r *bufio.Reader) { last = readPatches(r, list, mostAdded, mostAddedAll) },
		"diff-tree", "--stdin", "--root", "-r", "--patch", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=all", "--src-prefix=a/", "--dst-prefix=b/")
	e, broken := errors.AsType[*gitError](err)
	if !broken {
		return false, err
	}
	a.Warn("git cannot say what some of the commits changed: %s", e.message)
	for i := len(list) - 1; i >= 0; i-- {
		list[i].Unread = true
		if &list[i] == last {
			break
		}
	}
	return true, nil
}

// nextLine returns a line without its end. Of one that is too long, it returns the beginning.
func nextLine(r *bufio.Reader) (line string, more bool) {
	data, err := r.ReadSlice('\n')
	line = strings.TrimSuffix(string(data), "\n")
	more = len(data) > 0
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	return line, more
}

// readPatches reads the lines that commits add, and returns the last commit that it came to. The number
// of lines of a hunk stands above it, so a line may look like anything. readPatches keeps at most the
// first most bytes of a commit. After mostAll bytes in all, it keeps nothing of further commits.
func readPatches(r *bufio.Reader, list []blame.Commit, most, mostAll int) (last *blame.Commit) {
	byHash := make(map[string]*blame.Commit, len(list))
	for i := range list {
		byHash[list[i].Hash] = &list[i]
	}
	file, size, all := "", 0, 0
	add := func(text string) {
		if last == nil || last.Unread {
			return
		}
		size += len(text)
		if all += len(text); size > most || all > mostAll {
			last.Unread = true
		}
		if all > mostAll { // which is known of every commit only if it is asked for alone
			last.Added = nil
		} else if !last.Unread {
			last.Added[file] = append(last.Added[file], text)
		}
	}
	for line, more := nextLine(r); more; line, more = nextLine(r) {
		switch {
		case strings.HasPrefix(line, "+++ "):
			file = pathOf(line[len("+++ "):])
		case strings.HasPrefix(line, "@@ "):
			for before, after := hunkSize(line); before+after > 0; {
				if line, more = nextLine(r); !more {
					return last
				}
				switch {
				case strings.HasPrefix(line, "-"):
					before--
				case strings.HasPrefix(line, "+"):
					after--
					add(line[1:])
				case strings.HasPrefix(line, " "):
					before, after = before-1, after-1
				}
			}
		case byHash[line] != nil:
			last, size = byHash[line], 0
			last.Added = make(map[string][]string)
		}
	}
	return last
}

// hunkSize returns how many lines a hunk has on both sides: "@@ -1,2 +3 @@" has 2 and 1.
func hunkSize(line string) (before, after int) {
	size := func(part string) int {
		_, n, ok := strings.Cut(part, ",")
		if !ok {
			return 1
		}
		size, _ := strconv.Atoi(n)
		return max(size, 0)
	}
	if fields := strings.Fields(line); len(fields) > 2 {
		return size(fields[1]), size(fields[2])
	}
	return 0, 0
}

// pathOf returns the path that a patch names: quoted as in C if it has special characters, and with
// a tab behind it if it has a space.
func pathOf(text string) string {
	text = strings.TrimSuffix(text, "\t")
	if quoted, err := strconv.Unquote(text); err == nil {
		text = quoted
	}
	return strings.TrimPrefix(text, "b/")
}

// logged returns the latest commits of the working directory, or those that change a path, and where git runs.
func logged(ctx context.Context, a *app.App, name string, most int) (string, []blame.Commit, error) {
	dir, path := a.Absolute("."), ""
	if name != "" {
		path = a.Absolute(name)
		for _, near := range []string{filepath.Dir(path), path} {
			if info, err := os.Stat(near); err == nil && info.IsDir() {
				dir = near
			}
		}
	}
	if _, err := gitText(ctx, a, dir, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
		if _, ok := errors.AsType[*gitError](err); ok {
			err = problem.Usagef("", "the repository of %s has no commits yet", dir)
		}
		return dir, nil, err
	}
	list, err := commitsBefore(ctx, a, dir, "HEAD", path, most)
	if e, ok := errors.AsType[*gitError](err); ok {
		return dir, nil, problem.Usagef("", "cannot list the commits of %s: %s", dir, e.message)
	}
	return dir, list, err
}

// noneBelow says that no session was started in a directory or below it, if so.
func noneBelow(ctx context.Context, x *snapshot.Snapshot, o *flags.Shared, dir string) []string {
	list := slices.DeleteFunc(slices.Clone(x.Reader.Summaries()), func(s session.Summary) bool { return !s.IsSession() })
	if dir == "" || len(list) == 0 || hasBelow(list, dir) {
		return nil
	}
	return append([]string{fmt.Sprintf("no session was started in %s or below it; %s %s", dir,
		human.Plural(len(list), "session", "sessions"), o.Without("cwd"))}, otherCheckout(ctx, x, dir)...)
}

// hasBelow reports whether a session was started in a directory or below it.
func hasBelow(list []session.Summary, dir string) bool {
	below := (&filter.Spec{CWD: dir}).Compile()
	return slices.ContainsFunc(list, func(s session.Summary) bool { return below.Session(&s) })
}

// otherCheckout says where the sessions that made the latest commits of a directory were started, if none
// was started in it or below it: in a clone, a worktree, or an earlier place of the repository.
func otherCheckout(ctx context.Context, x *snapshot.Snapshot, dir string) []string {
	if hasBelow(x.Reader.Summaries(), dir) {
		return nil
	}
	dir, list, err := logged(ctx, x.App, dir, defaultCommits)
	if err != nil || len(list) == 0 {
		return nil
	}
	made, err := compareCommits(ctx, x.App, dir, blame.CommitRequest{Commits: list}, func(req blame.CommitRequest) (*blame.CommitResponse, error) {
		return blame.Commits(ctx, x.Reader, x.Agents, x.Source(), req)
	})
	if err != nil {
		return nil
	}
	by, best := make(map[string]int), ""
	for _, row := range made.Rows {
		if row.Origin == nil || row.CWD == "" {
			continue
		}
		if by[row.CWD]++; by[row.CWD] > by[best] || by[row.CWD] == by[best] && row.CWD < best {
			best = row.CWD
		}
	}
	if best == "" {
		return nil
	}
	return []string{fmt.Sprintf("%d of the latest %s here are by sessions of another checkout of the repository: --cwd %s", by[best], human.Plural(len(list), "commit", "commits"), shellcmd.Here.Quote(best))}
}
