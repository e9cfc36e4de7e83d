package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// replaceProcess runs a command in a directory and ends with it: there is no
// taking the place of a process here.
func (a *App) replaceProcess(dir string, argv []string) error {
	if err := a.out.Flush(); err != nil {
		return err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("pi ended with exit code %d", exit.ExitCode())
	}
	return err
}
