package redact

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/redact.md")

// lines returns the lines of a testdata file without comments.
func lines(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list
}

// sample is a text with one secret in it.
type sample struct{ rule, before, secret, after string }

func samples(t testing.TB) []sample {
	t.Helper()
	load()
	var list []sample
	for _, line := range lines(t, "secrets.txt") {
		line = strings.NewReplacer("·", "", `\n`, "\n").Replace(line)
		rule, text, ok := strings.Cut(line, "\t")
		before, rest, ok1 := strings.Cut(text, "«")
		secret, after, ok2 := strings.Cut(rest, "»")
		if !ok || !ok1 || !ok2 {
			t.Fatalf("no sample: %q", line)
		}
		list = append(list, sample{rule, before, secret, after})
	}
	return list
}

func TestSecretsAreMasked(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range samples(t) {
		seen[s.rule] = true
		text := s.before + s.secret + s.after
		want := s.before + Mask(s.rule) + s.after
		if got := Text(text); got != want {
			t.Errorf("Text(%q)\n got %q\nwant %q", text, got, want)
		}
		if got := Text(want); got != want {
			t.Errorf("masking %q again gives %q", want, got)
		}
		quoted, err := json.Marshal(map[string]string{"output": text})
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]string
		if err := json.Unmarshal(JSON(quoted), &back); err != nil {
			t.Fatalf("JSON(%s): %v", quoted, err)
		}
		if back["output"] != want {
			t.Errorf("in JSON %q is %q, want %q", text, back["output"], want)
		}
	}
	for _, r := range rules {
		if !seen[r.id] {
			t.Errorf("rule %s has no sample in testdata/secrets.txt", r.id)
		}
	}
}

func TestNearMissesStay(t *testing.T) {
	for _, text := range lines(t, "near.txt") {
		text = newInventor().fill(signs.Replace(text))
		if got := Text(text); got != text {
			t.Errorf("Text(%q) = %q, want it as it is", text, got)
		}
	}
}

func TestMarksMoveAlong(t *testing.T) {
	tests := []struct {
		text  string
		marks [][2]int
		want  string
		moved []string // the text that the marks cover
	}{
		{"plain text", [][2]int{{0, 5}}, "plain text", []string{"plain"}},
		{"DB_PASSWORD=hunter2 and more", [][2]int{{0, 2}, {24, 28}}, "DB_PASSWORD=[redacted:password] and more", []string{"DB", "more"}},
		{"DB_PASSWORD=hunter2 x", [][2]int{{12, 18}}, "DB_PASSWORD=[redacted:password] x", []string{"[redacted:password]"}},
		{"DB_PASSWORD=hunter2 x", [][2]int{{12, 14}, {15, 17}, {20, 21}}, "DB_PASSWORD=[redacted:password] x", []string{"[redacted:password]", "x"}},
		{"DB_PASSWORD=hunter2 x", [][2]int{{3, 14}}, "DB_PASSWORD=[redacted:password] x", []string{"PASSWORD=[redacted:password]"}},
		{"DB_PASSWORD=hunter2 x", [][2]int{{3, 12}}, "DB_PASSWORD=[redacted:password] x", []string{"PASSWORD="}},
		{"DB_PASSWORD=hunter2 x", [][2]int{{19, 21}}, "DB_PASSWORD=[redacted:password] x", []string{" x"}},
	}
	for _, test := range tests {
		got, moved := Moved(test.text, Find(test.text), test.marks)
		var covered []string
		for _, m := range moved {
			covered = append(covered, got[m[0]:m[1]])
		}
		if got != test.want || !cmp.Equal(covered, test.moved) {
			t.Errorf("Moved(%q, %v) = %q with %q, want %q with %q", test.text, test.marks, got, covered, test.want, test.moved)
		}
	}
}

func TestAroundSeesWhatReachesIn(t *testing.T) {
	key := "-----BEGIN RSA PRIVATE " + "KEY-----\n" + strings.Repeat("MIIEpAIBAAKCAQEAx0123456789abcdef\n", 60) + "-----END RSA PRIVATE " + "KEY-----"
	text := strings.Repeat("filler ", 5000) + key + strings.Repeat(" filler", 5000)
	at := strings.Index(text, key)
	got := Around([]byte(text), at+1000, at+1100)
	if want := []Span{{at, at + len(key), "private-key"}}; !cmp.Equal(got, want) {
		t.Errorf("in the middle of a key: %v, want %v", got, want)
	}
	if got := Around([]byte(text), 0, 500); len(got) != 0 {
		t.Errorf("far from the key: %v", got)
	}
}

// A secret that is larger than the neighbourhood is masked completely.
func TestAroundFindsWhereLongOnesBegin(t *testing.T) {
	key := "-----BEGIN PGP PRIVATE " + "KEY BLOCK-----\n" + strings.Repeat("lQVYBAx0123456789abcdef/+\n", 900) + "-----END PGP PRIVATE " + "KEY BLOCK-----"
	token := "eyJhbGciOiJIUzI1NiJ9" + "." + "eyJ" + strings.Repeat("abcDEF0123", 2000) + ".xyz"
	for name, secret := range map[string]string{"private-key": key, "jwt": token} {
		text := strings.Repeat("filler ", 12000) + secret + strings.Repeat(" filler", 5000)
		at := strings.Index(text, secret)
		for _, from := range []int{0, 500, 5000, len(secret) - 200} {
			got := Around([]byte(text), at+from, at+from+100)
			if len(got) != 1 || got[0].Rule != name || got[0].Start != at || got[0].End < at+from+100 {
				t.Errorf("%s: %d bytes into a secret of %d: %v, want it from %d on", name, from, len(secret), got, at)
			}
		}
	}
}

// However short a secret is cut, the rest is masked once it can be recognized.
func TestBeginningMasksWhatIsCutOff(t *testing.T) {
	for _, s := range samples(t) {
		if len(s.secret) < 12 || s.rule == "private-key" && len(s.secret) < 60 {
			continue
		}
		for n := max(12, len(s.secret)*2/3); n < len(s.secret); n++ {
			text := s.before + s.secret[:n]
			for _, text := range []string{text, text + "…"} {
				if got := Beginning(text); strings.Contains(got, s.secret[:n]) {
					t.Errorf("Beginning(%q) = %q shows the beginning of a %s", text, got, s.rule)
				}
			}
		}
	}
	for _, text := range []string{"fix the parser", "fix the parser of the…", "", "…", "the path /home/u/app/src/main.go", "2026-01-15T10:30:03"} {
		if got := Beginning(text); got != text {
			t.Errorf("Beginning(%q) = %q, want it as it is", text, got)
		}
	}
}

func TestNamed(t *testing.T) {
	for _, test := range []struct {
		name, value string
		want        bool
	}{
		{"password", "correct horse", true},
		{"password", `tomato "lamp" \ seven`, true},
		{"password", "x1", true},
		{"password", "must be at least 8 characters", false},
		{"pwd", "/home/u/app", false},
		{"db_password", "$DB_PASSWORD", false},
		{"token", "a1b2c3d4e5f6g7h8", true},
		{"token", "identifier", false},
		{"path", "a1b2c3d4e5f6g7h8", false},
		{"command", "DB_PASSWORD=hunter2 make", false}, // only a part of it is a secret
	} {
		if _, got := Named(test.name, test.value); got != test.want {
			t.Errorf("Named(%q, %q) = %v, want %v", test.name, test.value, got, test.want)
		}
	}
}

func TestJSONKeepsItsForm(t *testing.T) {
	raw := `{ "a" : [1.50, "x\u00e9", null], "password":"hunter2", "n":{"token":"a1b2c3d4e5f6g7h8","ok":true}, "cmd":"PGPASSWORD=hunter2 psql \"x\""}`
	want := `{ "a" : [1.50, "x\u00e9", null], "password":"[redacted:password]", "n":{"token":"[redacted:secret]","ok":true}, "cmd":"PGPASSWORD=[redacted:password] psql \"x\""}`
	if got := string(JSON([]byte(raw))); got != want {
		t.Errorf("JSON:\n got %s\nwant %s", got, want)
	}
	if got := string(JSON([]byte("no json: DB_PASSWORD=hunter2"))); got != "no json: DB_PASSWORD=[redacted:password]" {
		t.Errorf("text that is no JSON: %s", got)
	}
}

// In JSON a name may be in another part than its value.
func TestJSONAcrossParts(t *testing.T) {
	const masked = "[redacted"
	for _, raw := range []string{
		`{"name":"DB_PASSWORD","value":"hunter2"}`,
		`{"value":"hunter2","name":"DB_PASSWORD"}`,
		`{"key":"api_token","type":"text","value":"a1b2c3d4e5f6g7h8"}`,
		`{"Name":"Authorization","Value":"Bearer a1b2c3d4e5f6g7h8"}`,
		`["serve","--password","S3cr3tPass"]`,
		`["Authorization","Bearer a1b2c3d4e5f6g7h8"]`,
		`{"db_password":{"sensitive":true,"type":"string","value":"hunter2"}}`,
		`{"passwords":["hunter2"]}`,
		`{"kty":"EC","d":"a1b2c3d4e5f6g7h8i9"}`,
		`{"command":"curl -u me:hunter2 x"}`,
		`{"env":"A=1\nDB_PASSWORD=hunter2\n"}`,
	} {
		got := string(JSON([]byte(raw)))
		if !strings.Contains(got, masked) || strings.Contains(got, "hunter2") || strings.Contains(got, "S3cr3t") || strings.Contains(got, "a1b2") || !json.Valid([]byte(got)) {
			t.Errorf("JSON(%s) = %s", raw, got)
		}
	}
	for _, raw := range []string{
		`{"name":"DB_HOST","value":"db.internal"}`,
		`{"name":"password","value":""}`,
		`["--password","--verbose"]`,
		`{"d":"a1b2c3d4e5f6g7h8i9","x":1}`,
		`{"password":{"type":"string","minLength":8}}`,
		`{"tokens":[1,2,3]}`,
	} {
		if got := string(JSON([]byte(raw))); got != raw {
			t.Errorf("JSON(%s) = %s, want it as it is", raw, got)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.before + s.secret + s.after)
	}
	for _, line := range lines(f, "near.txt") {
		f.Add(line)
	}
	f.Add(`{"password":"a\"b","x":["\u0000"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		spans := Find(text)
		at := 0
		for _, s := range spans {
			if s.Start < at || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("spans of %q: %v", text, spans)
			}
			at = s.End
		}
		masked, moved := Moved(text, spans, [][2]int{{0, len(text) / 2}, {len(text) / 2, len(text)}})
		for _, m := range moved {
			if m[0] < 0 || m[0] > m[1] || m[1] > len(masked) {
				t.Fatalf("Moved(%q): %v of %d bytes", text, moved, len(masked))
			}
		}
		if again := Text(masked); strings.Contains(again, "[redacted:[redacted:") && !strings.Contains(text, "[redacted:") {
			t.Fatalf("%q is masked as %q, and again as %q", text, masked, again)
		}
		if json.Valid([]byte(text)) && !json.Valid(JSON([]byte(text))) {
			t.Fatalf("JSON(%s) is no JSON: %s", text, JSON([]byte(text)))
		}
	})
}

// The table in docs/redact.md is generated from the rules.
func TestDocs(t *testing.T) {
	load()
	const path, mark = "../../docs/redact.md", "<!-- rules -->\n"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	b.WriteString("| rule | masks |\n|---|---|\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.id, r.what)
	}
	parts := strings.Split(string(data), mark)
	if len(parts) != 3 {
		t.Fatalf("%s has %d marks, want 2", path, len(parts)-1)
	}
	want := strings.Join([]string{parts[0], b.String(), parts[2]}, mark)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(data) {
		t.Errorf("%s is not what the rules say; go test ./internal/redact -update writes it:\n%s", path, cmp.Diff(string(data), want))
	}
}

func BenchmarkFind(b *testing.B) {
	plain := strings.Repeat("some words of a result without anything of the kind; a line of a log\n", 80)
	with := plain
	for _, s := range slices.Clone(samples(b)) {
		with += s.before + s.secret + s.after + "\n"
	}
	for name, text := range map[string]string{"plain": plain, "secrets": with} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Find(text)
			}
		})
	}
}
