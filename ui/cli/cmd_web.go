package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/system"
	"pigrep/ui/web"
)

type webOptions struct {
	flags.Shared
	query  string
	port   flags.Number
	noOpen bool
	idle   time.Duration
}

func (o *webOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	o.idle = 30 * time.Minute
	flags.Add(f, "port", "", "N", "serve on this port (default any that is free)", &o.port)
	flags.Add(f, "no-open", "", "", "print the address, and open no browser", &o.noOpen)
	flags.Add(f, "idle", "", "TIME", "end after this time without an open page; 0 for never", &o.idle)
	o.Add(cmd, flags.SharedGroups, "exclude", "dates", "max-bytes", "json", "jsonl", "color", "hyperlink")
	flags.Ignore(cmd, []flags.Group{flags.GroupOutput}, "json", "jsonl")
}

func runWeb(ctx context.Context, a *app.App, o *webOptions, args []string) error {
	o.query = strings.Join(args, " ")
	req, err := o.Request(a)
	if err != nil {
		return err
	}
	p, err := location.Find(&o.Shared, a)
	if err != nil {
		return err
	}
	listener, err := listen(a, o.port.N)
	if err != nil {
		return err
	}
	b := newWebBackend(ctx, p)
	defer b.index.Close()
	server := web.New(listener.Addr().String(), b.options(o))
	address := server.Address(web.SearchAddress(seed(&o.Shared, o.query, req), wideEnough(req)))
	desktop := hasDesktop(a)
	if !desktop {
		a.Warn("%s", howToOpen(a, listener.Addr().(*net.TCPAddr).Port))
	}
	if _, err := fmt.Fprintln(a.Out, address); err != nil {
		return err
	}
	if err := a.Out.Flush(); err != nil {
		return err
	}
	a.Warn("Ctrl-C ends it")
	if desktop && !o.noOpen {
		go browse(a, address)
	}
	switch err := server.Serve(ctx, listener); {
	case errors.Is(err, web.ErrIdle):
		a.Warn("%v for %v", err, o.idle)
		return nil
	case err != nil:
		return &problem.Error{Code: problem.CodeIO, Message: "cannot serve " + listener.Addr().String(), Err: err}
	case context.Cause(ctx) == problem.ErrTerminated:
		return nil
	}
	return problem.ErrLeft
}

// listen listens on a port of this machine; 0 is any.
func listen(a *app.App, port int) (net.Listener, error) {
	if port < 0 || port > math.MaxUint16 {
		return nil, problem.Usagef("name one from 1 to 65535, or leave out --port for any that is free", "there is no port %d", port)
	}
	const local = "127.0.0.1"
	l, err := net.Listen("tcp4", net.JoinHostPort(local, strconv.Itoa(port)))
	if err == nil {
		return l, nil
	}
	p := &problem.Error{Code: problem.CodeIO, Message: fmt.Sprintf("cannot listen on port %d", port), Err: err, Hint: "leave out --port for any that is free"}
	if who := system.ListenerOf(port); who != "" {
		p.Message, p.Err = fmt.Sprintf("port %d is taken by %s", port, who), nil
	}
	if free, err := net.Listen("tcp4", net.JoinHostPort(local, "0")); err == nil {
		p.Hint = fmt.Sprintf("this one is free: --port %d", free.Addr().(*net.TCPAddr).Port)
		_ = free.Close() // nobody has used it
	}
	return nil, p
}

// hasDesktop reports whether a browser can be opened. Without a desktop, the program that opens
// one could start it in this terminal; over ssh, it would be on the other machine.
func hasDesktop(a *app.App) bool {
	if a.Getenv("SSH_CONNECTION") != "" {
		return false
	}
	for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"} {
		if a.Getenv(name) != "" {
			return true
		}
	}
	return runtime.GOOS == "windows" || runtime.GOOS == "darwin"
}

// howToOpen says how to open the address that follows it if there is no desktop. To open it on
// another machine, ssh forwards the port.
func howToOpen(a *app.App, port int) string {
	text := "there is no desktop to open a browser on: open this address yourself"
	host := "HOST"
	if from := strings.Fields(a.Getenv("SSH_CONNECTION")); len(from) == 4 { // of the client and its port, of this machine and its port
		text, host = "open this address in the browser of your own machine", from[2]
		if from[3] != "22" {
			host = "-p " + from[3] + " " + host
		}
	}
	return fmt.Sprintf("%s; from another machine, forward the port first: ssh -L %d:127.0.0.1:%d %s", text, port, port, host)
}

func browse(a *app.App, address string) {
	if err := a.Open(address); err != nil {
		a.Warn("cannot open a browser (%v): open the address yourself", err)
	}
}
