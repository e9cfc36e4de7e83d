package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"pigrep/internal/files"
	"pigrep/ui/cli/problem"
)

// writeExport writes to an output. Errors of write are returned as they are.
func writeExport(ctx context.Context, out *files.Output, write func(io.Writer) error) error {
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
	return outputProblem(err)
}

func outputProblem(err error) error {
	p := &problem.Error{Code: problem.CodeIO, Message: "cannot write the file", Err: err}
	if errors.Is(err, fs.ErrNotExist) {
		p.Hint = "create the directory first, or name another file"
	}
	return p
}

// findOutput finds what a path of the user's leads to, and fails if it must not be written.
// Session files are never overwritten, not even with --force.
func findOutput(path string, force bool) (*files.Output, error) {
	out, err := files.FindOutput(path)
	if err != nil {
		return nil, outputProblem(err)
	}
	isSession := strings.EqualFold(filepath.Ext(path), ".jsonl") || strings.EqualFold(filepath.Ext(out.Path), ".jsonl")
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

// findPlainFile is findOutput for a name that the user did not choose: only a file that is
// no link is overwritten.
func findPlainFile(path string, force bool) (*files.Output, error) {
	out, err := findOutput(path, force)
	if err == nil && (out.Linked || !isFile(out)) {
		err = notOverwritten(path, "is not a regular file")
	}
	return out, err
}

// findOwnFile is findPlainFile for a directory in which others may put files.
func findOwnFile(path string, force bool) (*files.Output, error) {
	out, err := findPlainFile(path, force)
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

// needFile fails if a flag needs a file and the path leads to something else.
func needFile(flag, path string, out *files.Output) error {
	if isFile(out) {
		return nil
	}
	return problem.Usagef("name a file with --output", "%s needs a file, and %s is none", flag, path)
}
