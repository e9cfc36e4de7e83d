package settings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"pigrep/internal/files"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/problem"
)

// Set writes a list into the settings file, in the line of its key or in a new first line, and
// leaves all else as it is.
func Set(ctx context.Context, a *app.App, root func() *cobra.Command, key string, values []string) error {
	file, err := Read(a, root)
	if err != nil {
		return err
	}
	line := lineOf(key, values)
	failed := func(err error) error {
		return &problem.Error{Code: codeSettings, Message: "cannot write the settings file", Err: err, Hint: fmt.Sprintf("write into %s: %s", file.Path, line)}
	}
	if file.Path == "" {
		return &problem.Error{Code: codeSettings, Message: "there is no settings file to write into", Hint: "see $" + EnvConfig}
	}
	data, err := os.ReadFile(file.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(err)
	}
	lines := bytes.SplitAfter(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n"))
	if at, ok := file.said[key]; ok {
		lines[at.Line-1] = []byte(line + "\n")
	} else {
		lines = slices.Insert(lines, 0, []byte(line+"\n"))
	}
	data = bytes.Join(lines, nil)
	if said, err := Parse(root(), file.Path, data); err != nil || !slices.Equal(said[key].Values, values) {
		return failed(fmt.Errorf("%s is not on a line of its own", key))
	}
	if err := os.MkdirAll(filepath.Dir(file.Path), 0o700); err != nil {
		return failed(err)
	}
	out, err := files.FindOutput(file.Path)
	if err != nil {
		return failed(err)
	}
	out.Overwrite = true
	if err := out.Write(ctx, 0o600, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
		return failed(err)
	}
	return nil
}
