// Command ranking prints how well pigrep orders entries, on the graded queries of
// testdata/ranking.
//
//	go run ./lab/bench/ranking
//	go run ./lab/bench/ranking -json before.json
//	go run ./lab/bench/ranking -base before.json
//	go run ./lab/bench/ranking -losers -explain
//
// The queries over real sessions need the variable PIGREP_FIXTURES. Queries that are
// held out are only ever printed as means.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pigrep/lab/must"
	"pigrep/lab/ranking"
	"pigrep/lab/testkit"
)

type options struct {
	json, base      string
	losers, explain bool
}

func main() {
	var o options
	// Not flag.CommandLine: packages for tests add flags to it.
	f := flag.NewFlagSet("ranking", flag.ExitOnError)
	f.StringVar(&o.json, "json", "", "write the figures of each query to this file")
	f.StringVar(&o.base, "base", "", "print the differences from the figures in this file, with intervals")
	f.BoolVar(&o.losers, "losers", false, "list the tuning queries whose first hit is not a best one")
	f.BoolVar(&o.explain, "explain", false, "with -losers: how the scores of both were computed")
	f.Parse(os.Args[1:])
	if err := run(o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ranking:", err)
		os.Exit(1)
	}
}

func run(o options, out io.Writer) (err error) {
	defer must.Catch(&err)
	work := must.Get(os.MkdirTemp("", "ranking"))
	defer os.RemoveAll(work)
	made := must.Get(ranking.OpenMade(filepath.Join(work, "made"), testkit.Root()))
	defer made.Close()
	sets := []*ranking.Set{made}
	real, err := ranking.OpenReal(filepath.Join(work, "real"), testkit.Root(), testkit.Fixtures())
	if errors.Is(err, ranking.ErrMissing) {
		fmt.Fprintf(os.Stderr, "ranking: WITHOUT REAL SESSIONS: %v\n", err)
	} else {
		must.Do(err)
		defer real.Close()
		sets = append(sets, real)
	}
	var all []ranking.Result
	for _, s := range sets {
		list := must.Get(s.Run())
		all = append(all, list...)
		if o.losers {
			printLosers(out, s, list, o.explain)
		}
	}
	printFigures(out, all)
	words := must.Get(ranking.OpenAll(filepath.Join(work, "all"), testkit.Root(), testkit.Fixtures()))
	defer words.Close()
	must.Do(words.PrintWords(out, o.losers))
	if o.base != "" {
		must.Do(printDifferences(out, all, read(o.base)), "-base ", o.base)
	}
	if o.json == "" {
		return nil
	}
	return os.WriteFile(o.json, must.Get(json.MarshalIndent(all, "", " ")), 0o644)
}

func read(path string) (list []ranking.Result) {
	must.Do(json.Unmarshal(must.Get(os.ReadFile(path)), &list), "read ", path)
	return list
}

// printGroups calls print for the results of each group that has any: by class, all,
// and by set, first the queries for tuning and then those held out.
func printGroups(out io.Writer, all []ranking.Result, columns string, print func(list []ranking.Result)) {
	groups := append(slices.Clone(ranking.Classes), "all", "- made", "- real")
	for _, held := range []bool{false, true} {
		fmt.Fprintf(out, "\n%-10s %4s%s\n", map[bool]string{false: "tuning", true: "held out"}[held], "n", columns)
		for _, name := range groups {
			var list []ranking.Result
			for _, r := range all {
				if r.Held == held && slices.Contains([]string{r.Class, "all", "- " + r.Set}, name) {
					list = append(list, r)
				}
			}
			if len(list) > 0 {
				fmt.Fprintf(out, "%-10s %4d", name, len(list))
				print(list)
				fmt.Fprintln(out)
			}
		}
	}
}

// columns formats each item of a list.
func columns[T any](format string, list []T) (s string) {
	for _, item := range list {
		s += fmt.Sprintf(format, item)
	}
	return s
}

func printFigures(out io.Writer, all []ranking.Result) {
	names := ranking.Measures[:]
	head := columns(" %8s", names) + "  | plain BM25:" + columns(" %8s", names[:ranking.Grouped])
	printGroups(out, all, head, func(list []ranking.Result) {
		pigrep, plain := ranking.Mean(list)
		fmt.Fprint(out, columns(" %8.3f", pigrep[:]), "  |            ", columns(" %8.3f", plain[:ranking.Grouped]))
	})
}

// printDifferences prints by how much the figures are above those of base, and 95 %
// intervals. A difference whose interval does not contain zero is marked.
func printDifferences(out io.Writer, all, base []ranking.Result) error {
	type key struct{ set, query string }
	before := map[key]ranking.Figures{}
	for _, r := range base {
		before[key{r.Set, r.Query}] = r.Pigrep
	}
	var both []ranking.Result
	for _, r := range all {
		if _, ok := before[key{r.Set, r.Query}]; ok {
			both = append(both, r)
		}
	}
	if len(both) == 0 {
		return errors.New("it has none of the queries")
	}
	fmt.Fprintf(out, "\nDifferences of %d queries; %d of this run and %d of the file are not in both.\n", len(both), len(all)-len(both), len(base)-len(both))
	printGroups(out, both, columns("  %-23s", ranking.Measures[:]), func(list []ranking.Result) {
		for m := range ranking.Measures {
			differences := make([]float64, len(list))
			for i, r := range list {
				differences[i] = r.Pigrep[m] - before[key{r.Set, r.Query}][m]
			}
			mean, low, high := ranking.Bootstrap(differences)
			mark := ""
			if low > 0 || high < 0 {
				mark = " *"
			}
			fmt.Fprintf(out, "  %-23s", fmt.Sprintf("%+.3f (%+.3f %+.3f)%s", mean, low, high, mark))
		}
	})
	return nil
}

// printLosers lists the queries for tuning whose first hit does not have the best grade.
func printLosers(out io.Writer, s *ranking.Set, list []ranking.Result, explain bool) {
	for _, r := range list {
		rank := ranking.Rank(r.Flat.Entries, r.Grades)
		if r.Held || rank == 1 {
			continue
		}
		fmt.Fprintf(out, "%s %s: %s\n", s.Name, r.Class, r.Query)
		show := func(rank int) {
			e := r.Flat.Entries[rank-1]
			h := r.Flat.Hits[e]
			grade := "not judged"
			if g, ok := r.Grades[e]; ok {
				grade = fmt.Sprintf("grade %d", g)
			}
			fmt.Fprintf(out, "  %2d. %-10s %s (%s) %.70q\n", rank, grade, s.Position(e), h.Kind, strings.Join(strings.Fields(h.Fragment.Text), " "))
			if explain {
				data, _ := json.Marshal(h.Explain) // numbers and strings
				fmt.Fprintf(out, "      %.4f = %s\n", h.Score, data)
			}
		}
		if len(r.Flat.Entries) > 0 {
			show(1)
		}
		if rank > 0 {
			show(rank)
			continue
		}
		var best []string
		for e, grade := range r.Grades {
			if grade == ranking.Best {
				best = append(best, s.Position(e))
			}
		}
		slices.Sort(best)
		fmt.Fprintf(out, "   -. not among the first %d: %s\n", ranking.Depth, strings.Join(best, ", "))
	}
}
