//go:build unix

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// replaceProcess runs a command in a directory in place of this process.
func (a *App) replaceProcess(dir string, argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("find %s: %w", argv[0], err)
	}
	if err := a.out.Flush(); err != nil {
		return err
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
	restoreUmask()
	return fmt.Errorf("run %s: %w", path, syscall.Exec(path, argv, os.Environ()))
}
