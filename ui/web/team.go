package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// SecretHeader is the header in which a proxy sends Team.Secret.
const SecretHeader = "X-Pigrep-Secret"

// Team serves pages to several people, behind a proxy that signs them in. Each person gets the pages of a
// server of their own.
type Team struct {
	Header  string                              // in which the proxy sends who signed in; it removes what a browser sends there
	Secret  string                              // that the proxy proves itself with; "": only Foreign refuses others than the proxy
	Foreign func(net.Conn) bool                 // as Options.Foreign; nil with a Secret
	Server  func(login string) (*Server, error) // makes the server of a person, with Options.SignedIn

	mu      sync.Mutex
	servers map[string]*Server
}

// mostPeople is how many people a Team serves: each costs some memory.
const mostPeople = 10_000

// Serve answers requests until the context ends.
func (t *Team) Serve(ctx context.Context, l net.Listener) error {
	return serve(ctx, l, t, func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, foreignKey{}, t.Foreign != nil && t.Foreign(c))
	})
}

// ServeHTTP implements http.Handler.
func (t *Team) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	foreign, _ := r.Context().Value(foreignKey{}).(bool)
	if foreign || t.Secret != "" && !equal(r.Header.Get(SecretHeader), t.Secret) {
		http.Error(w, "This server answers only the proxy that signs people in.", http.StatusForbidden)
		return
	}
	logins := r.Header.Values(t.Header)
	if len(logins) != 1 || !isLogin(logins[0]) {
		http.Error(w, "The proxy does not say who you are: it must send "+t.Header+".", http.StatusUnauthorized)
		return
	}
	s, err := t.serverOf(logins[0])
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	s.ServeHTTP(w, r)
}

// isLogin reports whether a text can be the name of a user, in a header too.
func isLogin(name string) bool {
	return name != "" && len(name) <= 256 && strings.TrimSpace(name) == name && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' || r == ',' })
}

var errManyPeople = errors.New("this server serves too many people: start it again")

func (t *Team) serverOf(login string) (*Server, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.servers[login]; s != nil {
		return s, nil
	}
	if len(t.servers) >= mostPeople {
		return nil, errManyPeople
	}
	s, err := t.Server(login)
	if err != nil {
		return nil, err
	}
	if t.servers == nil {
		t.servers = make(map[string]*Server)
	}
	t.servers[login] = s
	return s, nil
}

// serve answers requests until the context ends.
func serve(ctx context.Context, l net.Listener, handler http.Handler, connContext func(context.Context, net.Conn) context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	h := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout, BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: connContext}
	var stopping sync.WaitGroup
	stopping.Go(func() {
		<-ctx.Done()
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if h.Shutdown(late) != nil {
			_ = h.Close() // every connection is dropped, whatever the error
		}
	})
	err := h.Serve(l)
	stop()
	stopping.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

const (
	headerTimeout = 10 * time.Second // to read the headers of a request
	grace         = time.Second      // to finish running requests when the server stops
)
