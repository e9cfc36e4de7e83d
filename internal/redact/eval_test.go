package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRealEval(t *testing.T) {
	files, _ := filepath.Glob(os.Getenv("PIGREP_FIXTURES") + "/real/*.jsonl")
	words, masked := 0, 0
	for _, name := range files {
		data, _ := os.ReadFile(name)
		for _, line := range bytes.Split(data, []byte("\n")) {
			var v any
			if json.Unmarshal(line, &v) != nil {
				continue
			}
			var walk func(v any)
			walk = func(v any) {
				switch v := v.(type) {
				case string:
					if len(v) > 2000 && !strings.Contains(v, " ") {
						return
					}
					words += len(strings.Fields(v))
					for _, s := range Find(v) {
						masked += len(strings.Fields(v[s.Start:s.End]))
						if os.Getenv("SHOW") != "" {
							fmt.Printf("%s\t%q\n", s.Rule, v[max(0, s.Start-50):min(len(v), s.End+20)])
						}
					}
				case []any:
					for _, x := range v {
						walk(x)
					}
				case map[string]any:
					for _, x := range v {
						walk(x)
					}
				}
			}
			walk(v)
		}
	}
	fmt.Println("words", words, "masked", masked)
}
