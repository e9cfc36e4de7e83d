package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"regexp"

	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/system"
	"pigrep/ui/web"
)

// proxySecretEnv names the variable with the secret that the proxy sends.
const proxySecretEnv = "PIGREP_PROXY_SECRET"

var headerForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// runTeamWeb serves archives to the people that a proxy has signed in, each with their own rights there.
func runTeamWeb(ctx context.Context, a *app.App, o *webOptions, q *asking.Command) error {
	l, secret, err := o.listenForProxy(a, q)
	if err != nil {
		return err
	}
	team := &web.Team{Header: http.CanonicalHeaderKey(o.LoginHeader), Secret: secret, Server: func(login string) (*web.Server, error) {
		p, err := q.As(&o.Shared, login)
		if err != nil {
			return nil, err
		}
		b := newWebBackend(ctx, p)
		context.AfterFunc(ctx, func() { _ = b.index.Close() })
		options := b.options(o)
		options.SignedIn, options.Idle, options.Home = true, 0, ""
		return web.New(l.Addr().String(), options), nil
	}}
	if secret == "" {
		team.Foreign = func(c net.Conn) bool {
			from, ok := c.RemoteAddr().(*net.TCPAddr)
			return ok && system.OfAnotherUser(from.Port)
		}
	}
	scheme := "http"
	if o.Cert != "" {
		scheme = "https"
	}
	fmt.Fprintf(a.Out, "%s://%s\n", scheme, l.Addr())
	if err := a.Out.Flush(); err != nil {
		return err
	}
	a.Warn("serving %s to people that a proxy names in %s; Ctrl-C ends it", q.Elsewhere.Names(), team.Header)
	if err := team.Serve(ctx, l); err != nil {
		return &problem.Error{Code: problem.CodeIO, Message: "cannot serve " + l.Addr().String(), Err: err}
	}
	if context.Cause(ctx) == problem.ErrTerminated {
		return nil
	}
	return problem.ErrLeft
}

// listenForProxy checks the flags for a team, and listens.
func (o *webOptions) listenForProxy(a *app.App, q *asking.Command) (l net.Listener, secret string, err error) {
	secret = a.Getenv(proxySecretEnv)
	host, _, err := net.SplitHostPort(o.Listen)
	ip := net.ParseIP(host)
	alone := host == "localhost" || ip != nil && ip.IsLoopback()
	switch {
	case o.Listen == "":
		return nil, "", problem.Usagef("such as --listen 127.0.0.1:4711", "--login-header, --cert and --key need --listen")
	case err != nil:
		return nil, "", problem.Usagef("such as --listen 127.0.0.1:4711", "--listen %s: %v", o.Listen, err)
	case q.Elsewhere == nil || q.Elsewhere.Here || len(q.Hosts.Clients) > 0:
		return nil, "", problem.Usagef("name archives alone: --from team", "--listen serves archives, and never the sessions of a machine")
	case !headerForm.MatchString(o.LoginHeader):
		return nil, "", problem.Usagef("name the header in which the proxy says who signed in: --login-header X-Forwarded-User", "--listen needs --login-header")
	case o.Port.Given:
		return nil, "", problem.Usagef("--listen has the port", "--listen and --port cannot be combined")
	case (o.Cert == "") != (o.Key == ""):
		return nil, "", problem.Usagef("give both, or none and listen on 127.0.0.1", "--cert and --key belong together")
	case !alone && o.Cert == "":
		return nil, "", problem.Usagef("give it a certificate: --cert FILE --key FILE; or listen on 127.0.0.1", "--listen %s is open to the network, where others could read along", o.Listen)
	case !alone && len(secret) < 16:
		return nil, "", problem.Usagef("set $"+proxySecretEnv+" to 16 characters or more, which the proxy sends in "+web.SecretHeader, "--listen %s is open to the network, where anybody could call himself anybody", o.Listen)
	}
	if l, err = net.Listen("tcp", o.Listen); err != nil {
		return nil, "", &problem.Error{Code: problem.CodeIO, Message: "cannot listen on " + o.Listen, Err: err, Hint: "choose another port"}
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			_ = l.Close() // nobody has used it
			return nil, "", &problem.Error{Code: problem.CodeIO, Message: fmt.Sprintf("cannot use the certificate %s with %s", o.Cert, o.Key), Err: err, Hint: "both are files in PEM"}
		}
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	}
	return l, secret, nil
}
