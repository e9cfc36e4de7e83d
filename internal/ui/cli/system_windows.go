package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// privateFiles does nothing: what a person's directories hold is theirs alone.
func privateFiles() (umask int) { return 0 }

// replaceProcess runs a command in a directory and ends with it: there is no
// taking the place of a process here.
func replaceProcess(dir string, argv []string, _ int) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("pi ended with exit code %d", exit.ExitCode())
	}
	return err
}

// shellCommand runs what a person wrote into an environment variable.
func shellCommand(ctx context.Context, command string) *exec.Cmd {
	fields := strings.Fields(command)
	return exec.CommandContext(ctx, fields[0], fields[1:]...)
}

// usualEditor is what opens a file for a person who named nothing else.
const usualEditor = "notepad"

// systemStateDir is where programs keep what a person did with them; "" when
// there is no place for it.
func (a *App) systemStateDir() string {
	if dir := a.Getenv("LocalAppData"); dir != "" || a.Home == "" {
		return dir
	}
	return filepath.Join(a.Home, ".local", "state")
}

// errorNoData is what Windows says when the reader of a pipe is closing it.
const errorNoData = syscall.Errno(232)

// isSystemClosedPipe reports whether an error that only this system has means
// that the reader went away.
func isSystemClosedPipe(err error) bool {
	return errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, errorNoData)
}

// whenReaderGoes does nothing: that the reader has gone is seen when something
// is written.
func whenReaderGoes(context.Context, *os.File, func()) {}
