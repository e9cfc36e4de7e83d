package cli

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/lab/testkit"
	"pigrep/ui/cli/problem"
)

// The secrets of the samples for masking are listed, and of the texts that look like secrets next to
// none. No answer has the value of a secret.
func TestSecretsAreToldFromLookAlikes(t *testing.T) {
	a, out, errs := testApp(t)
	lines := func(name string) []string {
		data := must(os.ReadFile(filepath.Join("..", "..", "internal", "redact", "testdata", name)))
		return strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' })
	}
	text, n := `{"type":"session","version":3,"id":"01a1bbbb-0000","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}`+"\n", 0
	write := func(kind, said string) {
		n++
		text += fmt.Sprintf(`{"type":"message","id":"%s%04d","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":%s}}`+"\n", kind, n, must(json.Marshal(said)))
	}
	values, real := make(map[string]string), make(map[string]bool)
	for _, line := range lines("secrets.txt") {
		if rule, sample, ok := strings.Cut(strings.NewReplacer("·", "", `\n`, "\n").Replace(line), "\t"); ok && line[0] != '#' {
			write("real", strings.NewReplacer("«", "", "»", "").Replace(sample))
			_, value, _ := strings.Cut(sample, "«")
			value, _, _ = strings.Cut(value, "»")
			values[fmt.Sprintf("real%04d", n)] = rule + "\t" + value
			real[value] = true // a value is listed once
		}
	}
	for _, line := range lines("near.txt") {
		if line[0] != '#' && !strings.Contains(line, "<") { // templates, which are filled in elsewhere
			write("near", strings.ReplaceAll(line, "⏎", "\n"))
		}
	}
	dir := filepath.Join(a.Home, ".pi", "agent", "sessions")
	testkit.Check(t, os.MkdirAll(dir, 0o755))
	testkit.Check(t, os.WriteFile(filepath.Join(dir, "01a1bbbb-0000.jsonl"), []byte(text), 0o600))
	if code := Run(t.Context(), a, []string{"secrets", "--json"}); code != problem.ExitNothing {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var answer struct {
		Total   int
		Secrets []struct {
			Kind, EntryID, Text string
			Sent                []string
		}
	}
	testkit.Check(t, json.Unmarshal(out.Bytes(), &answer))
	found, wrong := make(map[string]bool), 0
	for _, s := range answer.Secrets {
		rule, value, known := strings.Cut(values[s.EntryID], "\t")
		if !known {
			wrong++
			t.Logf("%s is told to be in %q", s.Kind, s.Text)
			continue
		}
		found[value] = true
		if len(value) > 8 && strings.Contains(s.Text, value) || s.Sent == nil {
			t.Errorf("%s: %q", rule, s.Text)
		}
	}
	total := len(answer.Secrets)
	if total != answer.Total || float64(total-wrong) < .95*float64(total) || float64(len(found)) < .95*float64(len(real)) {
		t.Errorf("%d of %d secrets are listed, and %d look-alikes of %d", len(found), len(real), wrong, n-len(values))
	}
	t.Logf("%d of %d secrets, and %d look-alikes of %d", len(found), len(real), wrong, n-len(values))
}

// A secret is sent if the archive has the bytes of its entry; what was written after the last push is not.
func TestSecretsSayWhatWasSent(t *testing.T) {
	a, out, errs := testApp(t)
	a.ConfigDir = filepath.Join(a.Home, ".config")
	dir := filepath.Join(a.Home, ".pi", "agent", "sessions")
	path := filepath.Join(dir, "01a1bbbb-0000.jsonl")
	said := func(id, key string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"password=%s"}}`+"\n", id, key)
	}
	text := `{"type":"session","version":3,"id":"01a1bbbb-0000","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}` + "\n" + said("aaaa0001", "Xk9vQ2mZ7pLw")
	offset := len(text)
	testkit.Check(t, os.MkdirAll(dir, 0o755))
	testkit.Check(t, os.WriteFile(path, []byte(text+said("aaaa0002", "Rt5bN8cYw3Hd")), 0o600))
	sum := sha256.Sum256([]byte("laptop\x00" + path))
	key := base64.RawURLEncoding.EncodeToString(sum[:16])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		state := must(json.Marshal(map[string]any{"sort": "session", "file_key": key, "host": "laptop", "path": path, "month": "2026.03", "gen": 1, "offset": offset, "lines": 2, "agent": "pi"}))
		fmt.Fprintf(w, `{"hits":{"hits":[{"_index":%q,"_id":%q,"_source":%s}]}}`, strings.Split(r.URL.Path, "/")[1], key, state)
	}))
	t.Cleanup(server.Close)
	if code := Run(t.Context(), a, []string{"remote", "add", "team", server.URL, "--as", "laptop"}); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	out.Reset()
	if code := Run(t.Context(), a, []string{"secrets", "--format", "{place} {sent}"}); code != problem.ExitNothing {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if got := out.String(); !strings.Contains(got, ":aaaa0001 team\n") || !strings.Contains(got, ":aaaa0002 \n") {
		t.Errorf("it prints %q, and says %q", got, errs)
	}
}
