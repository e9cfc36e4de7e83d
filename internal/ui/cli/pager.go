package cli

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

	"github.com/spf13/pflag"

	"pigrep/internal/terminal"
	"pigrep/internal/ui/printer"
)

const (
	envPager     = "PIGREP_PAGER"
	defaultPager = "less"
	noPager      = "cat" // as a pager it means none
)

// pagerOptions are the flags of commands with long output.
type pagerOptions struct{ noPager bool }

func (o *pagerOptions) addFlags(f *pflag.FlagSet) {
	addFlag(f, "no-pager", "", "", "do not use a pager", &o.noPager)
}

// takesPager reports whether long output goes to a pager.
func (a *App) takesPager(o *pagerOptions) bool {
	return !o.noPager && a.Streams.OutTTY && a.Getenv("TERM") != "dumb"
}

// pagerName returns the wanted pager, and the variable that names it, if any.
func (a *App) pagerName() (command, from string) {
	command = defaultPager
	for _, name := range []string{"PAGER", envPager} {
		if v := strings.TrimSpace(a.Getenv(name)); v != "" {
			command, from = v, name
		}
	}
	return command, from
}

// pagerCommand returns the command of the pager, "" for none. A pager that the user named
// and that is not installed is reported.
func (a *App) pagerCommand(o *pagerOptions) string {
	if !a.takesPager(o) {
		return ""
	}
	command, from := a.pagerName()
	if command == noPager {
		return ""
	}
	program := strings.Fields(command)[0]
	// What only a shell can resolve is left to the shell.
	if _, err := a.LookPath(program); err != nil && !strings.ContainsAny(program, "=$~`'\"\\(){}") {
		if from != "" {
			a.advise("set $"+from+" to a program that is installed, or use --no-pager", "no pager: %s ($%s) was not found", program, from)
		}
		return ""
	}
	return command
}

// paged runs write, which prints to out, with its output in a pager, if one is wanted and
// available.
func (a *App) paged(o *pagerOptions, out *printer.Printer, write func() error) error {
	command := a.pagerCommand(o)
	if command == "" {
		return write()
	}
	if out.Look.Links != nil && !a.takesLinks(command) {
		out.Look.Links = nil
	}
	return a.pagedWith(command, write)
}

// takesLinks reports whether a pager passes hyperlinks on to the terminal: less does, since
// version 566. Others may show them as garbage.
func (a *App) takesLinks(pager string) bool {
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

const linksInLess = 566

// pagedIfLong prints an answer in a pager, if one is wanted and available and the answer
// does not fit on the screen. It is for commands that mostly have short answers, which
// should not wait for a pager to start.
func (a *App) pagedIfLong(o *pagerOptions, out *printer.Printer, answer printer.Answer) error {
	if !a.takesPager(o) {
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
		_, err := a.out.Write(page)
		return err
	}
	if bytes.Count(page, []byte{'\n'}) < a.Streams.Height {
		return write()
	}
	command := a.pagerCommand(o)
	if command == "" {
		return write()
	}
	if out.Look.Links != nil && !a.takesLinks(command) {
		page = terminal.WithoutLinks(page)
	}
	return a.pagedWith(command, write)
}

// pagedWith runs write with its output in a pager. The user ends the pager whenever they
// have read enough, so it is not an error if it ends early. Ctrl-C belongs to the pager,
// which must never be killed: less would leave the terminal without echo.
func (a *App) pagedWith(command string, write func() error) error {
	cmd := shellCommand(context.Background(), command)
	cmd.Stdout, cmd.Stderr = a.Streams.Out, a.Streams.Err
	cmd.Env = append(a.Environ(), a.pagerEnvironment()...)
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start the pager: %w", err)
	}
	if a.LeaveInterrupts != nil {
		defer a.LeaveInterrupts()()
	}
	if err := cmd.Start(); err != nil {
		a.logger().Debug("no pager", "command", command, "error", err)
		return write()
	}
	a.out.Reset(pipe)
	a.final = true
	err = write()
	if flushErr := a.out.Flush(); err == nil {
		err = flushErr
	}
	closeErr := pipe.Close()
	a.out.Reset(results{a})
	waitErr := cmd.Wait()
	if err == nil && !errors.Is(closeErr, os.ErrClosed) {
		err = closeErr
	}
	if exit, ok := errors.AsType[*exec.ExitError](waitErr); ok && exit.ExitCode() == notFound {
		// The shell has reported it; the output was not shown.
		return &problem{code: codeIO, message: "pager not found: " + command, hint: "set $" + envPager + " to another one, or use --no-pager"}
	}
	if isClosedPipe(err) {
		return nil
	}
	return err
}

// pagerEnvironment makes pagers show colours and UTF-8. As with git, less leaves short
// output on the screen, unless $LESS has the user's own options. Options are put before
// those, because one at the end of theirs may take the rest as its value.
func (a *App) pagerEnvironment() []string {
	less := "FRX"
	if own := a.Getenv("LESS"); own != "" {
		less = "-R " + own
	}
	return []string{"LESS=" + less, "LESSCHARSET=utf-8"}
}

// notFound is the exit code of a shell that cannot find a command.
const notFound = 127
