package web

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pigrep/internal/session"
	"pigrep/query/engine/match"
	"pigrep/query/search"
	"pigrep/scope"
	"pigrep/ui/html"
	"pigrep/ui/report"
)

// backs are the variables that are behind text.
var backs = []string{"--paper", "--soft", "--softer", "--prompt-back", "--bad-back", "--added", "--removed"}

// use is what variables are for.
type use struct {
	name   *regexp.Regexp
	behind []string // the variables behind it
	least  float64  // contrast with each of them
}

// uses are those of the other variables; the first with the name counts.
var uses = []use{
	{regexp.MustCompile(`^--mark-back$`), []string{"--ink"}, 4.5},    // a marked word is ink, wherever it is
	{regexp.MustCompile(`^--(line|c-line|c-none|c-paper)$`), nil, 0}, // lines between rows, days without a value: they say nothing
	{regexp.MustCompile(`^--edge$`), []string{"--paper", "--soft"}, 3},
	{regexp.MustCompile(`^--(c-bad|[cl]\d)$`), []string{"--c-paper"}, 3}, // shapes of charts
	{regexp.MustCompile(`^--c-`), []string{"--c-paper"}, 4.5},
	{regexp.MustCompile(`^--`), backs, 4.5},
}

// Every text can be read on every background, and every shape of a chart or a control can
// be seen, in both schemes, as WCAG asks for at level AA. Colours are variables, so that
// there are no others.
func TestContrast(t *testing.T) {
	own, err := static("web.css")
	if err != nil {
		t.Fatal(err)
	}
	sheet := html.Style() + report.Style() + string(own)
	dark := regexp.MustCompile(`(?s)@media screen and \(prefers-color-scheme: dark\) \{(.*?)\n\}`)
	schemes := map[string]string{"light": dark.ReplaceAllString(sheet, ""), "dark": ""}
	for _, m := range dark.FindAllStringSubmatch(sheet, -1) {
		schemes["dark"] += m[1]
	}
	definition := regexp.MustCompile(`(--[\w-]+): (#[0-9a-f]+);`)
	for scheme, text := range schemes {
		colours := make(map[string]string)
		for _, m := range definition.FindAllStringSubmatch(text, -1) {
			colours[m[1]] = m[2]
		}
		if len(colours) < 30 {
			t.Fatalf("%s: %d colours", scheme, len(colours))
		}
		for name, colour := range colours {
			if slices.Contains(backs, name) {
				continue
			}
			use := uses[slices.IndexFunc(uses, func(u use) bool { return u.name.MatchString(name) })]
			for _, back := range use.behind {
				if got := contrast(t, colour, colours[back]); got < use.least {
					t.Errorf("%s: %s on %s has a contrast of %.2f, less than %v", scheme, name, back, got, use.least)
				}
			}
		}
	}
	for _, line := range strings.Split(definition.ReplaceAllString(sheet, ""), "\n") {
		if regexp.MustCompile(`#[0-9a-f]{3,8}\b|rgb|hsl|opacity: \.`).MatchString(line) && !strings.Contains(line, "::backdrop") {
			t.Errorf("a colour that is no variable: %s", line)
		}
	}
}

// contrast is the contrast of two colours, from 1 to 21.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	light, dim := luminance(t, a), luminance(t, b)
	return (max(light, dim) + 0.05) / (min(light, dim) + 0.05)
}

// luminance is the relative luminance of a colour as CSS writes it, from 0 to 1.
func luminance(t *testing.T, colour string) (sum float64) {
	t.Helper()
	digits := strings.TrimPrefix(colour, "#")
	if len(digits) == 3 {
		digits = strings.Join([]string{digits[:1], digits[:1], digits[1:2], digits[1:2], digits[2:], digits[2:]}, "")
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || len(digits) != 6 {
		t.Fatalf("%q is no colour", colour)
	}
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := float64(n>>(16-8*i)&0xff) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

// What was written as Markdown is shown without its signs, with the same words marked; calls and
// results are shown as they are.
func TestFragmentsWithoutSigns(t *testing.T) {
	const text = "# Plan **Publish to npm** - run `npm publish` ## Then ```bash\nnpm i``` C# 1 ** 2"
	f := match.Fragment{Text: text}
	for at := 0; ; {
		i := strings.Index(text[at:], "npm")
		if i < 0 {
			break
		}
		f.Spans = append(f.Spans, [2]int{at + i, at + i + len("npm")})
		at += i + 1
	}
	got := withoutSigns(session.KindReply, f)
	if want := "Plan Publish to npm - run npm publish Then bash\nnpm i C# 1  2"; got.Text != want || len(got.Spans) != len(f.Spans) {
		t.Errorf("%q, want %q", got.Text, want)
	}
	for _, s := range got.Spans {
		if marked := got.Text[s[0]:s[1]]; marked != "npm" {
			t.Errorf("%q is marked", marked)
		}
	}
	if got := withoutSigns(session.KindResult, f); got.Text != text {
		t.Errorf("a result is shown as %q", got.Text)
	}
}

// The headline counts the hits with every word and, separately, looser ones, with a link if they
// are not listed.
func TestSummary(t *testing.T) {
	for want, res := range map[string]search.Response{
		"15 hits in 4 sessions":                                               {Total: 15, TotalAny: 15},
		"15 hits in 4 sessions · 452 looser ones /?any=1&q=x":                 {Total: 15, TotalAny: 467, Folded: 452},
		"at least 1 hit in 4 sessions · 2 looser ones ":                       {Total: 1, TotalAny: 3},
		"452 looser hits in 10 sessions, none with every word":                {TotalAny: 452},
		"1 hit in 4 sessions · 696 with similar spelling /?any=1&q=x":         {Total: 1, TotalAny: 697, Similar: 696, Folded: 696},
		"1 hit in 4 sessions · 8 only as the name of an argument /?any=1&q=x": {Total: 1, TotalAny: 9, Named: 8, Folded: 8},
		"Nothing found": {},
	} {
		res.TotalIn, res.SessionTotal, res.TotalIsExact = min(4, res.Total*4), 10, !strings.HasPrefix(want, "at least")
		got := summaryOf(&res)
		if l := looserOf(searchParams{Text: "x", Scope: scope.Default, Limit: firstLimit}, &res); l != nil {
			got += " · " + l.Text + " " + l.Address
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
