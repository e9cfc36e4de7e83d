package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"

	"pigrep/internal/session"
	"pigrep/query/search"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/shell"
	"pigrep/ui/cli/system"
	"pigrep/ui/tui"
)

// export writes a session to a new file in the working directory.
func (b *tuiBackend) export(ctx context.Context, p tui.Place, format string) (_ string, err error) {
	x, t, done, err := b.openPlace(tui.Place{Path: p.Path})
	if err != nil {
		return "", err
	}
	defer done()
	title := search.Describe(&t.Record.Summary, nil).Title
	name := exportName(title, t.ShortID(session.Handle(t.Record.ID, t.Record.Path)))
	path, err := newFile(b.App.WorkDir, name, "."+format)
	if err != nil {
		return "", &problem.Error{Code: problem.CodeIO, Message: "cannot write the export", Err: err, Hint: "start pigrep in a directory that you can write to, or use `pigrep export -o FILE`"}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	o := &exportOptions{format: format, output: path, force: true}
	if err := o.export(ctx, x, t, search.Request{}, nil); err != nil {
		return "", err
	}
	return path, nil
}

// newFile creates an empty file with a name that no file has, for its owner alone.
func newFile(dir, name, ext string) (string, error) {
	for i := 1; ; i++ {
		path := filepath.Join(dir, name+ext)
		if i > 1 {
			path = filepath.Join(dir, fmt.Sprintf("%s-%d%s", name, i, ext))
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		return path, f.Close()
	}
}

// exportName is a name for a file with a session: the first words of its title, and its id.
func exportName(title, id string) string {
	const longest = 40
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(title) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			dash = b.Len() > 0
			continue
		}
		if b.Len() >= longest {
			break
		}
		if dash {
			b.WriteByte('-')
		}
		dash = false
		b.WriteRune(r)
	}
	if b.Len() > 0 {
		b.WriteByte('-')
	}
	id = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' {
			return r
		}
		return '-'
	}, id)
	return b.String() + id
}

// copyTime bounds how long a clipboard program may take.
const copyTime = 2 * time.Second

// copy gives a text to the clipboard program of the system, if there is one and the terminal
// is on this machine.
func (b *tuiBackend) copy(ctx context.Context, text string) bool {
	argv := system.Clipboard(runtime.GOOS, b.App.Getenv, func(name string) bool { _, err := b.App.LookPath(name); return err == nil })
	if argv == nil {
		return false
	}
	ctx, stop := context.WithTimeout(ctx, copyTime)
	defer stop()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(text)
	// xclip and wl-copy stay in the background; with pipes Wait would wait for them.
	cmd.Stdout, cmd.Stderr = nil, nil
	return cmd.Run() == nil
}

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
