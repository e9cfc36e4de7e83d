package redact

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestGlEval(t *testing.T) {
	data, err := os.ReadFile("/root/glk-eval/samples.tsv")
	if err != nil {
		t.Skip()
	}
	n, ok := 0, 0
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		id, s, _ := strings.Cut(line, "\t")
		a, rest, _ := strings.Cut(s, "\x01")
		sec, b, _ := strings.Cut(rest, "\x02")
		if len(sec) < 4 {
			continue
		}
		n++
		got := Text(a + sec + b)
		if len(sec) > 3 && strings.Contains(got, sec[len(sec)/2:]) || strings.Contains(got, sec[:len(sec)/2+1]) {
			fmt.Printf("%s\t%s«%s»%s\n", id, a, sec, b)
		} else {
			ok++
		}
	}
	fmt.Println(ok, "of", n)
}
