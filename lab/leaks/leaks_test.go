package leaks

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/spf13/viper"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/logging"

	"pigrep/internal/redact"
)

// surrounding is the text around a secret: around one with a name, around one alone, and
// around a text that already surrounds its secret.
type surrounding struct {
	what, named, alone, whole string
	encode                    func(string) string // of the secret, or of the whole text
}

// {n} is the name, {N} the name written as that of a variable, {s} the secret.
var surroundings = []surrounding{
	{"prose", "I think the {n} is {s} since last week.", "Then I typed {s} into the form.", "They wrote this to me:\n\n{s}\n\nand nothing else.", nil},
	{"JSON", `{"id": 7, "{n}": "{s}", "active": true}`, `{"id": 7, "value": "{s}", "active": true}`, `{"id": 7, "text": "{s}"}`, quoted},
	{"CSV", "7,{n},{s},2024-05-01\n", "7,Ann,{s},2024-05-01\n", "7,Ann,\"{s}\",2024-05-01\n", func(s string) string { return strings.ReplaceAll(s, `"`, `""`) }},
	{"YAML", "app:\n  {n}: {s}\n  debug: false\n", "values:\n  - {s}\n  - other\n", "text: |\n  {s}\n", indented("  ")},
	{"env", "LANG=C\n{N}={s}\nHOME=/root\n", "LANG=C\nX1={s}\nHOME=/root\n", "LANG=C\n{s}\nHOME=/root\n", nil},
	{"shell", "./deploy.sh --{n} {s} --verbose", "./deploy.sh {s} staging", "cat <<EOF\n{s}\nEOF", nil},
	{"URL", "https://api.example.org/v1/items?page=2&{n}={s}&sort=asc", "https://api.example.org/v1/items?page=2&v={s}&sort=asc", "https://example.org/paste?text={s}", url.QueryEscape},
	{"log line", "2024-05-01T12:00:00Z INFO app[71]: {n}={s} retries=3", "2024-05-01T12:00:00Z INFO app[71]: got {s} from the cache", "2024-05-01T12:00:00Z INFO app[71]: {s}", nil},
	{"diff", "@@ -1,2 +1,2 @@\n-{n} = \"\"\n+{n} = \"{s}\"\n debug = false\n", "@@ -1,2 +1,2 @@\n-  \"\",\n+  \"{s}\",\n", "@@ -1,0 +1,2 @@\n+{s}\n", indented("+")},
	{"quoted in JSON", `{"output": "{\"{n}\": \"{s}\"}\n"}`, `{"output": "[\"{s}\", 7]\n"}`, `{"output": "{\"text\": \"{s}\"}\n"}`, func(s string) string { return quoted(quoted(s)) }},
}

func quoted(s string) string {
	q, _ := json.Marshal(s)
	return string(q[1 : len(q)-1])
}

func indented(by string) func(string) string {
	return func(s string) string { return strings.ReplaceAll(s, "\n", "\n"+by) }
}

func (c surrounding) text(s sample) string {
	text, secret := c.named, s.secret
	switch {
	case s.whole != "":
		text, secret = c.whole, s.whole
	case s.name == "":
		text = c.alone
	}
	if c.encode != nil {
		secret = c.encode(secret)
	}
	variable := strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(s.name))
	return strings.NewReplacer("{n}", s.name, "{N}", variable, "{s}", secret).Replace(text)
}

var masks = regexp.MustCompile(`\[redacted:[a-z-]+\]`)

// shows reports whether a masked text still has half of what was invented, plain or encoded.
func (c surrounding) shows(masked string, s sample) bool {
	masked = masks.ReplaceAllString(masked, "\x00")
	core := s.core
	if c.encode != nil {
		core = c.encode(core)
	}
	half := len(core) / 2
	return strings.Contains(masked, core[:half]) || strings.Contains(masked, core[len(core)-half:])
}

func rules(t *testing.T) config.Config {
	logging.Logger = zerolog.Nop()
	viper.SetConfigType("toml")
	if err := viper.ReadConfig(strings.NewReader(config.DefaultConfig)); err != nil {
		t.Fatal(err)
	}
	var raw config.ViperConfig
	if err := viper.Unmarshal(&raw); err != nil {
		t.Fatal(err)
	}
	cfg, err := raw.Translate()
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// In each surrounding, 98 of 100 secrets that gitleaks finds are masked.
func TestSecretsOfGitleaksAreMasked(t *testing.T) {
	const each = 8 // samples of a rule
	cfg := rules(t)
	rnd := rand.New(rand.NewPCG(8, 30))
	var without []string
	leaks := make(map[string]int)           // of a rule
	example := make(map[string]string)      // of a rule
	shown := make([]int, len(surroundings)) // in a surrounding
	samples := 0
	for _, id := range cfg.OrderedRules {
		list := samplesOf(cfg, cfg.Rules[id], each, rnd)
		if len(list) == 0 {
			without = append(without, id)
		}
		for _, s := range list {
			samples++
			for i, c := range surroundings {
				text := c.text(s)
				if masked := redact.Text(text); c.shows(masked, s) {
					shown[i]++
					leaks[id]++
					if example[id] == "" || os.Getenv("LEAKS") != "" {
						example[id] += fmt.Sprintf("\n    %-8.8s %.300q\n          -> %.300q", c.what, text, masked)
					}
				}
			}
		}
	}
	t.Logf("%d rules, %d samples; no sample that gitleaks finds alone: %v", len(cfg.OrderedRules), samples, without)
	all := 0
	for i, c := range surroundings {
		all += shown[i]
		share := 100 * float64(samples-shown[i]) / float64(samples)
		t.Logf("%-14s %6.2f %% masked", c.what, share)
		if share < 98 {
			t.Errorf("%s: %.2f %% of %d are masked, want 98", c.what, share, samples)
		}
	}
	n := samples * len(surroundings)
	t.Logf("%-14s %6.2f %% of %d masked", "all", 100*float64(n-all)/float64(n), n)
	worst := slices.SortedFunc(maps.Keys(leaks), func(a, b string) int { return leaks[b] - leaks[a] })
	for _, id := range worst {
		t.Logf("%3d of %d leak of %s:%s", leaks[id], each*len(surroundings), id, example[id])
	}
}
