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

// privateFiles makes whatever the process creates its owner's alone from the
// first moment, also what the engine creates by itself and nobody can change
// the mode of before it is filled. It replaces the umask, which may also be one
// that keeps the owner out, and returns it.
func privateFiles() (umask int) { return syscall.Umask(0o077) }

// replaceProcess runs a command in a directory in place of this process, with this
// umask.
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
	// What was set up for this process would hold in the other program too.
	signal.Reset()
	// Only what is ignored stays so; what is waited for ends with this process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	syscall.Umask(umask)
	return fmt.Errorf("run %s: %w", path, syscall.Exec(path, argv, os.Environ()))
}

// shellCommand runs what a person wrote into an environment variable.
func shellCommand(ctx context.Context, command string) *exec.Cmd {
	return exec.CommandContext(ctx, "sh", "-c", command)
}

// usualEditor is what opens a file for a person who named nothing else.
const usualEditor = "vi"

// systemStateDir is where programs keep what a person did with them; "" when
// there is no place for it.
func (a *App) systemStateDir() string {
	if a.Home == "" {
		return ""
	}
	return filepath.Join(a.Home, ".local", "state")
}

// isSystemClosedPipe reports whether an error that only this system has means
// that the reader went away.
func isSystemClosedPipe(error) bool { return false }

// whenReaderGoes calls gone once the reader of a pipe or socket has gone, unless
// the context ends before. What is neither has no reader.
func whenReaderGoes(ctx context.Context, out *os.File, gone func()) {
	const look = time.Second // how soon it sees that the context has ended
	for ctx.Err() == nil {
		// Errors and the other side's end are told without being asked for.
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
