//go:build unix

// Package opensearch starts real OpenSearch servers for tests: one node or several on
// loopback, with small heaps, in temporary directories. Each is stopped by its process id.
package opensearch

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Env names the directory with the server that assemble.sh makes, EnvSecure the one with the
// security plugin.
const (
	Env       = "PIGREP_OPENSEARCH"
	EnvSecure = "PIGREP_OPENSEARCH_SECURE"
)

// startTime is how long a cluster may take to start on a busy machine.
const startTime = 15 * time.Minute

// A Cluster is some nodes that run.
type Cluster struct {
	Nodes []*Node
}

// A Node is one server.
type Node struct {
	URL    string
	client *http.Client
	cmd    *exec.Cmd
	log    string
}

// Start starts a cluster, which the test stops when it ends. Without a server the test is
// skipped: `make check-remote` has one.
func Start(t *testing.T, count int) *Cluster {
	home := server(t, Env)
	c := &Cluster{}
	ports := freePorts(t, 2*count)
	var seeds, masters []string
	for n := range count {
		seeds, masters = append(seeds, fmt.Sprintf("127.0.0.1:%d", ports[count+n])), append(masters, fmt.Sprintf("node%d", n))
	}
	for n := range count {
		dir := t.TempDir()
		yml := fmt.Sprintf(`node.name: node%d
http.port: %d
transport.port: %d
discovery.seed_hosts: [%s]
cluster.initial_cluster_manager_nodes: [%s]
cluster.fault_detection.leader_check.timeout: 60s
cluster.fault_detection.follower_check.timeout: 60s
`, n, ports[n], ports[count+n], strings.Join(seeds, ","), strings.Join(masters, ","))
		c.Nodes = append(c.Nodes, start(t, home, dir, yml, fmt.Sprintf("http://127.0.0.1:%d", ports[n])))
	}
	for _, n := range c.Nodes {
		n.await(t)
	}
	return c
}

func server(t *testing.T, env string) string {
	home := os.Getenv(env)
	if home == "" { // an engine is fetched by make check-remote only
		t.Skipf("$%s names no server: make check-remote", env)
	}
	return home
}

// start starts a node with its files in a directory.
func start(t *testing.T, home, dir, yml, url string) *Node {
	yml += fmt.Sprintf(`cluster.name: pigrep-test
network.host: 127.0.0.1
path.data: %s/data
path.logs: %[1]s/logs
path.repo: ["%[1]s/backup"]
action.auto_create_index: ".opendistro_security"
cluster.routing.allocation.disk.threshold_enabled: false
`, dir)
	log4j, err := os.ReadFile(filepath.Join(home, "config", "log4j2.properties"))
	for name, text := range map[string]string{"opensearch.yml": yml, "log4j2.properties": string(log4j)} {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
		}
	}
	log, logErr := os.Create(filepath.Join(dir, "out.log"))
	if err != nil || logErr != nil {
		t.Fatal(err, logErr)
	}
	defer log.Close()
	java := "java"
	if jdk := os.Getenv("JAVA_HOME"); jdk != "" {
		java = filepath.Join(jdk, "bin", "java")
	}
	argv := []string{java, "-Xms512m", "-Xmx512m", "-Xss1m", "-Djava.awt.headless=true", "-Djna.nosys=true", "-Djava.io.tmpdir=" + dir,
		"-Dio.netty.noUnsafe=true", "-Dio.netty.noKeySetOptimization=true", "-Dlog4j.shutdownHookEnabled=false", "-Dlog4j2.disable.jmx=true",
		"-Djava.security.manager=allow", "-Dopensearch.path.home=" + home, "-Dopensearch.path.conf=" + dir, "-Dopensearch.distribution.type=tar",
		"-Dopensearch.bundled_jdk=false", "-cp", home + "/lib/*", "org.opensearch.bootstrap.OpenSearch"}
	if os.Getuid() == 0 { // it refuses to run as root, who is somebody else in a namespace of its own
		argv = append([]string{"unshare", "--user", "--map-user=1000", "--map-group=1000"}, argv...)
	}
	n := &Node{URL: url, cmd: exec.Command(argv[0], argv[1:]...), log: log.Name(), client: http.DefaultClient}
	n.cmd.Dir, n.cmd.Stdout, n.cmd.Stderr = dir, log, log
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Kill)
	return n
}

// Kill ends a node as a crash does.
func (n *Node) Kill() {
	if n.cmd.ProcessState == nil {
		_ = n.cmd.Process.Kill()
		_ = n.cmd.Wait()
	}
}

// await waits until the node answers.
func (n *Node) await(t *testing.T) {
	// An engine tells nobody when it is ready, so it is asked until it is.
	for deadline := time.Now().Add(startTime); ; time.Sleep(200 * time.Millisecond) {
		resp, err := n.client.Get(n.URL + "/_cluster/health?wait_for_status=yellow&timeout=10s")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(n.log)
			t.Fatalf("a node does not start: %v\n%s", err, log[max(0, len(log)-4000):])
		}
	}
}

func freePorts(t *testing.T, count int) (ports []int) {
	for range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}
