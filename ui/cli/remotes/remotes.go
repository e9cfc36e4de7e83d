// Package remotes has the archives that this user has named: where each one is, and where its
// password comes from. The password itself is never in the file, nor on a command line.
package remotes

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"pigrep/internal/files"
	"pigrep/internal/near"
	"pigrep/internal/shellcmd"
	"pigrep/remote"
	"pigrep/remote/opensearch"
	"pigrep/remote/ssh"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/system"
)

// Here is the name of this machine among archives.
const Here = "this"

// Remote is an archive as the user has described it.
type Remote struct {
	URL             string `json:"url"`
	User            string `json:"user,omitempty"`
	PasswordCommand string `json:"passwordCommand,omitempty"`
	PasswordFile    string `json:"passwordFile,omitempty"`
	PasswordEnv     string `json:"passwordEnv,omitempty"`
	CA              string `json:"ca,omitempty"`
	InsecureHTTP    bool   `json:"insecureHttp,omitempty"`
	Prefix          string `json:"prefix,omitempty"`
	Own             bool   `json:"own,omitempty"`  // its user has indices of his own
	Host            string `json:"host,omitempty"` // what this machine is called there; "" for its host name
}

// Remotes are archives by name.
type Remotes map[string]*Remote

func path(a *app.App) (string, error) {
	if a.ConfigDir == "" {
		return "", &problem.Error{Code: problem.CodeIO, Message: "no place for the list of archives: this user has no directory for settings"}
	}
	return filepath.Join(a.ConfigDir, "pigrep", "remotes.json"), nil
}

// Read reads the archives. Without a file there is none.
func Read(a *app.App) (Remotes, error) {
	list := make(Remotes)
	path, err := path(a)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, linkErr := os.Lstat(path); errors.Is(linkErr, fs.ErrNotExist) { // else a link leads nowhere
			return list, nil
		}
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	var data []byte
	if err == nil {
		data, err = files.ReadFile(path)
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err == nil && slices.Contains(slices.Collect(maps.Values(list)), nil) {
		err = errors.New("an archive has no description")
	}
	if err != nil {
		return nil, &problem.Error{Code: problem.CodeIO, Message: "cannot read " + path, Err: err, Hint: "correct it, or remove it and add the archives again: pigrep remote add NAME URL"}
	}
	return list, nil
}

// Write replaces the file.
func (l Remotes) Write(a *app.App) error {
	path, err := path(a)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return files.Replace(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`) })

func CheckName(name string) error {
	if name == Here || !nameForm().MatchString(name) {
		return problem.Usagef("use a word of lower-case letters and digits, such as team", "%q cannot name an archive", name)
	}
	return nil
}

// Find returns the archive with a name.
func (l Remotes) Find(name string) (*Remote, error) {
	if r := l[name]; r != nil {
		return r, nil
	}
	hint := "`pigrep remote add NAME URL` adds one"
	names := slices.Sorted(maps.Keys(l))
	if found := near.Nearest(names, name); len(found) > 0 {
		hint = "did you mean " + found[0] + "?"
	} else if len(names) > 0 {
		hint = "there are: " + strings.Join(names, ", ")
	}
	return nil, problem.Usagef(hint, "there is no archive %q", name)
}

// Open returns the archive of a name. It sends nothing.
func (l Remotes) Open(a *app.App, name string) (*opensearch.Archive, error) {
	r, err := l.Find(name)
	if err != nil {
		return nil, err
	}
	return r.Open(a, name)
}

// Open returns the archive, which messages call by a name.
func (r *Remote) Open(a *app.App, name string) (*opensearch.Archive, error) {
	return r.open(a, name, "")
}

func (r *Remote) open(a *app.App, name, as string) (*opensearch.Archive, error) {
	if r.Prefix != "" && !nameForm().MatchString(r.Prefix) {
		return nil, problem.Usagef("use a word of lower-case letters and digits", "%q cannot be what names of indices begin with", r.Prefix)
	}
	owner := ""
	if r.Own {
		if owner = r.User; !opensearch.OwnerForm().MatchString(owner) {
			return nil, problem.Usagef("name the user with lower-case letters and digits: --user NAME", "%q cannot have indices of its own", r.User)
		}
	}
	if r.Host != "" {
		if _, err := r.HostName(a, name); err != nil {
			return nil, err
		}
	}
	c := opensearch.Config{Name: name, URL: r.URL, User: r.User, InsecureHTTP: r.InsecureHTTP, Prefix: r.Prefix, Owner: owner, As: as, Trust: r.addCommand(name, func(r *Remote) { r.CA = "FILE" })}
	c.Password = func(ctx context.Context) (string, error) { return r.password(ctx, a) }
	if r.CA != "" {
		var err error
		if c.CA, err = os.ReadFile(r.CA); err != nil {
			return nil, &problem.Error{Code: problem.CodeIO, Message: "cannot read the certificates of archive " + name, Err: err, Hint: "name another file: " + c.Trust}
		}
	}
	archive, err := opensearch.Open(c)
	if err != nil {
		return nil, Problem(err)
	}
	return archive, nil
}

// password asks for the password where the user has said.
func (r *Remote) password(ctx context.Context, a *app.App) (string, error) {
	switch {
	case r.PasswordCommand != "":
		cmd := system.ShellCommand(ctx, r.PasswordCommand)
		cmd.Stderr, cmd.Env = a.Streams.Err, a.Environ()
		out, err := cmd.Output()
		if err != nil {
			return "", &problem.Error{Code: problem.CodeIO, Message: "the command for the password of " + r.User + " fails", Err: err, Hint: "it must print the password: " + r.PasswordCommand}
		}
		return firstLine(out), nil
	case r.PasswordFile != "":
		info, err := os.Stat(r.PasswordFile)
		if err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
			return "", &problem.Error{Code: problem.CodeIO, Message: "others can read the password in " + r.PasswordFile, Hint: "chmod 600 " + r.PasswordFile}
		}
		data, err := os.ReadFile(r.PasswordFile)
		if err != nil {
			return "", fmt.Errorf("the file with the password of %s: %w", r.User, err)
		}
		return firstLine(data), nil
	}
	name := r.PasswordEnv
	if value := a.Getenv(name); value != "" {
		return value, nil
	}
	return "", &problem.Error{Code: problem.CodeUsage, Message: "no password for " + r.User + ": $" + name + " is not set", Hint: "set it, or name a file or a command: pigrep remote add --help"}
}

func firstLine(data []byte) string {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return strings.TrimRight(string(line), "\r")
}

// Archives returns the archives of the names, which are waited for, and whether this machine is among them. The
// archives are asked with the rights of a user; "" for those of their own.
func Archives(a *app.App, names []string, wait time.Duration, as string) (archives []*opensearch.Archive, here bool, err error) {
	list, err := Read(a)
	if err != nil {
		return nil, false, err
	}
	for _, some := range names {
		for name := range strings.SplitSeq(some, ",") {
			if name = strings.TrimSpace(name); name == Here {
				here = true
				continue
			}
			r, err := list.Find(name)
			if err != nil {
				return nil, false, err
			}
			archive, err := r.open(a, name, as)
			if err != nil {
				return nil, false, err
			}
			if !slices.ContainsFunc(archives, func(x *opensearch.Archive) bool { return x.Name() == name }) {
				archives = append(archives, archive.Within(wait))
			}
		}
	}
	if len(archives) == 0 {
		return nil, here, problem.Usagef("leave out --from for the sessions of this machine", "--from names no archive")
	}
	return archives, here, nil
}

// HostName returns what this machine is called in the archive, which messages call by a name.
func (r *Remote) HostName(a *app.App, archive string) (name string, err error) {
	if name = r.Host; name == "" {
		name, err = a.Hostname()
	}
	if host, _, ok := remote.Split(remote.Name(name, "")); err != nil || !ok || host != name { // HOST:PATH must be one
		hint := "give it another name: " + r.addCommand(archive, func(r *Remote) { r.Host = "HOST" })
		return "", &problem.Error{Code: problem.CodeUsage, Message: fmt.Sprintf("%q cannot name this machine in an archive", name), Err: err, Hint: hint}
	}
	return name, nil
}

// addCommand returns the command that adds the archive as it is described, but for a change.
func (r Remote) addCommand(name string, change func(*Remote)) string {
	change(&r)
	words := []string{"pigrep", "remote", "add", name, r.URL}
	for _, flag := range [][2]string{
		{"--user", r.User}, {"--password-command", r.PasswordCommand}, {"--password-file", r.PasswordFile}, {"--password-env", r.PasswordEnv},
		{"--ca", r.CA}, {"--prefix", r.Prefix}, {"--as", r.Host},
	} {
		if flag[1] != "" {
			words = append(words, flag[:]...)
		}
	}
	if r.Own {
		words = append(words, "--own")
	}
	if r.InsecureHTTP {
		words = append(words, "--insecure-http")
	}
	return shellcmd.Here.Command("", words)
}

// Problem adds to an error of an archive what to do about it.
func Problem(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if p, ok := errors.AsType[*problem.Error](err); ok {
		return p
	}
	if h, ok := errors.AsType[*ssh.HostError](err); ok {
		return &problem.Error{Code: problem.CodeIO, Message: h.Host + ": " + h.Reason, Hint: h.Hint}
	}
	status, _ := errors.AsType[*opensearch.StatusError](err)
	certificate, _ := errors.AsType[*tls.CertificateVerificationError](err)
	invalid, _ := errors.AsType[x509.CertificateInvalidError](err)
	_, network := errors.AsType[net.Error](err)
	name, trust, hint := "NAME", "", ""
	if of, ok := errors.AsType[*opensearch.ArchiveError](err); ok {
		name, trust = of.Archive, of.Trust
	}
	switch {
	case errors.Is(err, remote.ErrTooMuch):
		hint = "narrow it: --since, --project, --agent, --session; or ask the machines themselves"
	case errors.Is(err, opensearch.ErrPlainHTTP):
		hint = "use https, or --insecure-http in a network that you trust"
	case errors.Is(err, opensearch.ErrNoTemplate):
		hint = "set it up once: pigrep remote init " + name
	case errors.Is(err, opensearch.ErrOther):
		hint = "use the same version of pigrep as the others, or another --prefix (`pigrep remote add --help`)"
	case errors.Is(err, opensearch.ErrNotEngine), errors.Is(err, opensearch.ErrCut):
		hint = "is it the address of OpenSearch, and not of a page or a proxy before it? `pigrep remote list` shows it"
	case invalid.Reason == x509.Expired:
		hint = "renew the certificate of the server"
	case certificate != nil:
		hint = "name the certificate of its authority: " + trust
	case status != nil && status.Status == http.StatusUnauthorized:
		hint = "`pigrep remote list` shows the user and where the password comes from"
	case status != nil && strings.HasSuffix(status.Type, "block_exception"):
		hint = "the disk of the engine is full, or who manages it does not let it write: `pigrep remote status " + name + "`"
	case status != nil && status.Status == http.StatusForbidden:
		hint = "the role of this user does not allow it: docs/teams.md lists what roles need"
	case errors.Is(err, opensearch.ErrAddress):
		hint = "name the server alone, such as https://search.example.com:9200"
	case errors.Is(err, opensearch.ErrSilent):
		hint = "wait longer: --wait 30s; or see how it is: pigrep remote status " + name
	case network:
		hint = "is the server running? `pigrep remote status " + name + "` asks it, and `pigrep remote list` shows its address"
	}
	return &problem.Error{Code: problem.CodeIO, Err: err, Hint: hint}
}
