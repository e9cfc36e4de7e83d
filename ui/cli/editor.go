package cli

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/shell"
	"pigrep/ui/cli/system"
	"pigrep/ui/tui"
)

// editorArgs are the arguments that open a file at a line, by the name of the editor.
// Other editors get only the file.
var editorArgs = map[string]string{
	"vi": "+%d %s", "vim": "+%d %s", "nvim": "+%d %s", "nano": "+%d %s", "emacs": "+%d %s", "emacsclient": "+%d %s", "micro": "+%d %s",
	"kak": "+%d %s", "jed": "+%d %s", "joe": "+%d %s", "less": "+%d %s", "mg": "+%d %s", "ne": "+%d %s", "mcedit": "+%d %s",
	"hx": "%[2]s:%[1]d", "helix": "%[2]s:%[1]d", "zed": "%[2]s:%[1]d", "subl": "%[2]s:%[1]d",
	"code": "--goto %[2]s:%[1]d", "codium": "--goto %[2]s:%[1]d", "cursor": "--goto %[2]s:%[1]d",
}

// editCommand returns the shell command that opens the file at the line.
func editCommand(editor, path string, line int, quote func(string) string) string {
	name, _, _ := strings.Cut(editor, " ")
	name = strings.TrimSuffix(filepath.Base(name), ".exe")
	form, ok := editorArgs[name]
	if !ok || line <= 0 {
		return editor + " " + quote(path)
	}
	return editor + " " + fmt.Sprintf(form, line, quote(path))
}

// edit opens the session file in the user's editor.
func (b *tuiBackend) edit(p tui.Place, in io.Reader, out io.Writer) error {
	editor := system.UsualEditor
	for _, name := range []string{"EDITOR", "VISUAL"} {
		if v := strings.TrimSpace(b.App.Getenv(name)); v != "" {
			editor = v
		}
	}
	cmd := system.ShellCommand(b.context, editCommand(editor, p.Path, p.Line, shell.Of(runtime.GOOS).Quote))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, out
	cmd.Dir = b.App.WorkDir
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == system.NotFound {
		return &problem.Error{Code: problem.CodeIO, Message: "editor not found: " + editor, Hint: "set $EDITOR to another one"}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", editor, err)
	}
	return nil
}
