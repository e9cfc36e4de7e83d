package e2e

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each systemd unit is one: sections, keys and values, and a command that is a
// command of ours.
func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	for _, command := range services {
		unitOf(t, filepath.Join("..", "..", "contrib", "systemd", "pigrep-"+strings.Fields(command)[0]+".service"), command)
	}
}

// services are the commands of the service files.
var services = []string{"watch", "push team --watch --quiet"}

func unitOf(t *testing.T, path, command string) {
	unit := make(map[string][]string)
	section := ""
	for s := bufio.NewScanner(bytes.NewReader(read(t, path))); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		key, value, pair := strings.Cut(line, "=")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			section = strings.Trim(line, "[]")
		case pair && section != "" && !strings.ContainsAny(key, " \t"):
			unit[section+"."+key] = append(unit[section+"."+key], value)
		default:
			t.Errorf("a line that says nothing: %q", line)
		}
	}
	if got := unit["Service.ExecStart"]; len(got) != 1 || !strings.HasSuffix(got[0], "/pigrep "+command) {
		t.Errorf("ExecStart = %q", got)
	}
	for _, key := range []string{"Unit.Description", "Service.Restart", "Install.WantedBy"} {
		if len(unit[key]) != 1 {
			t.Errorf("%s = %q", key, unit[key])
		}
	}
}

// Where systemd is installed, it accepts the units.
func TestSystemdAcceptsUnit(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd is not installed, as in containers; TestSystemdUnit reads the unit without it")
	}
	units, err := filepath.Glob(filepath.Join("..", "..", "contrib", "systemd", "*.service"))
	if err != nil || len(units) != len(services) {
		t.Fatal(units, err)
	}
	home := t.TempDir()
	bin := filepath.Join(home, ".local", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "pigrep"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(analyze, append([]string{"--user", "verify"}, units...)...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_RUNTIME_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// Each launchd property list is well-formed, and each key in it has one value.
func TestLaunchdPlist(t *testing.T) {
	t.Parallel()
	for _, command := range services {
		plistOf(t, read(t, filepath.Join("..", "..", "contrib", "launchd", "pigrep."+strings.Fields(command)[0]+".plist")), command)
	}
}

func plistOf(t *testing.T, data []byte, command string) {
	var dict struct {
		XMLName xml.Name `xml:"plist"`
		Version string   `xml:"version,attr"`
		Dict    struct {
			Keys  []string `xml:"key"`
			Array struct {
				Strings []string `xml:"string"`
			} `xml:"array"`
			Elements []struct{ XMLName xml.Name } `xml:",any"`
		} `xml:"dict"`
	}
	if err := xml.Unmarshal(data, &dict); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(data)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	args := dict.Dict.Array.Strings
	if dict.Version != "1.0" || len(args) < 2 || filepath.Base(args[0]) != "pigrep" || strings.Join(args[1:], " ") != command {
		t.Errorf("version %q, arguments %q", dict.Version, args)
	}
	// Of the values, the one array is taken out above.
	if got, want := len(dict.Dict.Elements)+1, len(dict.Dict.Keys); got != want {
		t.Errorf("%d keys and %d values", want, got)
	}
	for _, key := range []string{"Label", "ProgramArguments", "RunAtLoad"} {
		if !slices.Contains(dict.Dict.Keys, key) {
			t.Errorf("no key %s", key)
		}
	}
}
