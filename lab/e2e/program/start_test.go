package program

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// Packages do little before main, because every run pays for it. The test counts
// memory, because times vary from run to run: a package that compiles expressions or fills
// tables before main allocates memory for them.
func TestStartAllocatesLittle(t *testing.T) {
	const most = 128 << 10 // bytes; the largest has 80 KiB
	cmd := exec.Command(binary(t), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	packages := regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, \d+ allocs$`).FindAllStringSubmatch(string(out), -1)
	if len(packages) < 50 {
		t.Fatalf("the trace has %d packages:\n%s", len(packages), out)
	}
	for _, p := range packages {
		if n, err := strconv.Atoi(p[2]); err != nil || n > most {
			t.Errorf("package %s allocates %s bytes when the program starts, want at most %d", p[1], p[2], most)
		}
	}
}
