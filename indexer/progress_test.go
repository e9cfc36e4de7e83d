package indexer

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// After the first tenth, the time left is accurate to a fifth, whatever the cost of
// reading and committing, for workers that alternate between the two.
func TestTimeLeft(t *testing.T) {
	const (
		total = int64(300 << 20)
		step  = int64(1 << 20)
	)
	for _, workers := range []int{1, 2, 4} {
		for _, cost := range []struct{ read, commit float64 }{{1, 0.1}, {1, 0.5}, {1, 1}, {1, 2}} { // seconds for 10 MB
			name := fmt.Sprintf("%d workers, %v", workers, cost)
			type event struct {
				at   time.Duration
				kind string
				n    int64
				from time.Duration
			}
			var events []event
			each := total / int64(workers)
			var end time.Duration
			for w := range workers {
				at := time.Duration(w) * time.Millisecond
				pending, limit := int64(0), int64(firstBatch)
				for read := int64(0); read < each; read += step {
					at += time.Duration(cost.read * float64(step) / float64(10<<20) * float64(time.Second))
					events = append(events, event{at: at, kind: "read", n: step})
					if pending += step; pending >= limit || read+step >= each {
						events = append(events, event{at: at, kind: "begin"})
						from := at
						at += time.Duration(cost.commit * float64(pending) / float64(10<<20) * float64(time.Second))
						events = append(events, event{at: at, kind: "end", n: pending, from: from})
						pending, limit = 0, DefaultBatch
					}
				}
				end = max(end, at)
			}
			slices.SortStableFunc(events, func(a, b event) int { return int(a.at - b.at) })
			start := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
			p := pace{start: start, workers: workers}
			at := Progress{BytesTotal: total}
			worst := 0.0
			for _, e := range events {
				now := start.Add(e.at)
				switch e.kind {
				case "read":
					at.Bytes += e.n
				case "begin":
					p.commitBegins(now)
				case "end":
					p.commitEnds(start.Add(e.from), now)
					at.Committed += e.n
				}
				if share := at.Share(); share >= 0.1 && share < 1 {
					off := float64(e.at+p.left(at, now))/float64(end) - 1
					if math.Abs(off) > math.Abs(worst) {
						worst = off
					}
				}
			}
			if math.Abs(worst) > 0.2 {
				t.Errorf("%s: off by %.0f %%", name, 100*worst)
			}
		}
	}
	if left := (&pace{workers: 1}).left(Progress{BytesTotal: 1}, time.Time{}); left != 0 {
		t.Errorf("before anything is read %v are left", left)
	}
}
