//go:build unix

package system

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// PrivateFiles sets a umask that makes all files private from the moment they are
// created, including those that libraries create and fill themselves. It returns the
// old umask.
func PrivateFiles() (umask int) { return syscall.Umask(0o077) }

// Replace replaces this process by a command in a directory, with this umask.
func Replace(dir string, argv []string, umask int) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("cannot find %s: %w", argv[0], err)
	}
	if err := os.Chdir(dir); err != nil {
		return fmt.Errorf("cannot go to the session's directory: %w", err)
	}
	if err := os.Setenv("PWD", dir); err != nil {
		return err
	}
	// The other program would inherit our signal settings.
	signal.Reset()
	// Ignored signals stay ignored across exec, handled ones do not.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	syscall.Umask(umask)
	return fmt.Errorf("cannot run %s: %w", path, syscall.Exec(path, argv, os.Environ()))
}

// backgroundNice is how much a program in the background gives way to others.
const backgroundNice = 10

// StartInBackground starts a program in a session of its own, so that no signal from the
// terminal reaches it, and with a low priority.
func StartInBackground(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = unix.Setpriority(unix.PRIO_PGRP, cmd.Process.Pid, backgroundNice) // its session is a process group
	return cmd.Process.Release()
}

// ShellCommand runs a command from an environment variable.
func ShellCommand(ctx context.Context, command string) *exec.Cmd {
	return exec.CommandContext(ctx, "sh", "-c", command)
}

// UsualEditor is the default editor.
const UsualEditor = "vi"

// StateDir returns the directory for the state of programs, "" if there is none.
func StateDir(home string, _ func(name string) string) string {
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".local", "state")
}

// isOwnClosedPipe reports whether a system-specific error means that the reader is
// gone.
func isOwnClosedPipe(error) bool { return false }

// WhenReaderGoes calls gone when the reader of a pipe or socket is gone, unless the
// context ends first. It does nothing for other files.
func WhenReaderGoes(ctx context.Context, out *os.File, gone func()) {
	const look = time.Second // delay after which it sees that the context has ended
	for ctx.Err() == nil {
		// poll reports errors and hang-ups without being asked for them.
		fds := []unix.PollFd{{Fd: int32(out.Fd())}}
		n, err := unix.Poll(fds, int(look.Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil, n > 0 && fds[0].Revents&unix.POLLNVAL != 0:
			return
		case n > 0:
			gone()
			return
		}
	}
}
