package cli

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"pigrep/adapter/agents"
	"pigrep/internal/terminal"
)

// The files process.go, system_unix.go and system_windows.go are the only ones that
// touch what belongs to the process as a whole: arguments, environment, streams,
// signals, clock. The others get it through App.

// Main runs pigrep as the process was started and returns its exit code.
func Main() int {
	// A write to a closed pipe must come back as an error: it ends the run
	// well, where the signal would look like a crash to the caller.
	signal.Ignore(syscall.SIGPIPE)
	umask := privateFiles()
	// A crash in a goroutine shows its message, not everybody's stack.
	debug.SetTraceback("none")
	ctx, stop := untilSignal()
	defer stop()

	// Of those that there are not the names are empty.
	home, _ := os.UserHomeDir()
	configDir, _ := os.UserConfigDir()
	cacheDir, _ := os.UserCacheDir()
	workDir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "pigrep: find the working directory: %v\n", err)
		return exitError
	}
	app := &App{
		Streams: terminal.New(os.Stdin, os.Stdout, os.Stderr, os.Getenv),
		Getenv:  os.Getenv,
		Environ: os.Environ,
		PID:     os.Getpid(),
		Home:    home, ConfigDir: configDir, CacheDir: cacheDir,
		WorkDir: workDir,
		Now:     time.Now, Zone: localZone,
		Executable: os.Executable,
		LookPath:   exec.LookPath,
		Replace:    func(dir string, argv []string) error { return replaceProcess(dir, argv, umask) },
		Agents:     agents.All(),
	}
	log.SetFlags(0)
	log.SetOutput(engineLog{app})
	return app.Run(ctx, os.Args[1:])
}

// errTerminated is the cause of a run's end when that was asked for with
// SIGTERM, as those do who look after services: nobody interrupted it.
var errTerminated = errors.New("terminated")

// untilSignal returns a context that ends with Ctrl-C and with SIGTERM; the
// second of them ends the process at once.
func untilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			if s == syscall.SIGTERM {
				cancel(errTerminated)
			}
			cancel(nil)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// engineLog takes what the engine writes with the standard logger. What matters
// of it comes back as an error, so that it is for --verbose only.
type engineLog struct{ app *App }

func (l engineLog) Write(p []byte) (int, error) {
	l.app.logger().Debug("engine", "message", strings.TrimSpace(string(p)))
	return len(p), nil
}

// unnamedZone is what package time calls the zone of the system.
const unnamedZone = "Local"

// localZone is the zone of the system, by its name where that can be found out.
func localZone() *time.Location {
	if time.Local.String() != unnamedZone {
		return time.Local
	}
	// What the system is set to is a link to the file of a zone with a name.
	if target, err := os.Readlink("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(target, "zoneinfo/"); ok {
			if named, err := time.LoadLocation(name); err == nil {
				return named
			}
		}
	}
	return time.Local
}
