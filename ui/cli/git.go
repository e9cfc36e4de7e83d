package cli

import (
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

	"pigrep/internal/human"
	"pigrep/query/blame"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/problem"
)

// mostLog is how much of what git prints is read.
const mostLog = 16 << 20

// git runs the git program in a directory, and returns the beginning of what it prints. No argument
// of the user's is an option: callers put these after --end-of-options or --. What is parsed does
// not depend on the user's settings.
func git(ctx context.Context, a *app.App, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "--no-pager", "--no-optional-locks", "-c", "core.quotePath=false", "-c", "log.showRoot=true", "-c", "log.showSignature=false"}, args...)...)
	cmd.Env = append(a.Environ(), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
	cmd.WaitDelay = time.Second
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if errors.Is(err, exec.ErrNotFound) {
		return "", &problem.Error{Code: problem.CodeUsage, Message: "there is no git program", Hint: "install git, or name the file: pigrep blame FILE"}
	}
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(out, mostLog))
	if len(data) == mostLog {
		_ = cmd.Process.Kill() // the rest is not wanted
		_ = cmd.Wait()
		return string(data), ctx.Err()
	}
	if failed := cmd.Wait(); failed != nil {
		err = failed
	}
	switch message := strings.TrimPrefix(strings.TrimSpace(errs.String()), "fatal: "); {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return string(data), nil
	case strings.Contains(message, "not a git repository"):
		return "", problem.Usagef("run it in a checkout of the repository", "%s is not in a git repository", dir)
	case strings.Contains(message, "does not have any commits"), strings.Contains(message, "'HEAD'"):
		return "", problem.Usagef("", "the repository of %s has no commits yet", dir)
	default:
		return "", &gitError{message}
	}
}

// gitError is an error that git printed.
type gitError struct{ message string }

func (e *gitError) Error() string { return "git: " + e.message }

// commitOf returns the hash of a commit.
func commitOf(ctx context.Context, a *app.App, dir, rev string) (string, error) {
	out, err := git(ctx, a, dir, "rev-parse", "--verify", "--end-of-options", rev+"^{commit}")
	if _, ok := errors.AsType[*gitError](err); ok {
		hint := "give a hash, a branch or a tag; #12 is a pull request"
		if shallow, _ := git(ctx, a, dir, "rev-parse", "--is-shallow-repository"); strings.TrimSpace(shallow) == "true" {
			hint = "this is a shallow clone, which lacks older commits: git fetch --unshallow"
		}
		return "", problem.Usagef(hint, "there is no commit %s", rev)
	}
	return strings.TrimSpace(out), err
}

// logOf returns the latest commits before a commit, or those that change a file or directory.
func logOf(ctx context.Context, a *app.App, dir, hash, path string, most int) ([]blame.Commit, error) {
	args := []string{"log", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/", "--patch", "--unified=0", "--format=%x01%H%x00%ct%x00%s", "--max-count=" + strconv.Itoa(most), hash, "--"}
	if path != "" {
		args = append(args, path)
	}
	out, err := git(ctx, a, dir, args...)
	if err != nil {
		return nil, err
	}
	var list []blame.Commit
	for text := range strings.SplitSeq(out, "\x01") {
		head, patch, _ := strings.Cut(text, "\n")
		fields := strings.SplitN(head, "\x00", 3)
		if len(fields) < 3 || len(fields[0]) < 40 {
			continue
		}
		seconds, _ := strconv.ParseInt(fields[1], 10, 64)
		c := blame.Commit{Hash: fields[0], Time: time.Unix(seconds, 0).UTC(), Subject: fields[2], Added: make(map[string][]string)}
		file, header := "", true
		for line := range strings.SplitSeq(patch, "\n") {
			switch {
			case strings.HasPrefix(line, "diff --git "):
				file, header = "", true
			case header && strings.HasPrefix(line, "+++ "):
				file = strings.TrimPrefix(strings.TrimPrefix(line, "+++ "), "b/")
			case strings.HasPrefix(line, "@@ "):
				header = false
			case !header && file != "" && strings.HasPrefix(line, "+"):
				c.Added[file] = append(c.Added[file], line[1:])
			}
		}
		list = append(list, c)
	}
	return list, nil
}

// logged returns the commits that log lists, and the directory in which git ran.
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
	list, err := logOf(ctx, a, dir, "HEAD", path, most)
	if e, ok := errors.AsType[*gitError](err); ok {
		return nil, problem.Usagef("", "cannot list the commits of %s: %s", human.Path(dir, ""), e.message)
	}
	return list, err
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
