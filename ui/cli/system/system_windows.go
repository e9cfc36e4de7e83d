package system

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"
)

// PrivateFiles does nothing: the user's directories are private on Windows.
func PrivateFiles() (umask int) { return 0 }

// Replace runs a command in a directory and waits for it: Windows has no exec.
func Replace(dir string, argv []string, _ int) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	if err := checkBatch(cmd.Path, cmd.Args[1:]); err != nil {
		return err
	}
	cmd.Dir = dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%s ended with exit code %d", argv[0], exit.ExitCode())
	}
	return err
}

// StartInBackground starts a program without a console, and with a low priority.
func StartInBackground(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP | windows.BELOW_NORMAL_PRIORITY_CLASS,
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// ShellCommand runs a command from an environment variable.
func ShellCommand(ctx context.Context, command string) *exec.Cmd {
	fields := strings.Fields(command)
	return exec.CommandContext(ctx, fields[0], fields[1:]...)
}

// UsualEditor is the default editor.
const UsualEditor = "notepad"

// StateDir returns the directory for the state of programs, "" if there is none.
func StateDir(home string, getenv func(name string) string) string {
	if dir := getenv("LocalAppData"); dir != "" || home == "" {
		return dir
	}
	return filepath.Join(home, ".local", "state")
}

// errorNoData is the error of writing to a pipe that is being closed.
const errorNoData = syscall.Errno(232)

// isOwnClosedPipe reports whether a system-specific error means that the reader is
// gone.
func isOwnClosedPipe(err error) bool {
	return errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, errorNoData)
}

// WhenReaderGoes does nothing: only a write shows that the reader is gone.
func WhenReaderGoes(context.Context, *os.File, func()) {}
