// Package opensearch keeps a team's sessions on OpenSearch, and finds them there.
//
// Each part of an entry is a document with its terms and what filters test (template.json).
// The first document of a line also has the line itself, with secrets masked, so that a
// session file can be put together again. Other documents have the record of the file, as the
// index of its machine would have it. A question asks the engine which parts of entries may
// answer it (compile.go, fetch.go, best.go). Divide divides the session files of these among parts of the
// archive. Each part makes an index in memory from the lines and records that it reads (excerpt.go), and leaves the
// answer to the code that answers from files. Beside them, one
// document per session file says how much of it is there, and what its summary says (schema.go).
// Pushing (push.go, send.go) only adds to what that document claims, after the engine has
// confirmed it.
package opensearch

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pigrep/internal/jsonsize"
	"pigrep/internal/terminal"
)

// Config says where an archive is, and who asks.
type Config struct {
	Name         string                                // of the archive, in messages
	URL          string                                // of a node, or of several, separated by commas
	User         string                                // "" for none
	Password     func(context.Context) (string, error) // asked once, when it is needed; nil for none
	CA           []byte                                // certificates in PEM; nil for those of the system
	InsecureHTTP bool                                  // a password and texts may go over plain http to another machine
	Prefix       string                                // of the names of its indices; "" for DefaultPrefix
	Trust        string                                // the command that names another CA, for who shows an ArchiveError
	Owner        string                                // whose indices are written to; "" for those that all share
	Wait         time.Duration                         // for the answer to a request; 0: longestWork
	As           string                                // whose rights requests have instead of User's, if the engine lets User do that; "" for User's
}

// DefaultPrefix is what the names of indices begin with.
const DefaultPrefix = "pigrep"

// An Archive is one team's sessions on OpenSearch.
type Archive struct {
	config Config
	nodes  []string      // their addresses
	node   atomic.Uint32 // the one that is asked
	http   *http.Client
	pause  time.Duration
	large  chan struct{} // full while a large answer is read: only one at a time

	mu     sync.Mutex // guards secret
	secret string     // the password, once it is known

	trusted atomic.Bool // the engine has confirmed Config.As
}

// The errors that callers act on.
var (
	ErrPlainHTTP  = errors.New("plain http would show sessions and the password to the network")
	ErrNotEngine  = errors.New("the answer is not OpenSearch's")
	ErrCut        = errors.New("the answer was cut off")
	ErrNoTemplate = errors.New("the archive is not set up")
	ErrOther      = errors.New("the archive was set up by another version")
	ErrSilent     = errors.New("no answer")
	ErrAddress    = errors.New("the address")
)

// An ArchiveError is an error of the archive with a name.
type ArchiveError struct {
	Archive string
	Trust   string // as of Config
	Err     error
}

func (e *ArchiveError) Error() string { return "archive " + e.Archive + ": " + e.Err.Error() }
func (e *ArchiveError) Unwrap() error { return e.Err }

// A StatusError is what OpenSearch, or what is in its place, says instead of an answer.
type StatusError struct {
	Status int
	Type   string
	Reason string
}

func (e *StatusError) Error() string {
	switch {
	case e.Status == http.StatusUnauthorized:
		return "the user name or password is wrong (401)"
	case e.Reason != "":
		return fmt.Sprintf("%s (%d, %s)", e.Reason, e.Status, e.Type)
	}
	return fmt.Sprintf("%s (%d)", cmp.Or(http.StatusText(e.Status), "no answer"), e.Status)
}

// Limits of an answer, because a server may send anything.
const (
	mostAnswer  = 64 << 20 // bytes
	mostMemory  = 96 << 20 // bytes of memory, once it is decoded, with its text
	fromLarge   = 2 << 20  // bytes from which on it is large
	leastPacked = 4 << 10  // bytes from which on a request is compressed
	mostMessage = 300      // columns of a message in it
	longestWork = 10 * time.Minute
	usualTries  = 4
	firstPause  = 250 * time.Millisecond
	longestWait = 15 * time.Second
)

// Open checks a configuration. It sends nothing.
func Open(c Config) (*Archive, error) {
	var nodes []string
	for node := range strings.SplitSeq(c.URL, ",") {
		node = strings.TrimRight(strings.TrimSpace(node), "/")
		if err := checkAddress(node, c.InsecureHTTP); err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = 2 * time.Minute
	if c.CA != nil {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(c.CA) {
			return nil, errors.New("the file of --ca has no certificate in PEM")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	c.Prefix = cmp.Or(c.Prefix, DefaultPrefix)
	return &Archive{config: c, nodes: nodes, pause: firstPause, large: make(chan struct{}, 1), http: &http.Client{
		Transport: transport,
		// A redirect would take the password elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func checkAddress(address string, plain bool) error {
	base, err := url.Parse(address)
	switch {
	case strings.Contains(address, "@"): // it is not repeated: it may have a password
		return fmt.Errorf("%w has a user name or password: give them with --user and --password-command", ErrAddress)
	case strings.ContainsAny(address, "?#"):
		return fmt.Errorf("%w has a query or a fragment, which the address of an archive cannot have", ErrAddress)
	case err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http":
		return fmt.Errorf("%q is not the address of a server, such as https://search.example.com:9200", address)
	case base.Scheme == "http" && !plain && !isLoopback(base.Hostname()):
		return fmt.Errorf("%s: %w", address, ErrPlainHTTP)
	}
	return nil
}

// Within sets how long each request waits, like Config.Wait.
func (a *Archive) Within(wait time.Duration) *Archive {
	a.config.Wait = wait
	return a
}

// Name implements remote.Source.
func (a *Archive) Name() string { return a.config.Name }

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// call sends a request, with a body unless it is nil, and decodes the answer into out unless
// that is nil. It tries again what may work later: every request of this package may be sent
// twice.
func (a *Archive) call(ctx context.Context, method, path string, body, out any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	if _, err := a.password(ctx); err != nil { // the user may take a while to answer
		return a.wrap(ctx, err)
	}
	if err := a.impersonates(ctx); err != nil {
		return err
	}
	within := cmp.Or(a.config.Wait, longestWork)
	asking, stop := context.WithTimeoutCause(ctx, within, fmt.Errorf("%w in %v", ErrSilent, within))
	defer stop()
	for try := 1; ; try++ {
		err := a.once(asking, method, path, data, out)
		if err == nil {
			return nil
		}
		if try < usualTries && isTransient(err) && a.wait(asking, try) == nil {
			continue
		}
		if asking.Err() != nil {
			err = context.Cause(asking)
		}
		return a.wrap(ctx, err)
	}
}

// whoami is the request for the user whose rights the engine applies.
const whoami = "_plugins/_security/authinfo"

// ErrNotAs means that an engine does not answer with the rights of Config.As: it has no security plugin, or does
// not let the user of the archive ask for others.
var ErrNotAs = errors.New("the engine does not answer with the rights of")

// impersonates asks the engine once whether it applies the rights of Config.As: an engine that does not know the
// header would answer with everything that User may see.
func (a *Archive) impersonates(ctx context.Context) error {
	if a.config.As == "" || a.trusted.Load() {
		return nil
	}
	var who struct {
		Name string `json:"user_name"`
	}
	ctx, stop := context.WithTimeout(ctx, cmp.Or(a.config.Wait, longestWork))
	defer stop()
	err := a.once(ctx, http.MethodGet, whoami, nil, &who)
	if isStatus(err, http.StatusNotFound) || isStatus(err, http.StatusBadRequest) || isStatus(err, http.StatusForbidden) || err == nil && who.Name != a.config.As {
		err = fmt.Errorf("%w %s", ErrNotAs, a.config.As)
	}
	a.trusted.Store(err == nil)
	return a.wrap(ctx, err)
}

// wrap names the archive.
func (a *Archive) wrap(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return &ArchiveError{a.config.Name, a.config.Trust, err}
}

// wait waits longer with each try, and not as long as others that wait.
func (a *Archive) wait(ctx context.Context, try int) error {
	pause := min(a.pause<<min(try-1, 10), longestWait)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(pause/2 + rand.N(pause)):
		return nil
	}
}

// isTransient reports whether the same request may succeed later.
func isTransient(err error) bool {
	if e, ok := errors.AsType[*StatusError](err); ok {
		return e.Status == http.StatusTooManyRequests || e.Status >= 500 && e.Status != http.StatusNotImplemented
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return false
	}
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, ErrCut) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (a *Archive) once(ctx context.Context, method, path string, data []byte, out any) error {
	node := a.node.Load()
	address := a.nodes[int(node)%len(a.nodes)] + "/" + path
	packed := len(data) >= leastPacked
	if packed {
		var body bytes.Buffer
		w, _ := gzip.NewWriterLevel(&body, gzip.BestSpeed) // the level is one
		_, err := w.Write(data)
		if err := cmp.Or(err, w.Close()); err != nil {
			return err
		}
		data = body.Bytes()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(data))
	if err != nil {
		return err
	}
	if packed {
		req.Header.Set("Content-Encoding", "gzip")
	}
	req.Header.Set("Content-Type", "application/json")
	switch path {
	case "_bulk":
		req.Header.Set("Content-Type", "application/x-ndjson")
	case "_mget": // of records, which are compressed: doing it again takes the engine three times as long
		req.Header.Set("Accept-Encoding", "identity")
	}
	if a.config.User != "" {
		password, err := a.password(ctx)
		if err != nil {
			return err
		}
		req.SetBasicAuth(a.config.User, password)
	}
	if a.config.As != "" {
		req.Header.Set("opendistro_security_impersonate_as", a.config.As)
	}
	resp, err := a.http.Do(req)
	if err == nil {
		defer resp.Body.Close()
		err = a.decode(ctx, resp, out)
	}
	if status, ok := errors.AsType[*StatusError](err); err != nil && (!ok || status.Status >= 500) {
		a.node.CompareAndSwap(node, node+1) // the next one may answer
	}
	return err
}

func (a *Archive) password(ctx context.Context) (string, error) {
	if a.config.User == "" {
		return "", nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.secret == "" && a.config.Password != nil {
		var err error
		if a.secret, err = a.config.Password(ctx); err != nil {
			return "", err
		}
	}
	return a.secret, nil
}

// read reads an answer. release must be called when the answer is decoded: until then, no other large
// answer is read.
func (a *Archive) read(ctx context.Context, from io.Reader) (data []byte, release func(), err error) {
	release = func() {}
	data, err = io.ReadAll(io.LimitReader(from, fromLarge))
	if err != nil || len(data) < fromLarge {
		return data, release, err
	}
	select {
	case a.large <- struct{}{}:
		release = func() { <-a.large }
	case <-ctx.Done():
		return nil, release, ctx.Err()
	}
	rest := bytes.NewBuffer(data)
	_, err = rest.ReadFrom(io.LimitReader(from, mostAnswer+1-fromLarge))
	return rest.Bytes(), release, err
}

// decode reads an answer. What is not JSON comes from something else.
func (a *Archive) decode(ctx context.Context, resp *http.Response, out any) error {
	if resp.Request.Method == http.MethodHead {
		return statusOf(resp, nil)
	}
	isJSON := strings.Contains(resp.Header.Get("Content-Type"), "json")
	if resp.StatusCode >= 300 || !isJSON {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		if err := statusOf(resp, text); err != nil {
			return err
		}
		return fmt.Errorf("%w: it is %q", ErrNotEngine, cmp.Or(said(resp.Header.Get("Content-Type")), "of no type"))
	}
	data, release, err := a.read(ctx, resp.Body)
	defer release()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: %v", ErrCut, err)
	case err != nil:
		return err
	case len(data) > mostAnswer:
		return fmt.Errorf("%w: it is longer than %d MB", ErrNotEngine, mostAnswer>>20)
	case int64(len(data))+jsonsize.Of(data, reflect.TypeOf(out), mostMemory) > mostMemory:
		return fmt.Errorf("%w: it takes more than %d MB of memory", ErrNotEngine, mostMemory>>20)
	case out == nil:
		out = &struct{}{}
	}
	err = json.Unmarshal(data, out)
	if of, ok := out.(interface{ strict([]byte) error }); ok {
		if _, isForm := errors.AsType[*json.UnmarshalTypeError](err); isForm {
			err = of.strict(data)
		}
	}
	if cut, ok := errors.AsType[*json.SyntaxError](err); ok && cut.Offset == int64(len(data)) {
		return fmt.Errorf("%w: %v", ErrCut, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", ErrNotEngine, said(err.Error()))
	}
	return nil
}

// said returns what an engine says as one line that is not long.
func said(text string) string { return terminal.Clip(terminal.Clean(text), mostMessage) }

// statusOf returns the error of a status; nil if it is a success.
func statusOf(resp *http.Response, text []byte) error {
	if resp.StatusCode < 300 {
		return nil
	}
	e := &StatusError{Status: resp.StatusCode}
	var answer struct {
		Error json.RawMessage `json:"error"`
	}
	var detail struct{ Type, Reason string }
	if json.Unmarshal(text, &answer) == nil && json.Unmarshal(answer.Error, &detail) == nil {
		e.Type, e.Reason = said(detail.Type), said(detail.Reason)
	}
	return e
}

func isStatus(err error, status int) bool {
	e, ok := errors.AsType[*StatusError](err)
	return ok && e.Status == status
}
