//go:build unix

package cli

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

// privateFiles sets a umask that makes all files private from the moment they are
// created, including those that libraries create and fill themselves. It returns the
// old umask.
func privateFiles() (umask int) { return syscall.Umask(0o077) }

// replaceProcess replaces this process by a command in a directory, with this umask.
func replaceProcess(dir string, argv []string, umask int) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("find %s: %w", argv[0], err)
	}
	if err := os.Chdir(dir); err != nil {
		return fmt.Errorf("go to the session's directory: %w", err)
	}
	if err := os.Setenv("PWD", dir); err != nil {
		return err
	}
	// The other program would inherit our signal settings.
	signal.Reset()
	// Ignored signals stay ignored across exec, handled ones do not.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	syscall.Umask(umask)
	return fmt.Errorf("run %s: %w", path, syscall.Exec(path, argv, os.Environ()))
}

// backgroundNice is how much a program in the background gives way to others.
const backgroundNice = 10

// startInBackground starts a program in a session of its own, so that no signal from the
// terminal reaches it, and with a low priority.
func startInBackground(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = unix.Setpriority(unix.PRIO_PGRP, cmd.Process.Pid, backgroundNice) // its session is a process group
	return cmd.Process.Release()
}

// shellCommand runs a command from an environment variable.
func shellCommand(ctx context.Context, command string) *exec.Cmd {
	return exec.CommandContext(ctx, "sh", "-c", command)
}

// usualEditor is the default editor.
const usualEditor = "vi"

// systemStateDir returns the directory for program state, "" if there is none.
func (a *App) systemStateDir() string {
	if a.Home == "" {
		return ""
	}
	return filepath.Join(a.Home, ".local", "state")
}

// isSystemClosedPipe reports whether a system-specific error means that the reader is
// gone.
func isSystemClosedPipe(error) bool { return false }

// whenReaderGoes calls gone when the reader of a pipe or socket is gone, unless the
// context ends first. It does nothing for other files.
func whenReaderGoes(ctx context.Context, out *os.File, gone func()) {
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
