package location

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"pigrep/index"
	"pigrep/internal/files"
	"pigrep/internal/lists"
	"pigrep/remote/ssh"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/remotes"
)

// allHosts is what --on calls the hosts of the setting.
const allHosts = "all"

// findHosts reads --on.
func (p *Location) findHosts(o *flags.Shared) error {
	if len(o.On) == 0 {
		return nil
	}
	if len(o.From) > 0 {
		return problem.Usagef("ask one after the other", "--on and --from cannot be combined")
	}
	list, here, err := Hosts(o)
	if err != nil {
		return err
	}
	options := HostOptions(p.App, o)
	p.Hosts = &ssh.Hosts{}
	for _, h := range list {
		p.Hosts.Clients = append(p.Hosts.Clients, ssh.NewClient(h, options))
	}
	p.Elsewhere = &Elsewhere{Here: here} // for whole sessions
	for _, c := range p.Hosts.Clients {
		p.Elsewhere.Sources = append(p.Elsewhere.Sources, c.Source())
	}
	p.nameHost()
	return nil
}

// HostOptions are how hosts are asked.
func HostOptions(a *app.App, o *flags.Shared) ssh.Options {
	options := ssh.Options{Version: a.Version, Schema: index.SchemaVersion, Wait: o.Wait, Zone: a.Zone().String(), Environ: a.Environ(), Now: a.Now}
	if o.Reveal {
		options.Flags = append(options.Flags, "--reveal")
	}
	if o.NoUpdate {
		options.Flags = append(options.Flags, "--no-update")
	}
	return options
}

// Hosts returns the hosts that --on names, and whether this machine is among them. Without
// --on it returns those of the setting.
func Hosts(o *flags.Shared) (list []ssh.Host, here bool, err error) {
	known := make(map[string]ssh.Host) // of the setting
	var names []string
	for _, text := range o.Hosts {
		h, err := ssh.ParseHost(text)
		if err != nil {
			return nil, false, hostProblem("setting hosts", err)
		}
		known[h.Name] = h
		names = append(names, h.Name)
	}
	add := func(h ssh.Host) {
		if !slices.ContainsFunc(list, func(x ssh.Host) bool { return x.Name == h.Name }) {
			list = append(list, h)
		}
	}
	asked := o.On
	if len(asked) == 0 {
		asked = []string{allHosts}
	}
	for _, name := range split(asked) {
		switch h, ok := known[name]; {
		case name == remotes.Here:
			here = true
		case name == allHosts:
			for _, name := range names {
				add(known[name])
			}
		case ok:
			add(h)
		default:
			if h, err = ssh.ParseHost(name); err != nil {
				return nil, false, hostProblem("--on", err)
			}
			add(h)
		}
	}
	if len(list) == 0 && len(o.On) > 0 {
		if slices.Contains(o.On, allHosts) {
			return nil, here, problem.Usagef(`list them in the settings file: hosts = ["laptop", "server"]`, "--on all: the setting hosts lists none")
		}
		return nil, here, problem.Usagef("leave out --on for the sessions of this machine", "--on names no other machine")
	}
	return list, here, nil
}

// HostNames returns the names that --on takes: of the setting, and of the settings of ssh.
func HostNames(a *app.App, setting []string) []string {
	names := []string{remotes.Here, allHosts}
	for _, text := range setting {
		if h, err := ssh.ParseHost(text); err == nil {
			names = append(names, h.Name)
		}
	}
	config, err := files.Open(filepath.Join(a.Home, ".ssh", "config"))
	if err != nil {
		return names
	}
	defer config.Close()
	for _, name := range ssh.ConfigHosts(config) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// split splits values at their commas. A command has its own.
func split(values []string) (names []string) {
	for _, value := range values {
		if strings.Contains(value, "cmd:") {
			names = append(names, value)
			continue
		}
		names = append(names, lists.Map(strings.Split(value, ","), strings.TrimSpace)...)
	}
	return names
}

func hostProblem(where string, err error) error {
	if e, ok := errors.AsType[*ssh.NameError](err); ok {
		return problem.Usagef("write it as ssh takes it, such as laptop or me@server; docker:NAME and cmd:COMMAND reach containers", "%s: %v", where, e)
	}
	return err
}
