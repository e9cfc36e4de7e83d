package ssh

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"pigrep/internal/files"
)

// What a command leaves for the next ones, in Options.Dir: connections of ssh, and which hosts did not
// answer in time. A question never fails because of it.

const (
	keptFor = 4 * time.Minute // a connection without a question
	awayFor = time.Minute     // a host that did not answer in time is not waited for

	// A path of a socket may have 103 bytes, and ssh makes the socket under a longer name first.
	longestSocket = 103 - len(".0123456789abcdef")
)

// kept returns the path of a file about a host in the directory for connections; "" if there is none.
func (o *Options) kept(name string, about []byte) string {
	if o.Dir == "" || files.Private(o.Dir) != nil {
		return ""
	}
	return filepath.Join(o.Dir, fmt.Sprintf("%s%x", name, sha256.Sum256(about))[:len(name)+16])
}

// socket returns where ssh keeps its connection with the host for the next command; "" for nowhere: if the
// user's own settings say where, on Windows, or where a socket cannot be. Other settings for a host have
// another socket.
func (c *Client) socket() string {
	if c.ssh == "" || c.alone || c.options.Dir == "" || runtime.GOOS == "windows" {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.options.Wait/2)
	defer cancel()
	ask := exec.CommandContext(ctx, "ssh", "-G", "-T", "--", c.ssh)
	ask.Env, ask.WaitDelay = c.options.Environ, time.Second
	settings, err := ask.Output()
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(settings) {
		switch key, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(string(line))), " "); key {
		case "controlmaster":
			if value != "false" && value != "no" {
				return ""
			}
		case "controlpath":
			if value != "none" {
				return ""
			}
		}
	}
	path := c.options.kept("", append([]byte(c.ssh+"\n"), settings...))
	if len(path) > longestSocket || strings.ContainsAny(path, " \t\"'%$~\\") { // ssh reads these in another way
		return ""
	}
	return path
}

// keeping returns the options that make ssh keep its connection, or use the connection of another command.
func keeping(socket string) []string {
	if socket == "" {
		return nil
	}
	return []string{"-o", "ControlMaster=auto", "-o", "ControlPath=" + socket, "-o", fmt.Sprint("ControlPersist=", int(keptFor.Seconds()))}
}

// reach returns the connection after the greeting of the host. It logs in again if the connection of
// another command leads nowhere, or if a connection cannot be kept.
func (c *Client) reach(ctx context.Context) (*connection, error) {
	n, err := c.connect(c.options.Now())
	if err != nil {
		return nil, err
	}
	err = c.awaitGreeting(ctx, n)
	if _, since := c.patience(); err == nil || since > 0 || n.spoke.Load() || n.socket == "" || ctx.Err() != nil || !n.found && !n.stderr.has(n.socket) {
		return n, err
	}
	c.mu.Lock()
	c.alone = true
	if c.conn == n {
		n.close()
		c.conn = nil
	}
	c.mu.Unlock()
	end, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = exec.CommandContext(end, "ssh", "-O", "exit", "-o", "ControlPath="+n.socket, "--", c.ssh).Run()
	_ = os.Remove(n.socket)
	if n, err = c.connect(n.started); err != nil {
		return nil, err
	}
	return n, c.awaitGreeting(ctx, n)
}

// awayFile returns the path of the file that says that the host did not answer in time; "" for none.
func (c *Client) awayFile() string {
	return c.options.kept("away-", []byte(c.ssh+"\n"+c.box+"\n"+c.cmd))
}

// patience returns how long to wait for the greeting of the host. A host that was waited for as long a
// short time ago, in vain, is asked but not waited for; since is how long ago that was, 0 for other hosts.
func (c *Client) patience() (wait, since time.Duration) {
	path := c.awayFile()
	data, err := os.ReadFile(path)
	info, failed := os.Stat(path)
	if path == "" || err != nil || failed != nil {
		return c.options.Wait, 0
	}
	waited, err := time.ParseDuration(string(data))
	since = c.options.Now().Sub(info.ModTime()).Abs()
	if err != nil || since >= awayFor || waited < c.options.Wait || c.options.Glance == 0 || c.options.Glance >= c.options.Wait {
		return c.options.Wait, 0
	}
	return c.options.Glance, max(since, 1)
}

// remember notes whether the host has greeted in time. A note that it has not stands until it expires.
func (c *Client) remember(n *connection, greeted bool) {
	path := c.awayFile()
	switch _, since := c.patience(); {
	case path == "":
	case greeted:
		_ = os.Remove(path)
	case since == 0 && c.options.Now().Sub(n.started) >= c.options.Wait/2:
		_ = os.WriteFile(path, []byte(c.options.Wait.String()), 0o600)
	}
}

// notWaited returns the error of a host that is not waited for.
func (c *Client) notWaited(since time.Duration) error {
	return c.problem(fmt.Sprintf("no answer in %v, %d s ago; it was asked again, and not waited for", c.options.Wait, int(since.Seconds())), "ask again in a moment, or wait longer: --wait 30s")
}
