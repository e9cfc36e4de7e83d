//go:build unix

package opensearch

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
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
`

const roles = `_meta: {type: roles, config_version: 2}
init:
  cluster_permissions: [cluster_manage_index_templates, cluster_monitor]
  index_permissions: [{index_patterns: ["pigrep*"], allowed_actions: [create_index, "indices:admin/get"]}]
push:
  cluster_permissions: ["indices:admin/index_template/get", cluster_composite_ops]
  index_permissions: [{index_patterns: ["pigrep*"], allowed_actions: [create_index, read, write, "indices:admin/refresh*"]}]
forget:
  index_permissions: [{index_patterns: ["pigrep*"], allowed_actions: [delete, delete_index, "indices:monitor/stats", "indices:monitor/settings/get", "indices:admin/get"]}]
ask:
  cluster_permissions: ["indices:admin/index_template/get", cluster_composite_ops_ro]
  index_permissions: [{index_patterns: ["pigrep*"], allowed_actions: [read], dls: '{"bool": {"must_not": {"match": {"cwd.tree": "/home/dev/atlas"}}}}'}]
`

const mapping = `_meta: {type: rolesmapping, config_version: 2}
init: {users: [root]}
push: {users: [ann]}
forget: {users: [ann]}
ask: {users: [bob]}
all_access: {users: [root]}
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

// Two people use an archive: one pushes, and one asks who may not see a project, whatever he asks.
// Neither may do what his role does not say.
func TestSecurity(t *testing.T) {
	node, ca := startSecure(t)
	sessions, err := filepath.Abs(filepath.Join("..", "..", "testdata", "sessions"))
	if err != nil {
		t.Fatal(err)
	}
	machines := make(map[string]*machine)
	for _, name := range []string{"root", "ann", "bob"} {
		m := newMachine(t, sessions)
		password := filepath.Join(m.home, "password")
		if err := os.WriteFile(password, []byte("secret-of-"+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		m.must("remote", "add", "team", node.URL, "--ca", ca, "--user", name, "--password-file", password)
		machines[name] = m
	}
	t.Log(machines["root"].must("remote", "init", "team"))
	ann, bob := machines["ann"], machines["bob"]
	t.Log(ann.push())
	t.Log(ann.must("remote", "status", "team"))
	for _, line := range []string{"sessions", "sessions --cwd /home/dev/atlas", "search -n 0 harbour", "search --flat -n 0 session timeout", "grep harbour", "grep -c .", "show 0195562e", "tools calls", "usage --by session"} {
		args := append(strings.Fields(line), "--from", "team")
		if all, errs, _ := ann.run(args...); !strings.Contains(all, "0195562e") && !strings.Contains(all, "atlas") && !strings.Contains(all, "harbour") {
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
	for _, args := range [][]string{{"push", "team", "--session-dir", sessions}, {"remote", "init", "team", "--shards", "2"}, {"remote", "forget", "team", "--yes", "01961f3c"}} {
		if out, errs, code := bob.run(args...); code != 2 || !strings.Contains(errs, "403") {
			t.Errorf("%q: exit code %d, %s%s", args, code, out, errs)
		}
	}
	t.Log(ann.must("remote", "forget", "team", "--yes", "01961f3c"))
}
