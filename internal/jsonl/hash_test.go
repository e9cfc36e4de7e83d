package jsonl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// Values have the same hash exactly if the standard library reads the same from them,
// however they are written.
func TestHash(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	said := make(map[uint64]string)
	for range 3000 {
		value := randomValue(rnd, 0)
		canonical, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var s Scanner
		h := s.Hash(checked(t, &s, string(canonical)))
		if other, ok := said[h]; ok && other != string(canonical) {
			t.Fatalf("Hash(%s) is that of %s", canonical, other)
		}
		said[h] = string(canonical)
		for range 3 {
			var b bytes.Buffer
			writeOddly(&b, rnd, value)
			if got := s.Hash(checked(t, &s, b.String())); got != h {
				t.Fatalf("Hash(%s) = %x, that of %s is %x", b.String(), got, canonical, h)
			}
		}
	}
}

// A list in a list is not the elements of both.
func TestHashOfListsInLists(t *testing.T) {
	said := make(map[uint64]string)
	for _, text := range []string{"[]", "[[]]", "[[],[]]", "[1]", "[[1]]", "[1,[]]", "[[],1]", "[[1],[]]", "[[1,[]]]", "[1,[],[]]"} {
		var s Scanner
		h := s.Hash(checked(t, &s, text))
		if other, ok := said[h]; ok {
			t.Errorf("Hash(%s) is that of %s", text, other)
		}
		said[h] = text
	}
}

func TestHashOfDeepValues(t *testing.T) {
	for _, depth := range []int{hashedDepth - 1, hashedDepth, hashedDepth + 1, 1_000_000} {
		var s Scanner
		of := func(inside string) uint64 {
			return s.Hash(checked(t, &s, strings.Repeat("[", depth)+inside+strings.Repeat("]", depth)))
		}
		if one := of("1"); of("1") != one || of("2") == one {
			t.Errorf("hashes of values %d deep do not tell them apart", depth)
		}
	}
}

func randomValue(rnd *rand.Rand, depth int) any {
	kinds := 7
	if depth > 4 {
		kinds = 5
	}
	switch rnd.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return rnd.IntN(2) == 0
	case 2:
		return []float64{0, 1, -7, 0.1, 1e-7, 1e21, 123456789.5, 1767323102000, 0.30000000000000004}[rnd.IntN(9)]
	case 3, 4:
		return strings.Repeat([]string{"", "a", "é", "\n\"/", "\u2028😀", "x\\u0041", "\uFFFD"}[rnd.IntN(7)], rnd.IntN(90))
	case 5:
		list := make([]any, rnd.IntN(4))
		for k := range list {
			list[k] = randomValue(rnd, depth+1)
		}
		return list
	}
	object := make(map[string]any)
	for range rnd.IntN(4) {
		object[[]string{"", "a", "b", "é", "\t"}[rnd.IntN(5)]] = randomValue(rnd, depth+1)
	}
	return object
}

// writeOddly writes a value with random white space and escapes, members in a random
// order and numbers in a random notation.
func writeOddly(b *bytes.Buffer, rnd *rand.Rand, value any) {
	space := func() { b.WriteString([]string{"", " ", "\n\t"}[rnd.IntN(3)]) }
	space()
	switch v := value.(type) {
	case string:
		writeString(b, rnd, v)
	case float64:
		text := strconv.FormatFloat(v, "feEg"[rnd.IntN(4)], -1, 64)
		if !strings.ContainsAny(text, ".eE") && rnd.IntN(2) == 0 {
			text += ".0"
		}
		b.WriteString(text)
	case []any:
		b.WriteByte('[')
		for k := range v {
			if k > 0 {
				b.WriteByte(',')
			}
			writeOddly(b, rnd, v[k])
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		between := ""
		for key, member := range v { // in Go's random order
			b.WriteString(between)
			space()
			writeString(b, rnd, key)
			space()
			b.WriteByte(':')
			writeOddly(b, rnd, member)
			between = ","
		}
		b.WriteByte('}')
	default:
		fmt.Fprint(b, map[any]string{nil: "null", true: "true", false: "false"}[v])
	}
	space()
}

func writeString(b *bytes.Buffer, rnd *rand.Rand, text string) {
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '/' && rnd.IntN(2) == 0:
			b.WriteString(`\/`)
		case r > 0xffff && rnd.IntN(2) == 0:
			fmt.Fprintf(b, `\u%04x\u%04X`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		case r < ' ' || r == '"' || r == '\\' || r <= 0xffff && rnd.IntN(9) == 0:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}
