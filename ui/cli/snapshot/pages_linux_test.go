package snapshot

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// mappedSegments returns how often each segment in a directory is mapped by this process, and
// how many kilobytes of all of them are in memory.
func mappedSegments(t *testing.T, dir string) (times map[string]int, kilobytes int) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		// Without /proc nothing says which pages are mapped.
		t.Skip("some containers hide what is mapped:", err)
	}
	times = make(map[string]int)
	inside := false
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if name := fields[len(fields)-1]; !strings.HasSuffix(fields[0], ":") {
			if inside = strings.HasPrefix(name, dir+"/") && filepath.Ext(name) == ".zap"; inside {
				times[name]++
			}
		}
		n := 0
		if _, err := fmt.Sscanf(line, "Rss: %d kB", &n); err == nil && inside {
			kilobytes += n
		}
	}
	return times, kilobytes
}

// Pages that a question read stay mapped until the time is over, and without a time only
// until they are trimmed, once the process is large.
func TestPagesStayMapped(t *testing.T) {
	t.Parallel()
	large := make([]byte, 64<<20)
	for i := 0; i < len(large); i += os.Getpagesize() {
		large[i] = 1
	}
	for _, keep := range []time.Duration{0, time.Hour} {
		x, opt := openIndex(t, 2)
		x.Keep = keep
		s := newestOnDisk(t, x, opt).Segments()[0]
		s.ID(0)
		s.Trim()
		if _, n := mappedSegments(t, opt.Dir); n > 0 != (keep > 0) {
			t.Errorf("pages are kept for %v: %d KB are mapped", keep, n)
		}
		x.unmap()
		if _, n := mappedSegments(t, opt.Dir); n > 0 {
			t.Errorf("pages are kept for %v: %d KB are mapped after that", keep, n)
		}
	}
}

// Two generations map a segment that both have once, so what was checked of it is not checked
// again.
func TestGenerationsShareSegments(t *testing.T) {
	t.Parallel()
	x, opt := openIndex(t, 2)
	newestOnDisk(t, x, opt)
	writeSessions(t, filepath.Join(opt.Roots[0].Path, "more"), 1)
	newestOnDisk(t, x, opt)
	times, _ := mappedSegments(t, opt.Dir)
	if len(times) < 2 {
		t.Fatalf("mapped segments: %v", times)
	}
	for name, n := range times {
		if n > 1 {
			t.Errorf("%s is mapped %d times", name, n)
		}
	}
}
