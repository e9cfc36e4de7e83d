//go:build unix

package opensearch

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The users, whose passwords are secret-of-NAME, and what their roles allow, as docs/teams.md says.
const users = `_meta: {type: internalusers, config_version: 2}
root: {hash: "$2a$05$6tbGuywOw5n7JVcMl1n96uw1DHs/K4H43lx6jLa2pJZsLeP.WspFe"}
ann: {hash: "$2a$05$AFmhR8zvYrjK.wD4nJ21OO09R3JLz4.i3pbiFtxsQ5aOu9SFufbcK"}
bob: {hash: "$2a$05$V.oKKFQqwhLJw5NXoTKgm.ZG6yho4b8aMIpG/s9JPizymDHuQ0j0a"}
carl: {hash: "$2a$05$rL2JAgX.PjkGyUw8TU/psuaKov2iugq65VtHwfDnh8pJsxj7GSGxu"}
dora: {hash: "$2a$05$sj3DKzhT.8VcbXPQQHkza.4omjSXOYfMb4Xc3LMzz1jfrdlnL07LO"}
`

const roles = `_meta: {type: roles, config_version: 2}
init:
  cluster_permissions: [cluster_manage_index_templates, cluster_monitor]
  index_permissions: [{index_patterns: ["pigrep*"], allowed_actions: [create_index, "indices:admin/get"]}]
push:
  cluster_permissions: ["indices:admin/index_template/get", cluster_composite_ops]
  index_permissions: [{index_patterns: ["pigrep-v2-${user.name}-*", "pigrep-sessions-v2-${user.name}"], allowed_actions: [create_index, read, index, "indices:admin/refresh*"]}]
forget:
  cluster_permissions: ["indices:admin/index_template/get", cluster_composite_ops]
  index_permissions: [{index_patterns: ["pigrep*"], allowed_actions: [read, write, "indices:admin/refresh*", "indices:admin/delete"]}]
ask:
  cluster_permissions: ["indices:admin/index_template/get", cluster_composite_ops_ro]
  index_permissions: [{index_patterns: ["pigrep*"], allowed_actions: [read], dls: '{"bool": {"must_not": {"match": {"cwd.tree": "/home/dev/atlas"}}}}'}]
all:
  cluster_permissions: ["indices:admin/index_template/get", cluster_composite_ops_ro]
  index_permissions: [{index_patterns: ["pigrep*"], allowed_actions: [read]}]
status:
  cluster_permissions: [cluster_monitor]
  index_permissions: [{index_patterns: ["pigrep*"], allowed_actions: [indices_monitor, "indices:admin/refresh*"]}]
`

const mapping = `_meta: {type: rolesmapping, config_version: 2}
init: {users: [root]}
push: {users: [ann, bob]}
forget: {users: [carl]}
ask: {users: [bob]}
all: {users: [ann, dora]}
status: {users: [dora]}
`

// as logs in as a user.
type as struct {
	name string
	next http.RoundTripper
}

func (a as) RoundTrip(r *http.Request) (*http.Response, error) {
	r.SetBasicAuth(a.name, "secret-of-"+a.name)
	return a.next.RoundTrip(r)
}

// startSecure starts a node with the security plugin, and returns the file of its authority.
func startSecure(t *testing.T) (*Node, string) {
	home := server(t, EnvSecure)
	dir, ports := t.TempDir(), freePorts(t, 2)
	cert, ca := certificate(t, time.Now().AddDate(1, 0, 0))
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "opensearch-security"), os.DirFS(filepath.Join(home, "plugins", "opensearch-security", "config"))); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"node.pem": string(authority), "key.pem": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
		"opensearch-security/internal_users.yml": users, "opensearch-security/roles.yml": roles, "opensearch-security/roles_mapping.yml": mapping,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	yml := fmt.Sprintf(`node.name: node0
http.port: %d
transport.port: %d
discovery.type: single-node
plugins.security.allow_default_init_securityindex: true
plugins.security.authcz.admin_dn: ["CN=nobody"]
plugins.security.authcz.rest_impersonation_user: {dora: ["ann", "bob", "root"]}
`, ports[0], ports[1])
	for _, side := range []string{"transport", "http"} {
		yml += strings.ReplaceAll(`plugins.security.ssl.SIDE.pemcert_filepath: node.pem
plugins.security.ssl.SIDE.pemkey_filepath: key.pem
plugins.security.ssl.SIDE.pemtrustedcas_filepath: node.pem
`, "SIDE", side)
	}
	yml += "plugins.security.ssl.http.enabled: true\nplugins.security.ssl.transport.enforce_hostname_verification: false\n"
	n := start(t, home, dir, yml, fmt.Sprintf("https://127.0.0.1:%d", ports[0]))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	n.client = &http.Client{Transport: as{"root", &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}}
	n.await(t)
	return n, ca
}

// Several people use an archive: one sets it up, two push, of whom one may not see a project, one deletes, and one
// looks after it. Each may do what docs/teams.md says of the role, and nothing else; nobody changes what
// somebody else has pushed.
func TestSecurity(t *testing.T) {
	node, ca := startSecure(t)
	machines := make(map[string]*machine)
	for _, name := range []string{"root", "ann", "bob", "carl", "dora"} {
		m := newMachine(t, testSessions(t))
		password := filepath.Join(m.home, "password")
		if err := os.WriteFile(password, []byte("secret-of-"+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		m.must("remote", "add", "team", node.URL, "--ca", ca, "--user", name, "--own", "--as", "laptop", "--password-file", password)
		machines[name] = m
	}
	root, ann, bob, carl, dora := machines["root"], machines["ann"], machines["bob"], machines["carl"], machines["dora"]
	t.Log(root.must("remote", "init", "team"))
	t.Log(ann.push())
	t.Log(dora.must("remote", "status", "team"))
	for _, line := range []string{"sessions", "sessions --cwd /home/dev/atlas", "search -n 0 harbour", "search --flat -n 0 session timeout", "grep harbour", "grep -c .", "show 0195562e", "tools calls", "usage --by session"} {
		args := append(strings.Fields(line), "--from", "team")
		if all, errs, _ := ann.run(args...); !strings.Contains(all, "0195562e") && !strings.Contains(all, "atlas") && !strings.Contains(all, "harbour") || strings.Contains(errs, "has lost") {
			t.Errorf("%s: who may see all lacks the project: %s%s", line, all, errs)
		}
		some, errs, code := bob.run(args...)
		if code > 1 && !strings.HasPrefix(line, "show") {
			t.Errorf("%s: exit code %d, %s", line, code, errs)
		}
		for _, secret := range []string{"0195562e", "atlas", "harbour gateway"} {
			if strings.Contains(some, secret) {
				t.Errorf("%s: who may not see the project sees %s in it: %s", line, secret, some)
			}
		}
	}
	if out := bob.must("sessions", "--from", "team"); !strings.Contains(out, "parser-lab") {
		t.Errorf("what he may see is missing: %s", out)
	}
	testTeamPage(t, dora)
	// Bob says that he is the same machine with the same files.
	before := ann.must("sessions", "--from", "team", "--json")
	t.Log(bob.must("push", "team", "--session-dir", bob.sessions))
	if after := ann.must("sessions", "--from", "team", "--json"); strings.Count(after, `"laptop:`) < strings.Count(before, `"laptop:`) {
		t.Errorf("before %s, after %s", before, after)
	}
	if out := dora.must("remote", "check", "team"); !strings.HasPrefix(out, "team has all of ") {
		t.Error(out)
	}
	raw := func(name, method, path, body string, want int) {
		t.Helper()
		req, err := http.NewRequest(method, node.URL+"/"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := as{name, node.client.Transport.(as).next}.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != want && !(want == http.StatusForbidden && bytes.Contains(text, []byte(`"status":403`))) {
			t.Errorf("%s: %s %s: %s %s, want %d", name, method, path, resp.Status, text[:min(len(text), 300)], want)
		}
	}
	match := `{"query":{"match_all":{}}}`
	for _, index := range []string{"pigrep-v2-ann-2026.03", "pigrep-sessions-v2-ann"} {
		for _, name := range []string{"bob", "dora", "root"} {
			raw(name, http.MethodDelete, index, "", http.StatusForbidden)
			raw(name, http.MethodPost, index+"/_delete_by_query", match, http.StatusForbidden)
			raw(name, http.MethodPut, index+"/_doc/x?routing=x", `{"file_key":"x"}`, http.StatusForbidden)
			raw(name, http.MethodPost, index+"/_update/x?routing=x", `{"doc":{"file_key":"x"}}`, http.StatusForbidden)
			raw(name, http.MethodPost, "_bulk", `{"delete":{"_index":"`+index+`","_id":"x","routing":"x"}}`+"\n", http.StatusForbidden)
		}
		raw("ann", http.MethodDelete, index, "", http.StatusForbidden) // she adds, and does not delete
		raw("ann", http.MethodPost, index+"/_delete_by_query", match, http.StatusForbidden)
	}
	raw("bob", http.MethodPut, "pigrep-v2-carl-2026.03", "", http.StatusForbidden)
	for name, list := range map[string][][]string{
		"ann":  {{"remote", "init", "team"}, {"remote", "forget", "team", "--yes", "01961f3c"}, {"remote", "forget", "team", "--yes", "--before", "yesterday"}},
		"bob":  {{"remote", "forget", "team", "--yes", "01961f3c"}},
		"carl": {{"push", "team", "--session-dir", ann.sessions}},
		"dora": {{"push", "team", "--session-dir", ann.sessions}},
		"root": {{"push", "team", "--session-dir", ann.sessions}, {"search", "--from", "team", "token"}},
	} {
		for _, args := range list {
			if out, errs, code := machines[name].run(args...); code != 2 || !strings.Contains(errs, "403") {
				t.Errorf("%s: %q: exit code %d, %s%s", name, args, code, out, errs)
			}
		}
	}
	t.Log(carl.must("remote", "forget", "team", "--yes", "01961f3c"))
	if _, errs, _ := ann.run("push", "team", "--session-dir", ann.sessions); !strings.Contains(errs, "push team --again") {
		t.Errorf("what somebody else deleted does not stay deleted: %s", errs)
	}
	t.Log(carl.must("remote", "forget", "team", "--yes", "--before", "yesterday"))
	if out, errs, code := ann.run("sessions", "--from", "team"); code != 1 || strings.Contains(errs, "lost") {
		t.Errorf("left are %s%s", out, errs)
	}
}
