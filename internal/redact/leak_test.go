package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pigrep/lab/testkit"
)

// inventor makes the values of templates (see testdata/providers.txt), always the same
// ones.
type inventor struct{ *rand.Rand }

func newInventor() inventor { return inventor{rand.New(rand.NewPCG(2, 7))} }

var slots = regexp.MustCompile(`<(.)(\d+)>`)

func (v inventor) fill(text string) string {
	return slots.ReplaceAllStringFunc(text, func(slot string) string {
		m := slots.FindStringSubmatch(slot)
		chars := classes[m[1][0]]
		n, _ := strconv.Atoi(m[2])
		b := make([]byte, n)
		for i := range b {
			b[i] = chars[v.IntN(min(len(chars), 64))]
		}
		// A token of some length has a digit somewhere.
		if n >= 8 && strings.Contains(chars, "7") {
			b[n/2] = '7'
		}
		return string(b)
	})
}

var signs = strings.NewReplacer("⏎", "\n", "⇥", "\t", "␛", "\x1b", "·", "")

// encodings change a text as programs do that print it.
var encodings = map[string]func(string) string{
	"base64":  func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"percent": func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "_", "%5F") },
	"u": func(s string) string {
		out := ""
		for _, r := range s {
			out += fmt.Sprintf(`\u%04x`, r)
		}
		return out
	},
	"spread": func(s string) string { return strings.Join(strings.Split(s, ""), "\u200b") },
	"json": func(s string) string {
		q := strconv.Quote(s)
		return q[1 : len(q)-1]
	},
}

var encodedPart = regexp.MustCompile(`\{(base64|percent|u|spread|json):(.*)\}`)

// text returns the text of a template, and what is before, in and after its secret.
func (v inventor) text(template string) (before, secret, after string) {
	text := v.fill(signs.Replace(template))
	if m := encodedPart.FindStringSubmatchIndex(text); m != nil {
		name, plain := text[m[2]:m[3]], text[m[4]:m[5]]
		encode := encodings[name]
		if before, rest, ok := strings.Cut(plain, "«"); ok && name != "base64" {
			secret, after, _ := strings.Cut(rest, "»")
			plain = encode(before) + "«" + encode(secret) + "»" + encode(after)
		} else {
			plain = "«" + encode(strings.NewReplacer("«", "", "»", "").Replace(plain)) + "»"
		}
		text = text[:m[0]] + plain + text[m[1]:]
	}
	before, rest, ok1 := strings.Cut(text, "«")
	secret, after, ok2 := strings.Cut(rest, "»")
	if !ok1 || !ok2 {
		panic("no secret in " + template)
	}
	return before, secret, after
}

var masks = regexp.MustCompile(`\[redacted:[a-z-]+\]`)

// shows reports whether half of a secret is in a masked text.
func shows(masked, secret string) bool {
	masked = masks.ReplaceAllString(masked, "")
	half := max(min(6, len(secret)), len(secret)/2)
	return strings.Contains(masked, secret[:half]) || strings.Contains(masked, secret[len(secret)-half:])
}

// The forms in which programs print a token.
var prints = []string{
	"%s", "token %s.", "\x1b[32m%s\x1b[0m", `done\n%s\n`, "X_%s", `{"output":"a\n%s\n"}`, "MY_VAR='%s'", "%s,", "(%s)", "<code>%s</code>", "ok [1;31m%s",
}

// templates returns those of a file of testdata, with the ones that are known to
// leak: an exclamation mark is before them.
func templates(t testing.TB, file string) (masked, leaking []string) {
	for _, line := range lines(t, file) {
		if i := strings.Index(line, "\t«"); i > 0 && file == "providers.txt" {
			for _, print := range prints {
				masked = append(masked, strings.ReplaceAll(print, "%s", line[i+1:]))
			}
			continue
		}
		if file == "providers.txt" || file == "kinds.txt" {
			_, line, _ = strings.Cut(line, "\t")
		}
		if rest, ok := strings.CutPrefix(line, "!"); ok {
			leaking = append(leaking, rest)
		} else {
			masked = append(masked, line)
		}
	}
	return masked, leaking
}

// Of the secrets in a file of testdata, 98 of 100 are masked, and it is known which
// are not. What is masked once stays as it is.
func TestNoSecretLeaks(t *testing.T) {
	for _, file := range []string{"providers.txt", "contexts.txt", "outputs.txt", "kinds.txt"} {
		t.Run(file, func(t *testing.T) {
			masked, leaking := templates(t, file)
			for _, template := range masked {
				before, secret, after := newInventor().text(template)
				got := Text(before + secret + after)
				if shows(got, secret) {
					t.Errorf("%q is shown as %q", before+secret+after, got)
				}
				if again := Text(got); again != got {
					t.Errorf("%q is masked again: %q", got, again)
				}
				quoted, _ := json.Marshal(map[string]string{"output": before + secret + after})
				var back map[string]string
				if err := json.Unmarshal(JSON(quoted), &back); err != nil {
					t.Errorf("JSON(%s): %v", quoted, err)
				} else if shows(back["output"], secret) {
					t.Errorf("in JSON %s is shown as %q", quoted, back["output"])
				}
			}
			for _, template := range leaking {
				before, secret, after := newInventor().text(template)
				if got := Text(before + secret + after); !shows(got, secret) {
					t.Errorf("%q does not leak: remove its mark from testdata/%s", before+secret+after, file)
				}
			}
			if all := len(masked) + len(leaking); len(leaking)*100 > all*2 {
				t.Errorf("%d of %d leak, want 2 of 100 at most", len(leaking), all)
			}
		})
	}
}

// The sample of each form is masked, by its rule.
func TestFormsMaskTheirSamples(t *testing.T) {
	load()
	for _, x := range forms {
		before, secret, after := newInventor().text(x.sample)
		got := Text(before + secret + after)
		if strings.Contains(got, secret) || !strings.Contains(got, Mask(x.rule)) {
			t.Errorf("%s: %q is shown as %q", x.rule, before+secret+after, got)
		}
	}
}

// So is the sample of each row of the table of names and values.
func TestVerdictsMaskTheirSamples(t *testing.T) {
	for _, v := range verdicts {
		before, secret, after := newInventor().text(v.sample)
		if got, want := Text(before+secret+after), before+Mask(v.rule)+after; got != want {
			t.Errorf("class %d, link %d: %q is shown as %q, want %q", v.class, v.link, before+secret+after, got, want)
		}
	}
}

// bareTokens returns a token of each provider whose tokens need nothing around them.
func bareTokens(t testing.TB) (tokens []string) {
	for _, line := range lines(t, "providers.txt") {
		_, template, _ := strings.Cut(line, "\t")
		if before, token, after := newInventor().text(template); before+after == "" && !strings.Contains(token, "%") {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// However a token is encoded, nothing is left of it.
func TestEncodedTokensAreMasked(t *testing.T) {
	for name, encode := range map[string]func(string) string{
		"base64":           encodings["base64"],
		"base64 for URLs":  func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"base64 of a line": func(s string) string { return base64.StdEncoding.EncodeToString([]byte("export X=" + s + "\n")) },
		"percent":          func(s string) string { return strings.ReplaceAll(fmt.Sprintf("% x", s), " ", "%") },
		"escapes":          encodings["u"],
		"zero width":       encodings["spread"],
		"colours within":   func(s string) string { return s[:len(s)/2] + "\x1b[0m\x1b[1;31m" + s[len(s)/2:] },
	} {
		for _, token := range bareTokens(t) {
			text := encode(token)
			if name == "percent" {
				text = "%" + text
			}
			if got := masks.ReplaceAllString(Text(text), ""); len(got) > len(text)/8 {
				t.Errorf("%s: %q is shown as %q", name, text, got)
			}
		}
	}
}

// A terminal breaks long lines within tokens. Of 100 tokens, 95 are masked whole.
func TestBrokenTokensAreMasked(t *testing.T) {
	n, leaked := 0, 0
	for _, width := range []int{60, 80, 100} {
		for _, token := range bareTokens(t) {
			if len(token) < 24 {
				continue
			}
			n++
			text, rest := "", "the token of the service that you asked for is "+token+" and more"
			for ; len(rest) > width; rest = rest[width:] {
				text += rest[:width] + "\n"
			}
			got := masks.ReplaceAllString(Text(text+rest), "")
			if strings.Contains(got, token[8:14]) || strings.Contains(got, token[len(token)-6:]) {
				leaked++
			}
		}
	}
	if leaked*20 > n {
		t.Errorf("%d of %d leak, want 5 of 100 at most", leaked, n)
	}
}

// Of the words in real sessions, one in a thousand at most is masked.
func TestFewWordsAreMasked(t *testing.T) {
	var files []string
	if dir := testkit.Fixtures(); dir != "" {
		files, _ = filepath.Glob(filepath.Join(dir, "real", "*.jsonl"))
	} else {
		files = testkit.SessionFiles(t)
	}
	words, masked := 0, 0
	var count func(v any)
	count = func(v any) {
		switch v := v.(type) {
		case string:
			words += len(strings.Fields(v))
			for _, s := range Find(v) {
				masked += len(strings.Fields(v[s.Start:s.End]))
			}
		case []any:
			for _, x := range v {
				count(x)
			}
		case map[string]any:
			for _, x := range v {
				count(x)
			}
		}
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			var v any
			if json.Unmarshal([]byte(line), &v) == nil {
				count(v)
			}
		}
	}
	t.Logf("%d of %d words are masked", masked, words)
	if words == 0 || masked*1000 > words {
		t.Errorf("%d of %d words are masked, want 1 of 1,000 at most", masked, words)
	}
}
