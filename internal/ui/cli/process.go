package cli

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"pigrep/adapter/agents"
	"pigrep/internal/terminal"
)

// Only process.go, system_unix.go and system_windows.go use the state of the process:
// arguments, environment, streams, signals, clock. All other files get it through App.

// Main runs pigrep with the arguments of the process and returns the exit code.
func Main() int {
	// A write to a closed pipe must fail with an error, which ends the run with exit
	// code 0. The signal would look like a crash to the caller.
	signal.Ignore(syscall.SIGPIPE)
	umask := privateFiles()
	// A panic in a goroutine prints its message without all stacks.
	debug.SetTraceback("none")
	var borrowed atomic.Int32 // by programs to which Ctrl-C belongs
	ctx, stop := untilSignal(&borrowed)
	defer stop()

	// A directory that does not exist on this system stays empty.
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
		WorkDir: workDir, TempDir: os.TempDir(),
		Now: time.Now, Zone: localZone,
		Executable: os.Executable,
		LookPath:   exec.LookPath,
		Hostname:   os.Hostname,
		Replace:    func(dir string, argv []string) error { return replaceProcess(dir, argv, umask) },
		Open:       openFile,
		LeaveInterrupts: func() (back func()) {
			borrowed.Add(1)
			return func() { borrowed.Add(-1) }
		},
		Background: startInBackground,
		Agents:     agents.All(),
	}
	log.SetFlags(0)
	log.SetOutput(engineLog{app})
	return app.Run(ctx, os.Args[1:])
}

// errTerminated is the cause when SIGTERM ends the run: service managers send it to
// stop a program, so it does not count as an interruption.
var errTerminated = errors.New("terminated")

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
					cancel(errTerminated)
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
type engineLog struct{ app *App }

func (l engineLog) Write(p []byte) (int, error) {
	l.app.logger().Debug("engine", "message", strings.TrimSpace(string(p)))
	return len(p), nil
}

// openFile opens a file in the program that the desktop has for it. Where there is no
// desktop, xdg-open may run a browser in the terminal, and this waits for it.
func openFile(path string) error {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", path)
	case "darwin":
		cmd = exec.Command("open", path)
	default:
		cmd = exec.Command("xdg-open", path)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// unnamedZone is the name of the local time zone in package time.
const unnamedZone = "Local"

// localZone returns the local time zone, with its IANA name if that can be found.
func localZone() *time.Location {
	if time.Local.String() != unnamedZone {
		return time.Local
	}
	// On Unix, /etc/localtime is a link to the file of the time zone.
	if target, err := os.Readlink("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(target, "zoneinfo/"); ok {
			if named, err := time.LoadLocation(name); err == nil {
				return named
			}
		}
	}
	return time.Local
}
