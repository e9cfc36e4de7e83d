//go:build unix

package opensearch

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// certificate makes a certificate that signs itself, and is valid until a time. It returns the
// file of its authority.
func certificate(t *testing.T, until time.Time) (tls.Certificate, string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: until.AddDate(-1, 0, 0), NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, path
}

// before starts a proxy with TLS in front of a node, which may change answers.
func before(t *testing.T, node string, cert tls.Certificate, change func(*http.Response) error) string {
	to, err := url.Parse(node)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, ModifyResponse: change}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = nil
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// What stands between a user and the engine may be wrong in any way: that is an error with what
// to do, nothing is half sent, and the next push through the right way has all.
func TestFaults(t *testing.T) {
	node := Start(t, 1).Nodes[0]
	good, ca := certificate(t, time.Now().AddDate(1, 0, 0))
	old, oldCA := certificate(t, time.Now().AddDate(0, 0, -1))
	_, otherCA := certificate(t, time.Now().AddDate(1, 0, 0))
	sessions := t.TempDir()
	count := manySessions(t, sessions)
	passwords := t.TempDir()
	for name, text := range map[string]string{"right": "secret\n", "wrong": "other\n"} {
		if err := os.WriteFile(filepath.Join(passwords, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	half := func(r *http.Response) error { // the length is promised, and half of it comes
		data, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(data[:len(data)/2]))
		return err
	}
	page := func(r *http.Response) error {
		r.Header.Set("Content-Type", "text/html")
		r.Header.Del("Content-Length")
		r.Body, r.StatusCode, r.ContentLength = io.NopCloser(strings.NewReader("<html>Please log in")), http.StatusOK, -1
		return nil
	}
	m := newMachine(t, sessions)
	for _, test := range []struct {
		name, url, ca, password, want, hint string
	}{
		{"wrong password", before(t, node.URL, good, nil), ca, "wrong", "the user name or password is wrong (401)", "`pigrep remote list` shows the user"},
		{"wrong authority", before(t, node.URL, good, nil), otherCA, "right", "certificate", "name the certificate of its authority: pigrep remote add team https://127.0.0.1:"},
		{"expired certificate", before(t, node.URL, old, nil), oldCA, "right", "expired", "renew"},
		{"half an answer", before(t, node.URL, good, half), ca, "right", "the answer was cut off", "is it the address of OpenSearch"},
		{"a page", before(t, node.URL, good, page), ca, "right", "the answer is not OpenSearch's", "is it the address of OpenSearch"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m.must("remote", "add", "team", test.url, "--ca", test.ca, "--user", "me", "--password-file", filepath.Join(passwords, test.password))
			for _, args := range [][]string{{"remote", "init", "team"}, {"push", "team", "--session-dir", sessions}, {"search", "--from", "team", "word"}, {"remote", "status", "team"}} {
				if _, errs, code := m.run(args...); code != 2 || !strings.Contains(errs, test.want) || !strings.Contains(errs, test.hint) {
					t.Errorf("%q: exit code %d, %s", args, code, errs)
				}
			}
		})
	}
	var answers atomic.Int64
	often := before(t, node.URL, good, func(r *http.Response) error { // every third answer is lost on its way
		if answers.Add(1)%3 == 0 {
			return half(r)
		}
		return nil
	})
	m.setUp(often, "--ca", ca, "--user", "me", "--password-file", filepath.Join(passwords, "right"))
	t.Log(m.push())
	if n := documents(t, node.URL, "pigrep"); n != count {
		t.Errorf("%d documents, want %d", n, count)
	}
}

// An engine whose disk is full takes nothing, and says so; what was not taken is sent when it has room.
func TestFullDisk(t *testing.T) {
	node := Start(t, 1).Nodes[0]
	sessions := t.TempDir()
	count := manySessions(t, sessions)
	m := newMachine(t, sessions)
	m.setUp(node.URL, "--prefix", "full")
	limits := func(at string) {
		put(t, node.URL+"/_cluster/settings", fmt.Sprintf(`{"transient":{"cluster.routing.allocation.disk.threshold_enabled":true,"cluster.info.update.interval":"10s",
"cluster.routing.allocation.disk.watermark.low":%s,"cluster.routing.allocation.disk.watermark.high":%[1]s,"cluster.routing.allocation.disk.watermark.flood_stage":%[1]s}}`, at))
	}
	limits(`"1000000gb"`) // must be free
	has := func(path, text string) bool {
		resp, err := http.Get(node.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, _ := io.ReadAll(resp.Body)
		return strings.Contains(string(answer), text)
	}
	blocked := func() bool { // writing, and making indices
		return has("/full-sessions-v2/_settings", `"read_only_allow_delete":"true"`) || has("/_cluster/settings", `"create_index":"true"`)
	}
	await := func(want bool) { // the engine looks at its disk every ten seconds, and tells nobody
		for deadline := time.Now().Add(startTime); blocked() != want; time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the index is blocked: %v", !want)
			}
		}
	}
	await(true)
	if out, errs, code := m.run("push", "team", "--session-dir", sessions); code != 2 || !strings.Contains(errs, "blocked by") || !strings.Contains(errs, "hint: the disk of the engine is full") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	limits(`"1b"`)
	await(false)
	t.Log(m.push())
	if n := documents(t, node.URL, "full"); n != count {
		t.Errorf("%d documents, want %d", n, count)
	}
}
