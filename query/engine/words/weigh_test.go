package words

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/lab/stories"
	"pigrep/query/engine/filter"
)

// Of the words of a question, those that say something count in full; what is not a bare
// word is never taken for grammar.
func TestWeigh(t *testing.T) {
	s := stories.Story{Name: "talk", Start: stories.Day}
	for i := range 40 {
		s.Entries = append(s.Entries, stories.Prompt(fmt.Sprintf("how did we fix this the last time, I said, für uns %d", i)))
	}
	s.Entries = append(s.Entries,
		stories.Prompt("redis timeout, the current state, in the end"), stories.Prompt("bullets of lists in markdown"), stories.Prompt("what and how"))
	l := stories.New(t, s)
	for _, test := range []struct {
		query                    string
		telling                  string // the words that count in full
		sentence, latest, person bool
	}{
		{query: "redis timeout", telling: "redis timeout"},
		{query: "how did we fix the redis timeout", telling: "fix redis timeout", sentence: true},
		{query: "last redis timeout", telling: "last redis timeout"}, // the last of its kind
		{query: "what is the last redis timeout", telling: "redis timeout", sentence: true, latest: true},
		{query: "latest redis timeout", telling: "redis timeout", latest: true},
		{query: "why didn't the redis timeout", telling: "redis timeout", sentence: true},
		{query: "which redis in the timeout in the end", telling: "redis timeout", sentence: true, latest: true},
		{query: "last redis", telling: "last redis"}, // cues need two words
		{query: "is the redis timeout still there", telling: "redis timeout", sentence: true, latest: true},
		{query: "where the redis timeout ended up between", telling: "redis timeout ended", sentence: true}, // what happened, not what is
		{query: "redis timeout we ended up with", telling: "redis timeout", sentence: true, latest: true},
		{query: "redis timeout in the end", telling: "redis timeout", sentence: true, latest: true},
		{query: "redis in the timeout end", telling: "redis timeout end", sentence: true},
		{query: "what I said about redis timeout", telling: "redis timeout", sentence: true, person: true},
		{query: "who said redis timeout", telling: "said redis timeout"},
		{query: "redis für uns", telling: "redis", sentence: true},
		{query: "how did we", telling: "how did we"},          // nothing else is there
		{query: "how did we zorblaxq", telling: "how did we"}, // zorblaxq does not occur
		{query: `"how" redis "the last time"`, telling: `"how" redis "the last time"`},
		{query: "+how redis (the OR time)", telling: "how redis the time"},
		{query: "how !redis !timeout", telling: "how"},
	} {
		q, err := Compile(test.query, filter.Env{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Resolve(t.Context(), l.Reader, q, nil)
		if err != nil {
			t.Fatal(err)
		}
		telling, sum := "", 0.0
		for _, w := range p.Words {
			if p.InformativeMask&w.Bit != 0 {
				if telling != "" {
					telling += " "
				}
				telling += w.Text
			}
			if (p.InformativeMask&w.Bit != 0) != (w.Emphasis == 1 && w.Weight > 0) {
				t.Errorf("%q: emphasis of %q is %v", test.query, w.Text, w.Emphasis)
			}
			sum += w.Weight
		}
		if diff := cmp.Diff(test.telling, telling); diff != "" {
			t.Errorf("%q: words that tell (-want +got):\n%s", test.query, diff)
		}
		if p.IsSentence != test.sentence || p.WantsLatest != test.latest || p.WantsUser != test.person {
			t.Errorf("%q: sentence %v, latest %v, person %v", test.query, p.IsSentence, p.WantsLatest, p.WantsUser)
		}
		if p.InformativeMask&^p.Scored() != 0 || p.ImportantMask&^p.Scored() != 0 || p.ImportantMask == 0 || sum != p.Weight {
			t.Errorf("%q: of the scored words %b, %b tell and %b are weighty; weight %v, want %v", test.query, p.Scored(), p.InformativeMask, p.ImportantMask, p.Weight, sum)
		}
	}
}

// A word that is far more frequent than another one is not enough for a hit.
func TestWeighty(t *testing.T) {
	s := stories.Story{Name: "logs", Start: stories.Day}
	for i := range 300 {
		s.Entries = append(s.Entries, stories.Prompt(fmt.Sprintf("common %d", i)))
	}
	s.Entries = append(s.Entries, stories.Prompt("rare"))
	l := stories.New(t, s)
	for query, want := range map[string]uint64{"common rare": 2, "common": 1, "common missing": 3, `"common" rare`: 3, "+common rare": 3} {
		q, err := Compile(query, filter.Env{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Resolve(t.Context(), l.Reader, q, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.ImportantMask != want {
			t.Errorf("%s: weighty words %b, want %b", query, p.ImportantMask, want)
		}
	}
}
