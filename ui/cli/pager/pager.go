// Package pager shows long output in the pager of the user.
package pager

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pigrep/internal/terminal"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/system"
	"pigrep/ui/printer"
)

const (
	Env     = "PIGREP_PAGER"
	Default = "less"
	None    = "cat" // as a pager it means none

	linksInLess = 566
)

// Options are the flags of commands with long output.
type Options struct{ NoPager bool }

// takesPager reports whether long output goes to a pager.
func takesPager(a *app.App, o *Options) bool {
	return !o.NoPager && a.Streams.OutTTY && a.Getenv("TERM") != "dumb"
}

// Name returns the wanted pager, and the variable that names it, if any.
func Name(a *app.App) (command, from string) {
	command = Default
	for _, name := range []string{"PAGER", Env} {
		if v := strings.TrimSpace(a.Getenv(name)); v != "" {
			command, from = v, name
		}
	}
	return command, from
}

// Command returns the command of the pager, "" for none. A pager that the user named
// and that is not installed is reported.
func Command(a *app.App, o *Options) string {
	if !takesPager(a, o) {
		return ""
	}
	command, from := Name(a)
	if command == None {
		return ""
	}
	program := strings.Fields(command)[0]
	// What only a shell can resolve is left to the shell.
	if _, err := a.LookPath(program); err != nil && !strings.ContainsAny(program, "=$~`'\"\\(){}") {
		if from != "" {
			a.Advise("set $"+from+" to a program that is installed, or use --no-pager", "no pager: %s ($%s) was not found", program, from)
		}
		return ""
	}
	return command
}

// Show runs write, which prints to out, with its output in a pager, if one is wanted and
// available.
func Show(a *app.App, o *Options, out *printer.Printer, write func() error) error {
	command := Command(a, o)
	if command == "" {
		return write()
	}
	if out.Layout.Links != nil && !takesLinks(a, command) {
		out.Layout.Links = nil
	}
	a.Styles, a.Links = out.Layout.Colour, out.Layout.Links != nil
	return ShowWith(a, command, write)
}

// takesLinks reports whether a pager passes hyperlinks on to the terminal: less does, since
// version 566. Others may show them as garbage.
func takesLinks(a *app.App, pager string) bool {
	program := strings.Fields(pager)[0]
	if filepath.Base(program) != "less" {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	ask := exec.CommandContext(ctx, program, "--version")
	ask.Env = a.Environ()
	out, err := ask.Output()
	if err != nil {
		return false
	}
	var version int
	_, err = fmt.Sscanf(string(out), "less %d", &version)
	return err == nil && version >= linksInLess
}

// ShowIfLong prints an answer in a pager, if one is wanted and available and the answer
// does not fit on the screen. It is for commands that mostly have short answers, which
// should not wait for a pager to start.
func ShowIfLong(a *app.App, o *Options, out *printer.Printer, answer printer.Answer) error {
	if !takesPager(a, o) {
		return out.Print(answer)
	}
	var text bytes.Buffer
	buffered := *out
	buffered.Out = &text
	if err := buffered.Print(answer); err != nil {
		return err
	}
	page := text.Bytes()
	write := func() error {
		_, err := a.Out.Write(page)
		return err
	}
	if bytes.Count(page, []byte{'\n'}) < a.Streams.Height {
		return write()
	}
	return Show(a, o, &buffered, func() error {
		if buffered.Layout.Links == nil {
			page = terminal.WithoutLinks(page)
		}
		return write()
	})
}

// ShowWith runs write with its output in a pager. The user ends the pager whenever they
// have read enough, so it is not an error if it ends early. Ctrl-C belongs to the pager,
// which must never be killed: less would leave the terminal without echo.
func ShowWith(a *app.App, command string, write func() error) error {
	cmd := system.ShellCommand(context.Background(), command)
	cmd.Stdout, cmd.Stderr = a.Streams.Out, a.Streams.Err
	cmd.Env = append(a.Environ(), Environment(a)...)
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("cannot start the pager: %w", err)
	}
	if a.LeaveInterrupts != nil {
		defer a.LeaveInterrupts()()
	}
	if err := cmd.Start(); err != nil {
		a.Logger().Debug("no pager", "command", command, "error", err)
		return write()
	}
	a.Out.Reset(a.Guarded(pipe))
	a.Final = true
	err = write()
	if flushErr := a.Out.Flush(); err == nil {
		err = flushErr
	}
	closeErr := pipe.Close()
	a.Out.Reset(a.Results())
	waitErr := cmd.Wait()
	if err == nil && !errors.Is(closeErr, os.ErrClosed) {
		err = closeErr
	}
	if exit, ok := errors.AsType[*exec.ExitError](waitErr); ok && exit.ExitCode() == system.NotFound {
		// The shell has reported it; the output was not shown.
		return &problem.Error{Code: problem.CodeIO, Message: "pager not found: " + command, Hint: "set $" + Env + " to another one, or use --no-pager"}
	}
	if system.IsClosedPipe(err) {
		return nil
	}
	return err
}

// Environment makes pagers show colours and UTF-8. As with git, less leaves short
// output on the screen, unless $LESS has the user's own options. Options are put before
// those, because one at the end of theirs may take the rest as its value.
func Environment(a *app.App) []string {
	less := "FRX"
	if own := a.Getenv("LESS"); own != "" {
		less = "-R " + own
	}
	return []string{"LESS=" + less, "LESSCHARSET=utf-8"}
}
