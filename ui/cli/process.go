package cli

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/adapter/agents"
	"pigrep/internal/terminal"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/system"
)

// Only process.go and package system use the state of the process: arguments,
// environment, streams, signals, clock. All other files get it through App.

// Main runs pigrep with the arguments of the process and returns the exit code.
func Main() int {
	// A write to a closed pipe must fail with an error, which ends the run with exit
	// code 0. The signal would look like a crash to the caller.
	signal.Ignore(syscall.SIGPIPE)
	umask := system.PrivateFiles()
	// A panic in a goroutine prints its message without all stacks.
	debug.SetTraceback("none")
	var borrowed atomic.Int32 // by programs that Ctrl-C belongs to
	ctx, stop := untilSignal(&borrowed)
	defer stop()

	// A directory that does not exist on this system stays empty.
	home, _ := os.UserHomeDir()
	configDir, _ := os.UserConfigDir()
	cacheDir, _ := os.UserCacheDir()
	workDir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "pigrep: cannot find the working directory: %v\n", err)
		return problem.ExitError
	}
	app := &app.App{
		Process: app.Process{
			Getenv:     os.Getenv,
			Environ:    os.Environ,
			Now:        time.Now,
			PID:        os.Getpid(),
			Memory:     system.MemoryLimit(),
			Executable: os.Executable,
			LookPath:   exec.LookPath,
			Hostname:   os.Hostname,
			Replace:    func(dir string, argv []string) error { return system.Replace(dir, argv, umask) },
			Open:       system.OpenFile,
			LeaveInterrupts: func() (back func()) {
				borrowed.Add(1)
				return func() { borrowed.Add(-1) }
			},
			Background: system.StartInBackground,
		},
		User: app.User{
			Home: home, ConfigDir: configDir, CacheDir: cacheDir, DataDir: system.DataDir(home, configDir, cacheDir, os.Getenv("XDG_DATA_HOME")),
			WorkDir: workDir, TempDir: os.TempDir(), Zone: system.LocalZone,
		},
		Speech: app.Speech{Streams: terminal.New(os.Stdin, os.Stdout, os.Stderr, os.Getenv)},
		Agents: agents.All(),
	}
	log.SetFlags(0)
	log.SetOutput(engineLog{app})
	return Run(ctx, app, os.Args[1:])
}

// untilSignal returns a context that ends on Ctrl-C or SIGTERM. A second signal kills
// the process. While borrowed is not 0, Ctrl-C is ignored.
func untilSignal(borrowed *atomic.Int32) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for {
			select {
			case s := <-signals:
				if s == os.Interrupt && borrowed.Load() > 0 {
					continue
				}
				signal.Stop(signals)
				if s == syscall.SIGTERM {
					cancel(problem.ErrTerminated)
				}
				cancel(nil)
			case <-ctx.Done():
			}
			return
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// engineLog receives messages that libraries write with the standard logger. Anything
// important is also returned as an error, so they are shown with --verbose only.
type engineLog struct{ app *app.App }

func (l engineLog) Write(p []byte) (int, error) {
	l.app.Logger().Debug("engine", "message", strings.TrimSpace(string(p)))
	return len(p), nil
}

// The GC percent of commands. Most runs are too short for a collection to pay off.
const usualGarbage, littleGarbage = 400, 100

// largeHeaps lists the commands, some with a flag, that run for long, or whose texts or lists may be
// large.
var largeHeaps = []string{
	"pigrep", "pigrep tui", "pigrep mcp", "pigrep watch", "pigrep search --limit", "pigrep grep", "pigrep report", "pigrep show", "pigrep export",
	"pigrep tools commands --raw", "pigrep tools commands --risky", "pigrep tools commands --rule",
}

// collectFor sets the GC percent for the command, whose flags are parsed.
func collectFor(cmd *cobra.Command) {
	percent := usualGarbage
	collect := func(name string) {
		if slices.Contains(largeHeaps, name) {
			percent = littleGarbage
		}
	}
	collect(cmd.CommandPath())
	cmd.Flags().Visit(func(f *pflag.Flag) { collect(cmd.CommandPath() + " --" + f.Name) })
	debug.SetGCPercent(percent)
}
