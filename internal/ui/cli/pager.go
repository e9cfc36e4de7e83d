package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/pflag"
)

const (
	envPager     = "PIGREP_PAGER"
	defaultPager = "less -RFX"
)

// pagerOptions are the flags of commands with long output.
type pagerOptions struct{ noPager bool }

func (o *pagerOptions) addFlags(f *pflag.FlagSet) {
	addFlag(f, "no-pager", "", "", "do not use a pager", &o.noPager)
}

// pagerCommand returns the command of the pager, "" for none.
func (a *App) pagerCommand(o *pagerOptions) string {
	if o.noPager || !a.Streams.OutTTY || a.Getenv("TERM") == "dumb" {
		return ""
	}
	command := defaultPager
	for _, name := range []string{"PAGER", envPager} {
		if v := strings.TrimSpace(a.Getenv(name)); v != "" {
			command = v
		}
	}
	if command == "cat" {
		return ""
	}
	return command
}

// paged runs write with its output in a pager, if one is wanted and available. Quitting
// the pager early is not an error.
func (a *App) paged(ctx context.Context, o *pagerOptions, write func() error) error {
	command := a.pagerCommand(o)
	if command == "" {
		return write()
	}
	return a.pagedWith(ctx, command, write)
}

func (a *App) pagedWith(ctx context.Context, command string, write func() error) error {
	cmd := shellCommand(ctx, command)
	cmd.Stdout, cmd.Stderr = a.Streams.Out, a.Streams.Err
	cmd.Env = append(a.Environ(), "LESSCHARSET=utf-8")
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start the pager: %w", err)
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
	if err == nil && closeErr != nil && !errors.Is(closeErr, os.ErrClosed) {
		err = closeErr
	}
	if exit, ok := errors.AsType[*exec.ExitError](waitErr); ok && exit.ExitCode() == notFound {
		// The shell has reported it; the output was not shown.
		return &problem{code: codeIO, message: "pager not found: " + command, hint: "set $" + envPager + " to another one, or use --no-pager"}
	}
	return err
}

// notFound is the exit code of a shell that cannot find a command.
const notFound = 127
