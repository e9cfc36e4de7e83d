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

	"pigrep/internal/ui/web"
)

type webOptions struct {
	sharedOptions
	query  string
	port   number
	noOpen bool
	idle   time.Duration
}

func (o *webOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	o.idle = 30 * time.Minute
	addFlag(f, "port", "", "N", "serve on this port (default any that is free)", &o.port)
	addFlag(f, "no-open", "", "", "print the address, and open no browser", &o.noOpen)
	addFlag(f, "idle", "", "TIME", "end after this time without an open page; 0 for never", &o.idle)
	o.addShared(cmd, []flagGroup{groupFilter, groupWhere, groupAnswer, groupOutput}, "exclude", "dates", "max-bytes", "json", "jsonl", "color", "hyperlink")
	ignoreShared(cmd, []flagGroup{groupOutput}, "json", "jsonl")
}

func newWebCommand(a *App) *cobra.Command {
	o := &webOptions{}
	cmd := &cobra.Command{
		Use:   "web [QUERY...]",
		Short: "Search and read in the browser, on this machine only",
		Long: `Open a page in the browser to search as you type, read conversations, list
sessions, and see what tools did and what it cost. Filters given as flags are
added to the query, where they can be edited. New entries appear while it runs.

The page is served on 127.0.0.1, for you alone: its address has a secret that
the browser then keeps, other users of the machine are refused, and nothing is
loaded from anywhere else. It shows secrets in sessions as they are, unless
with --redact or the button of the page.

Ctrl-C ends it with exit code 130, SIGTERM and --idle with 0.`,
		Example: `pigrep web
pigrep web --here login redirect
pigrep web --no-open --port 4711 --idle 0`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.query = strings.Join(args, " ")
			return runWeb(cmd.Context(), a, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func runWeb(ctx context.Context, a *App, o *webOptions) error {
	req, err := o.request(a)
	if err != nil {
		return err
	}
	p, err := o.locate(a)
	if err != nil {
		return err
	}
	listener, err := a.listen(o.port.n)
	if err != nil {
		return err
	}
	b := newWebBackend(ctx, a, o, p)
	defer b.index.Close()
	server := web.New(listener.Addr().String(), b.options(o))
	address := server.Address(web.SearchAddress(o.seed(o.query, req), wideEnough(req)))
	if _, err := fmt.Fprintln(a.out, address); err != nil {
		return err
	}
	if err := a.out.Flush(); err != nil {
		return err
	}
	a.warn("Ctrl-C ends it")
	if !o.noOpen {
		go a.browse(address)
	}
	switch err := server.Serve(ctx, listener); {
	case errors.Is(err, web.ErrIdle):
		a.warn("%v for %v", err, o.idle)
		return nil
	case err != nil:
		return &problem{code: codeIO, message: "serve " + listener.Addr().String(), err: err}
	case context.Cause(ctx) == errTerminated:
		return nil
	}
	return errLeft
}

// listen listens on a port of this machine; 0 is any.
func (a *App) listen(port int) (net.Listener, error) {
	if port < 0 || port > math.MaxUint16 {
		return nil, usagef("name one from 1 to 65535, or leave out --port for any that is free", "there is no port %d", port)
	}
	const local = "127.0.0.1"
	l, err := net.Listen("tcp4", net.JoinHostPort(local, strconv.Itoa(port)))
	if err == nil {
		return l, nil
	}
	p := &problem{code: codeIO, message: fmt.Sprintf("listen on port %d", port), err: err, hint: "leave out --port for any that is free"}
	if who := listenerOf(port); who != "" {
		p.message, p.err = fmt.Sprintf("port %d is taken by %s", port, who), nil
	}
	if free, err := net.Listen("tcp4", net.JoinHostPort(local, "0")); err == nil {
		p.hint = fmt.Sprintf("this one is free: --port %d", free.Addr().(*net.TCPAddr).Port)
		_ = free.Close() // nobody has used it
	}
	return nil, p
}

// browse opens an address in the browser. Without a desktop, the program that opens it
// could start a browser in this terminal.
func (a *App) browse(address string) {
	desktop := runtime.GOOS == "windows" || runtime.GOOS == "darwin"
	for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"} {
		desktop = desktop || a.Getenv(name) != ""
	}
	if !desktop {
		a.warn("there is no desktop to open a browser on: open the address yourself")
		return
	}
	if err := a.Open(address); err != nil {
		a.warn("cannot open a browser (%v): open the address yourself", err)
	}
}
