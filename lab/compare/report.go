package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// result is the outcome of one query.
type result struct {
	*query
	difference string // empty when the answers are equal
	reason     string // of an intended difference
	unsteady   bool   // the new build answers differently each time
	commands   [2]string
}

func (r *result) command() string {
	if len(r.words) == 0 {
		return "(none)"
	}
	return strings.Join(r.words, " ")
}

// shownEach limits the differences shown for a command and corpus.
const shownEach = 3

// report counts results and prints differences as they arrive.
type report struct {
	out     io.Writer
	all     bool
	rows    []*tally
	reasons map[string]int
}

// tally is one row of the table.
type tally struct {
	corpus, command            string
	asked, different, intended int
}

func newReport(out io.Writer, all bool) *report {
	return &report{out: out, all: all, reasons: map[string]int{}}
}

func (r *report) add(t *corpusTree, results []*result) {
	rows := map[string]*tally{}
	for _, res := range results {
		row := rows[res.command()]
		if row == nil {
			row = &tally{corpus: t.name, command: res.command()}
			rows[res.command()] = row
			r.rows = append(r.rows, row)
		}
		row.asked++
		switch {
		case res.reason != "":
			row.intended++
			r.reasons[res.reason]++
		case res.difference != "":
			if row.different++; r.all || row.different <= shownEach {
				r.show(res)
			}
		}
	}
}

func (r *report) show(res *result) {
	fmt.Fprintf(r.out, "different: %s\n", res.line())
	if res.unsteady {
		fmt.Fprintln(r.out, "the new build gives another answer when it runs again")
	}
	fmt.Fprintf(r.out, "old: %s\nnew: %s\n%s\n", res.commands[0], res.commands[1], res.difference)
}

// finish prints the table and reports whether nothing differs.
func (r *report) finish() bool {
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "corpus\tcommand\tqueries\tequal\tdifferent\tintended")
	var sum tally
	for _, row := range r.rows {
		row.print(w)
		sum.asked, sum.different, sum.intended = sum.asked+row.asked, sum.different+row.different, sum.intended+row.intended
	}
	sum.corpus = "all"
	sum.print(w)
	w.Flush()
	for _, reason := range slices.Sorted(maps.Keys(r.reasons)) {
		fmt.Fprintf(r.out, "intended: %d × %s\n", r.reasons[reason], reason)
	}
	return sum.different == 0
}

func (t *tally) print(w io.Writer) {
	fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\n", t.corpus, t.command, t.asked, t.asked-t.different-t.intended, t.different, t.intended)
}
