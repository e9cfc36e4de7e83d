// Package system has what differs between operating systems and desktops: processes,
// sockets, the clipboard, the time zone. It knows nothing of pigrep.
package system

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// IsClosedPipe reports whether an error means that the reader of our output is gone.
func IsClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || isOwnClosedPipe(err)
}

// NotFound is the exit code of a shell that cannot find a command.
const NotFound = 127

// UnnamedZone is the name of the local time zone in package time.
const UnnamedZone = "Local"

// LocalZone returns the local time zone, with its IANA name if that can be found.
func LocalZone() *time.Location {
	if time.Local.String() != UnnamedZone {
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

// OpenFile opens a file in the program that the desktop has for it. Where there is no
// desktop, xdg-open may run a browser in the terminal, and this waits for it.
func OpenFile(path string) error {
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

// Clipboard returns the command that copies its stdin, nil for none. Windows' own
// garbles what is not ASCII; its terminals copy when asked.
func Clipboard(system string, getenv func(string) string, have func(string) bool) []string {
	var programs [][]string
	switch {
	case getenv("SSH_CONNECTION") != "" || getenv("SSH_TTY") != "":
		return nil // its clipboard is not that of the user
	case system == "darwin":
		programs = [][]string{{"pbcopy"}}
	default:
		if getenv("WAYLAND_DISPLAY") != "" {
			programs = append(programs, []string{"wl-copy"})
		}
		if getenv("DISPLAY") != "" {
			programs = append(programs, []string{"xclip", "-selection", "clipboard"}, []string{"xsel", "--clipboard", "--input"})
		}
		if getenv("TERMUX_VERSION") != "" {
			programs = append(programs, []string{"termux-clipboard-set"})
		}
	}
	for _, argv := range programs {
		if have(argv[0]) {
			return argv
		}
	}
	return nil
}
