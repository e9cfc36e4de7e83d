package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pigrep/query/blame"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/problem"
)

// What is kept of the lines of all commits, and the longest line that is kept, in bytes.
const (
	mostAdded = 16 << 20
	mostLine  = 64 << 10
)

// git runs the git program in a directory, and has what it prints read. No argument of the user's is
// an option: callers put these after --end-of-options or --, and paths are no patterns.
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

// gitError is an error that git printed.
type gitError struct{ message string }

func (e *gitError) Error() string { return "git: " + e.message }

// gitText returns a short text that git prints.
func gitText(ctx context.Context, a *app.App, dir string, args ...string) (text string, err error) {
	err = git(ctx, a, dir, "", func(r *bufio.Reader) {
		data, _ := io.ReadAll(r)
		text = strings.TrimSpace(string(data))
	}, args...)
	return text, err
}

// commitOf returns the hash of a commit.
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

// commitsBefore returns the latest commits up to one, or those that change a file or directory, with
// the lines that they add.
func commitsBefore(ctx context.Context, a *app.App, dir, hash, path string, most int) (list []blame.Commit, err error) {
	args := []string{"rev-list", "--encoding=UTF-8", "--format=%ct %s", "--max-count=" + strconv.Itoa(most), hash, "--"}
	if path != "" {
		args = append(args, path)
	}
	var hashes strings.Builder
	err = git(ctx, a, dir, "", func(r *bufio.Reader) {
		for line, more := nextLine(r); more; line, more = nextLine(r) {
			if hash, ok := strings.CutPrefix(line, "commit "); ok {
				list = append(list, blame.Commit{Hash: hash})
				hashes.WriteString(hash + "\n")
				line, _ = nextLine(r)
				c := &list[len(list)-1]
				when, subject, _ := strings.Cut(line, " ")
				seconds, _ := strconv.ParseInt(when, 10, 64)
				c.Subject, c.Time = subject, time.Unix(seconds, 0).UTC()
			}
		}
	}, args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	err = git(ctx, a, dir, hashes.String(), func(r *bufio.Reader) { readPatches(r, list) },
		"diff-tree", "--stdin", "--root", "-r", "--patch", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=all", "--src-prefix=a/", "--dst-prefix=b/")
	if e, ok := errors.AsType[*gitError](err); ok {
		a.Warn("git cannot say what some of the commits changed: %s", e.message)
		err = nil
	}
	return list, err
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

// readPatches reads the lines that commits add. How many lines there are in a hunk stands above it,
// so a line may look like anything.
func readPatches(r *bufio.Reader, list []blame.Commit) {
	byHash := make(map[string]*blame.Commit, len(list))
	for i := range list {
		byHash[list[i].Hash] = &list[i]
	}
	var c *blame.Commit
	file, left := "", mostAdded
	for line, more := nextLine(r); more; line, more = nextLine(r) {
		switch {
		case strings.HasPrefix(line, "+++ "):
			file = pathOf(line[len("+++ "):])
		case strings.HasPrefix(line, "@@ "):
			for before, after := hunkSize(line); before+after > 0; {
				if line, more = nextLine(r); !more {
					return
				}
				switch {
				case strings.HasPrefix(line, "-"):
					before--
				case strings.HasPrefix(line, "+"):
					after--
					if left -= len(line); left > 0 && c != nil {
						c.Added[file] = append(c.Added[file], line[1:])
					}
				case strings.HasPrefix(line, " "):
					before, after = before-1, after-1
				}
			}
		case byHash[line] != nil:
			c = byHash[line]
			c.Added = make(map[string][]string)
		}
	}
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

// logged returns the commits that log lists.
func logged(ctx context.Context, a *app.App, name string, most int) ([]blame.Commit, error) {
	dir, path := a.Absolute("."), ""
	if name != "" {
		path = a.Absolute(name)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			dir = path
		} else if parent := filepath.Dir(path); err == nil || isDirectory(parent) {
			dir = parent
		}
	}
	if _, err := gitText(ctx, a, dir, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
		if _, ok := errors.AsType[*gitError](err); ok {
			err = problem.Usagef("", "the repository of %s has no commits yet", dir)
		}
		return nil, err
	}
	list, err := commitsBefore(ctx, a, dir, "HEAD", path, most)
	if e, ok := errors.AsType[*gitError](err); ok {
		return nil, problem.Usagef("", "cannot list the commits of %s: %s", dir, e.message)
	}
	return list, err
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
