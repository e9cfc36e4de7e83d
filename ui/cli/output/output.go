// Package output finds and writes the files that the user names, and overwrites nothing else.
package output

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"pigrep/internal/content"
	"pigrep/internal/files"
	"pigrep/internal/session"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/problem"
)

// Open opens a file that was written, for --open.
func Open(a *app.App, path string) error {
	if err := a.Open(path); err != nil {
		return &problem.Error{Code: problem.CodeIO, Message: "cannot open " + path, Err: err, Hint: "the file is complete: open it in a browser or viewer"}
	}
	return nil
}

// Write writes to an output. Errors of write are returned as they are.
func Write(ctx context.Context, out *files.Output, write func(io.Writer) error) error {
	var answered error
	err := out.Write(ctx, 0o600, func(f io.Writer) error {
		w := bufio.NewWriterSize(f, 1<<20)
		if answered = write(w); answered != nil {
			return answered
		}
		return w.Flush()
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case answered != nil:
		return answered
	}
	return Problem(err)
}

func Problem(err error) error {
	p := &problem.Error{Code: problem.CodeIO, Message: "cannot write the file", Err: err}
	if errors.Is(err, fs.ErrNotExist) {
		p.Hint = "create the directory first, or name another file"
	}
	return p
}

// Find finds what a path of the user's leads to, and fails if it must not be written.
// Session files are never overwritten, not even with --force.
func Find(path string, force bool) (*files.Output, error) {
	out, err := files.FindOutput(path)
	if err != nil {
		return nil, Problem(err)
	}
	isSession := slices.ContainsFunc([]string{path, out.Path}, func(name string) bool {
		return strings.EqualFold(filepath.Ext(content.Logical(name)), session.Extension)
	})
	switch {
	case out.Kind == files.Directory:
		return nil, problem.Usagef("name a file in it", "%s is a directory", path)
	case out.Kind == files.Socket:
		return nil, problem.Usagef("choose another name", "%s is a socket", path)
	case out.Kind == files.File && isSession:
		return nil, problem.Usagef("choose another name", "%s exists and may be a session; it is not overwritten", path)
	case (out.Kind == files.File || out.Kind == files.Disk) && !force:
		return nil, problem.Usagef("choose another name, or use --force", "%s already exists", path)
	}
	out.Overwrite = force
	return out, nil
}

// FindPlain is like Find for a name that the user did not choose: only a file that is
// no link is overwritten.
func FindPlain(path string, force bool) (*files.Output, error) {
	out, err := Find(path, force)
	if err == nil && (out.Linked || !isFile(out)) {
		err = notOverwritten(path, "is not a regular file")
	}
	return out, err
}

// FindOwn is like FindPlain for a directory where others may put files.
func FindOwn(path string, force bool) (*files.Output, error) {
	out, err := FindPlain(path, force)
	if err == nil && out.Foreign {
		err = notOverwritten(path, "belongs to another user")
	}
	return out, err
}

func notOverwritten(path, why string) error {
	return problem.Usagef("name another file with --output", "%s %s; it is not overwritten", path, why)
}

// isFile reports whether there is a file, or will be.
func isFile(out *files.Output) bool { return out.Kind == files.Missing || out.Kind == files.File }

// Need fails if a flag needs a file and the path leads to something else.
func Need(flag, path string, out *files.Output) error {
	if isFile(out) {
		return nil
	}
	return problem.Usagef("name a file with --output", "%s needs a file, and %s is none", flag, path)
}
