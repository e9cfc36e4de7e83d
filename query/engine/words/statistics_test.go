package words

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/lab/stories"
	"pigrep/query/engine/filter"
)

// plain is what a plan says, without what belongs to one index.
type plain struct {
	Words                                                []plainWord
	Weight, Length                                       float64
	Important, Informative, Slight                       uint64
	Sentence, Key, Open, WantsLatest, WantsUser, Inexact bool
	Warnings                                             []string
}

type plainWord struct {
	Terms                                       []Expansion
	Parts                                       []string
	Emphasis, Weight, PartSum, AllIDF, WholeIDF float64
	PartIDF                                     []float64
	Split                                       bool
	Meant                                       string
}

func plainOf(t *rapid.T, p *ResolvedQuery) plain {
	x := plain{
		Weight: p.Weight, Length: p.Length, Important: p.ImportantMask, Informative: p.InformativeMask, Slight: p.SlightMask,
		Sentence: p.IsSentence, Key: p.HasKey, Open: p.IsOpen, WantsLatest: p.WantsLatest, WantsUser: p.WantsUser, Inexact: p.Inexact, Warnings: p.Warnings,
	}
	for _, w := range p.Words {
		y := plainWord{w.Terms, w.Parts, w.Emphasis, w.Weight, w.PartSum, w.AllIDF, w.WholeIDF, w.PartIDF, w.Split, ""}
		if len(w.Terms) == 0 && len(w.Parts) == 0 && w.Loose {
			var err error
			if y.Meant, err = p.Similar(w); err != nil {
				t.Fatal(err)
			}
		}
		x.Words = append(x.Words, y)
	}
	return x
}

// With the statistics of several indexes, each of them resolves a query as one index with all
// their sessions does.
func TestSharedStatisticsGiveThePlanOfOneIndex(t *testing.T) {
	type shelf struct {
		all   *stories.Library
		parts []*stories.Library
	}
	var shelves []shelf
	for seed := range 10 {
		list := rapid.Custom(stories.DrawStories).Example(seed)
		s := shelf{all: stories.New(t, list...)}
		for range 3 {
			s.parts = append(s.parts, stories.New(t))
		}
		for i := range list {
			s.parts[(i+seed)%3].Add(list[i])
		}
		shelves = append(shelves, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		shelf := rapid.SampledFrom(shelves).Draw(t, "library")
		text := stories.DrawQuery(t, 1)
		if rapid.IntRange(0, 4).Draw(t, "with a typo or a prefix") == 0 {
			text += rapid.SampledFrom([]string{" renameing", " conection~", " t*", " connec", " logintoken", " pythn", " get how the user tokne now", " conectoin", " nmae~2"}).Draw(t, "word")
		}
		q, err := Compile(text, filter.Env{})
		if err != nil {
			return
		}
		want, err := Resolve(t.Context(), shelf.all.Reader, q, nil)
		if err != nil {
			t.Fatal(err)
		}
		var sum Statistics
		for _, part := range shelf.parts {
			s, err := Count(t.Context(), part.Reader, q, nil)
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			var sent Statistics
			if err := json.Unmarshal(data, &sent); err != nil {
				t.Fatal(err)
			}
			sum.Add(&sent)
		}
		for i, part := range shelf.parts {
			got, err := Resolve(t.Context(), part.Reader, q, &sum)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(plainOf(t, want), plainOf(t, got)); diff != "" {
				t.Fatalf("%q in part %d (-one index +with shared statistics):\n%s", text, i, diff)
			}
		}
	})
}

// Statistics of another machine are bounded, whatever they say.
func TestHostileStatistics(t *testing.T) {
	l := stories.New(t, stories.Story{Name: "a", Entries: []stories.Turn{stories.Prompt("connection token login"), stories.Reply("get the user name")}})
	many := `{"documents":5,"terms":{"a":1` + strings.Repeat(`,"b%d":1`, maxShared) + `}}`
	numbers := make([]any, maxShared)
	for i := range numbers {
		numbers[i] = i
	}
	for _, text := range []string{
		`{"documents":-5,"tokens":-7,"terms":{"token":-3},"compounds":{"getUserName":{"all":-1,"whole":9}}}`,
		`{"documents":9223372036854775807,"tokens":9223372036854775807,"terms":{"token":9223372036854775807,"login":1,"":7}}`,
		`{"documents":1,"terms":{"token":1000000},"newest":"9999-12-31T23:59:59Z"}`,
		`{"documents":0,"terms":null,"compounds":null}`, `{}`, `null`,
		`{"documents":1e400}`, `{"terms":{"a":"b"}}`, `{"terms":[1]}`, `[]`, `"x"`, `{"documents":NaN}`, `{"newest":"yesterday"}`,
		fmt.Sprintf(many, numbers...),
	} {
		var s Statistics
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			continue // it is told, not used
		}
		var sum Statistics
		for range 3 {
			sum.Add(&s)
		}
		for _, query := range []string{"token", "tok*", "tokne", "getUserName", "conection~2", `"user name"`, "logintoken"} {
			q, err := Compile(query, filter.Env{})
			if err != nil {
				t.Fatal(err)
			}
			p, err := Resolve(t.Context(), l.Reader, q, &sum)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range append([]float64{p.Weight, p.Length, p.Words[0].AllIDF, p.Words[0].WholeIDF}, p.Words[0].PartIDF...) {
				if math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
					t.Errorf("%.60s: %s has the weight %v", text, query, n)
				}
			}
		}
	}
	var s Statistics
	if err := json.Unmarshal(fmt.Appendf(nil, many, numbers...), &s); err == nil {
		t.Error("any number of terms is taken")
	}
}
