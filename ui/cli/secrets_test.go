package cli

import (
	"encoding/json"
	"fmt"
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
