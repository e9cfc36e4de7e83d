package opensearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// An address that would show the password or texts is refused before anything is sent.
func TestOpenRefuses(t *testing.T) {
	for url, want := range map[string]string{
		"http://search.example.com:9200":   "plain http",
		"http://127.0.0.1.example.com":     "plain http",
		"https://me:secret@search:9200":    "has a user name or password",
		"search.example.com:9200":          "is not the address of a server",
		"ftp://search.example.com":         "is not the address of a server",
		"":                                 "is not the address of a server",
		"https://search.example.com:9200/": "",
		"http://127.0.0.1:9200":            "",
		"http://[::1]:9200":                "",
		"http://localhost:9200":            "",
	} {
		_, err := Open(Config{Name: "team", URL: url})
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("Open(%q): %v, want %q", url, err, want)
		}
	}
	if _, err := Open(Config{URL: "http://search:9200", InsecureHTTP: true}); err != nil {
		t.Error(err)
	}
	if _, err := Open(Config{URL: "https://search:9200", CA: []byte("no certificate")}); err == nil {
		t.Error("a file without certificates is accepted")
	}
}

// answering returns an archive whose server answers everything in one way.
func answering(t *testing.T, answer http.HandlerFunc) *Archive {
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	a, err := Open(Config{Name: "team", URL: server.URL, User: "me", Password: func(context.Context) (string, error) { return "secret", nil }})
	if err != nil {
		t.Fatal(err)
	}
	a.pause = 1
	return a
}

// What is not OpenSearch's answer, or not all of it, is an error that says so, for questions and
// for pushes, and never an empty answer.
func TestWrongAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
		is     error
	}{
		"a page":  {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>welcome") }, "not OpenSearch's: it is \"text/html", ErrNotEngine},
		"no type": {func(w http.ResponseWriter, _ *http.Request) { w.Header()["Content-Type"] = nil }, "of no type", ErrNotEngine},
		"other JSON": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `[1]`)
		}, "not OpenSearch's", ErrNotEngine},
		"half an answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"index_templates":[{"name"`)
		}, "cut off", ErrCut},
		"a cut connection": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"index_templates":`)
		}, "cut off", ErrCut},
		"wrong password": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "password is wrong (401)", nil},
		"no right": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"error":{"type":"security_exception","reason":"no permissions for [indices:admin/template/get]"}}`)
		}, "no permissions for [indices:admin/template/get] (403, security_exception)", nil},
		"overloaded": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, "Service Unavailable (503)", nil},
		"another place": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example.com/", http.StatusFound)
		}, "Found (302)", nil},
		"not set up": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, "not set up", ErrNoTemplate},
		"another version": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"index_templates":[{"name":"pigrep","index_template":{"version":7}}]}`)
		}, "has version 7, this pigrep has 2", ErrOther},
		"another's template": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"index_templates":[{"name":"pigrep","index_template":{}}]}`)
		}, "another version", ErrOther},
	} {
		t.Run(name, func(t *testing.T) {
			a := answering(t, test.answer)
			_, _, asked := ask(t.Context(), a, Question{Text: "word", Wanted: 10})
			_, pushed := a.Push(t.Context(), Push{Now: time.Now})
			for _, err := range []error{asked, pushed} {
				if !strings.Contains(fmt.Sprint(err), test.want) || test.is != nil && !errors.Is(err, test.is) {
					t.Errorf("got %v, want %s", err, test.want)
				}
			}
			if _, err := a.Init(t.Context(), 1, false); err == nil && !errors.Is(test.is, ErrNoTemplate) {
				t.Error("it was set up")
			}
		})
	}
}

// A server that comes back within a few tries is not an error.
func TestTriesAgain(t *testing.T) {
	tries := 0
	a := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" {
			t.Errorf("asked as %s, %s", user, password)
		}
		w.Header().Set("Content-Type", "application/json")
		if tries++; tries < 3 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		fmt.Fprint(w, `{"index_templates":[{"name":"pigrep","index_template":{"version":2}},{"name":"pigrep-sessions","index_template":{"version":2}}]}`)
	})
	if err := a.check(t.Context()); err != nil || tries != 3 {
		t.Errorf("%v after %d tries", err, tries)
	}
}

// An answer of which a shard lacks is not taken for the whole one.
func TestFailedShards(t *testing.T) {
	f := newFake(t)
	a := f.archive()
	f.before = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "_search") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"_shards":{"failed":1,"failures":[{"reason":{"type":"too_many","reason":"clauses"}}]},"hits":{"hits":[]}}`)
		return true
	}
	_, _, err := ask(t.Context(), a, Question{})
	if err == nil || !strings.Contains(err.Error(), "clauses (503, too_many)") {
		t.Errorf("got %v", err)
	}
}

// If a node of an archive does not answer, another one does, and is asked from then on.
func TestSeveralAddresses(t *testing.T) {
	f := newFake(t)
	f.archive()
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	a, err := Open(Config{Name: "team", URL: away.URL + ", " + f.URL + "/"})
	if err != nil {
		t.Fatal(err)
	}
	a.pause = 1
	if report, err := push(t, a, disk{"/s/a.jsonl": header + message(1, "one")}); err != nil || report.Sessions != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := Open(Config{Name: "team", URL: f.URL + ",http://example.com:9200"}); !errors.Is(err, ErrPlainHTTP) {
		t.Errorf("each address is checked: %v", err)
	}
}

// What a push sends is compressed.
func TestPushIsCompressed(t *testing.T) {
	f := newFake(t)
	a, sent := f.archive(), int64(0)
	f.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/_bulk" {
			sent += r.ContentLength
		}
		return false
	}
	text := strings.Repeat("the same words again ", 5000)
	if _, err := push(t, a, disk{"/s/a.jsonl": header + message(1, text)}); err != nil || sent == 0 || sent > int64(len(text))/4 {
		t.Errorf("%d bytes are sent of %d, %v", sent, len(text), err)
	}
}

// An archive that is asked with the rights of a user answers only if the engine says that it applies them: one
// without the security plugin knows nothing of the header, and would show everything.
func TestRightsOfAUser(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		status       int
		ok           bool
	}{
		{"the user", `{"user_name": "ann"}`, 200, true},
		{"somebody else", `{"user_name": "reader"}`, 200, false},
		{"nobody", `{}`, 200, false},
		{"no plugin", `{"error": "no handler found"}`, 400, false},
		{"not allowed", `{"error": {"type": "security_exception"}}`, 403, false},
	} {
		f := newFake(t)
		a := f.archive()
		f.requests = nil
		a.config.As = "ann"
		f.before = func(w http.ResponseWriter, r *http.Request) bool {
			if as := r.Header.Get("opendistro_security_impersonate_as"); as != "ann" {
				t.Errorf("%s: %s as %q", c.name, r.URL, as)
			}
			if r.URL.Path != "/"+whoami {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.answer)
			return true
		}
		var health any
		for range 2 {
			err := a.call(t.Context(), http.MethodGet, "_cluster/health", nil, &health)
			if (err == nil) != c.ok || !c.ok && !errors.Is(err, ErrNotAs) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if n := len(slices.DeleteFunc(f.requests, func(r string) bool { return strings.HasSuffix(r, whoami) })); (n == 2) != c.ok || !c.ok && n > 0 {
			t.Errorf("%s: %q", c.name, f.requests)
		}
	}
}
