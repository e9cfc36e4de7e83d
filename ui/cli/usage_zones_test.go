package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/lab/testkit"
)

// plainUse is a use of tokens as it is written in a file.
type plainUse struct {
	at     time.Time
	tokens int64
	cost   float64
}

// writeUses makes sessions of pi with a use of tokens every 20 to 130 minutes, around the days of spring and
// autumn on which clocks change in most zones.
func writeUses(t *testing.T, root string) {
	t.Helper()
	files := make([]strings.Builder, 5)
	for i := range files {
		fmt.Fprintf(&files[i], `{"type":"session","version":3,"id":"zones%d","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}`+"\n", i)
	}
	n := 0
	for _, from := range []string{"2026-03-06", "2026-03-27", "2026-04-03", "2026-09-25", "2026-10-02", "2026-10-23", "2026-10-30"} {
		day, _ := time.Parse(time.DateOnly, from)
		for at := day; at.Before(day.AddDate(0, 0, 5)); at = at.Add(time.Duration(20+n*37%111) * time.Minute) {
			n++
			fmt.Fprintf(&files[n%len(files)], `{"type":"message","id":"u%07d","parentId":null,"timestamp":"%s","message":{"role":"assistant","content":[],"provider":"p","model":"m","usage":{"input":%d,"output":%d,"cost":{"total":%g}}}}`+"\n",
				n, at.Format("2006-01-02T15:04:05.000Z"), n, 2*n, float64(n)/1000)
		}
	}
	for i := range files {
		text := files[i].String()
		if i == 0 {
			text += `{"type":"message","id":"torn","timestamp":"2026-03-29T00:30:00.000Z","message":{"role":"assistant","usage":{"inp`
		}
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("zones%d.jsonl", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"empty.jsonl": "", "headless.jsonl": `{"type":"message","id":"x","message":{"role":"user","content":"hi"}}` + "\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// plainUses reads the uses of tokens in files of pi, each once, with nothing but a JSON decoder.
func plainUses(t *testing.T, root string) (list []plainUse) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(root, "*.jsonl"))
	seen := make(map[string]bool)
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for d := json.NewDecoder(f); ; {
			var line struct {
				Timestamp string
				Message   json.RawMessage
			}
			if d.Decode(&line) != nil {
				break // the end, or a torn line
			}
			var m struct {
				Role  string
				Usage *struct {
					Input, Output, CacheRead, CacheWrite int64
					Cost                                 struct{ Total float64 }
				}
			}
			if line.Message == nil || json.Unmarshal(line.Message, &m) != nil || m.Usage == nil || seen[line.Timestamp+string(line.Message)] {
				continue
			}
			seen[line.Timestamp+string(line.Message)] = true
			at, err := time.Parse(time.RFC3339, line.Timestamp)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, plainUse{at, m.Usage.Input + m.Usage.Output + m.Usage.CacheRead + m.Usage.CacheWrite, m.Usage.Cost.Total})
		}
		f.Close()
	}
	slices.SortFunc(list, func(a, b plainUse) int { return a.at.Compare(b.at) })
	return list
}

// sum is what was used in a period.
type sum struct {
	Tokens int64
	Cost   float64
}

// plainSums adds up uses in a zone by day, week, month or block.
func plainSums(list []plainUse, by string, zone *time.Location) map[string]sum {
	sums, start := make(map[string]sum), time.Time{}
	for _, u := range list {
		if start.IsZero() || u.at.Sub(start) >= 5*time.Hour {
			start = u.at.UTC()
			start = time.Date(start.Year(), start.Month(), start.Day(), start.Hour(), 0, 0, 0, time.UTC)
		}
		local, key := u.at.In(zone), ""
		switch by {
		case "day":
			key = local.Format("2006-01-02")
		case "week":
			year, week := local.ISOWeek()
			key = fmt.Sprintf("%d-W%02d", year, week)
		case "month":
			key = local.Format("2006-01")
		case "block":
			key = start.Format(time.RFC3339)
		}
		sums[key] = sum{sums[key].Tokens + u.tokens, sums[key].Cost + u.cost}
	}
	return sums
}

// usageIn runs usage in a zone, and returns its rows as sums.
func usageIn(t *testing.T, root, index, by string, zone *time.Location) map[string]sum {
	t.Helper()
	a, out, errs := testApp(t)
	a.Zone = func() *time.Location { return zone }
	if code := Run(context.Background(), a, []string{"usage", "--json", "--by", by, "--session-dir", root, "--index-dir", index}); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var answer struct {
		Rows []struct {
			Day, Week, Month, Block string
			Tokens                  int64
			Cost                    float64
		}
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	sums := make(map[string]sum)
	for _, r := range answer.Rows {
		sums[r.Day+r.Week+r.Month+r.Block] = sum{r.Tokens, r.Cost}
	}
	return sums
}

// Days of 23 and 25 hours, weeks, months and blocks have what the files say, in every zone.
func TestUsageInZones(t *testing.T) {
	root := t.TempDir()
	writeUses(t, root)
	roots, indexes := []string{root}, t.TempDir()
	if dir := testkit.Fixtures(); dir != "" {
		roots = append(roots, filepath.Join(dir, "real"))
	}
	var uses [][]plainUse
	for _, root := range roots {
		uses = append(uses, plainUses(t, root))
	}
	for _, name := range []string{"Australia/Lord_Howe", "America/Havana", "UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Auckland"}[:testkit.HowMany(2, 7, 7)] {
		zone, err := time.LoadLocation(name)
		if err != nil {
			testkit.Missing(t, err.Error())
		}
		for i, root := range roots {
			for _, by := range []string{"day", "week", "month", "block"} {
				got := usageIn(t, root, filepath.Join(indexes, strconv.Itoa(i)), by, zone)
				if diff := cmp.Diff(plainSums(uses[i], by, zone), got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
					t.Errorf("%s by %s of %s (-files +usage):\n%s", name, by, root, diff)
				}
			}
		}
	}
}

// Today and this week are those of the zone, and begin on Monday.
func TestUsageLine(t *testing.T) {
	root := t.TempDir()
	writeUses(t, root)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	now := time.Date(2026, 3, 30, 23, 50, 0, 0, berlin) // a Monday
	var today float64
	weeks := make(map[int]float64)
	for _, u := range plainUses(t, root) {
		if u.at.In(berlin).Format(time.DateOnly) == "2026-03-30" {
			today += u.cost
		}
		_, w := u.at.In(berlin).ISOWeek()
		weeks[w] += u.cost
	}
	a, out, errs := testApp(t)
	a.Zone = func() *time.Location { return berlin }
	run := func(now time.Time, flags ...string) string {
		a.Now = func() time.Time { return now.UTC() }
		out.Reset()
		if code := Run(context.Background(), a, append([]string{"usage", "--session-dir", root}, flags...)); code != 0 {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		return out.String()
	}
	if want := fmt.Sprintf("$%.2f today · $%.2f week\n", today, weeks[14]); run(now, "--line") != want {
		t.Errorf("on Monday: %q, want %q", out, want)
	}
	if want := fmt.Sprintf(" · $%.2f week\n", weeks[13]); !strings.HasSuffix(run(now.AddDate(0, 0, -1), "--line"), want) {
		t.Errorf("on Sunday: %q, want %q", out, want)
	}
	var answer struct{ Today, ThisWeek *struct{ Cost float64 } }
	if err := json.Unmarshal([]byte(run(now, "--json")), &answer); err != nil || answer.Today == nil || answer.ThisWeek == nil {
		t.Fatalf("JSON without today and this week: %v, %s", err, out)
	}
	if got := fmt.Sprintf("%.6f %.6f", answer.Today.Cost, answer.ThisWeek.Cost); got != fmt.Sprintf("%.6f %.6f", today, weeks[14]) {
		t.Errorf("in JSON today and this week cost %s, want %f %f", got, today, weeks[14])
	}
	if strings.Contains(run(now, "--json", "--since", "2026-01-01"), `"today"`) {
		t.Errorf("an answer about another time has today: %s", out)
	}
	got := run(now, "--color", "always", "--by", "block")
	for start := range plainSums(plainUses(t, root), "block", berlin) {
		from, err := time.Parse(time.RFC3339, start)
		if err != nil {
			t.Fatal(err)
		}
		to := from.Add(5 * time.Hour)
		if row := "\n" + from.In(berlin).Format("2006-01-02 15:04") + "–" + to.In(berlin).Format("15:04") + " "; !strings.Contains(got, row) {
			t.Errorf("%q is missing in:\n%s", row, got)
		}
		if left := to.Sub(now); left > 0 && left <= 5*time.Hour && !strings.Contains(got, fmt.Sprintf("the current block ends in 0:%02.0f h", left.Minutes())) {
			t.Errorf("the block ends in %v:\n%s", left, got)
		}
	}
}

// What an agent adds is in the next line of --watch, which ends when it is interrupted.
func TestUsageWatch(t *testing.T) {
	root := t.TempDir()
	writeUses(t, root)
	a, _, errs := testApp(t)
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	a.Now = func() time.Time { return now }
	r, w := io.Pipe()
	a.Streams.Out = w
	ctx, stop := context.WithCancel(context.Background())
	code := make(chan int, 1)
	go func() { code <- Run(ctx, a, []string{"usage", "--line", "--watch", "--session-dir", root}) }()
	lines := bufio.NewScanner(r)
	lines.Scan()
	first := lines.Text()
	f, err := os.OpenFile(filepath.Join(root, "zones1.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, `{"type":"message","id":"more","parentId":null,"timestamp":"2026-03-31T11:59:00.000Z","message":{"role":"assistant","content":[],"provider":"p","model":"m","usage":{"input":1,"cost":{"total":1000}}}}`)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	lines.Scan()
	if second := lines.Text(); !strings.HasPrefix(second, "$10") || len(second) <= len(first) || first == "" {
		t.Errorf("%q, then %q", first, second)
	}
	stop()
	if got := <-code; got != 130 {
		t.Errorf("exit code %d: %s", got, errs)
	}
}
