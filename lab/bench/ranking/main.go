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

// A group is some of the results.
type group struct {
	name string
	has  func(r *ranking.Result) bool
}

// printGroups calls print for the results of each group that has any: by class, all,
// and by set, first the queries for tuning and then those held out.
func printGroups(out io.Writer, all []ranking.Result, columns string, print func(list []ranking.Result)) {
	var groups []group
	for _, class := range ranking.Classes {
		groups = append(groups, group{class, func(r *ranking.Result) bool { return r.Class == class }})
	}
	groups = append(groups, group{"all", func(*ranking.Result) bool { return true }})
	for _, set := range []string{"made", "real"} {
		groups = append(groups, group{"- " + set, func(r *ranking.Result) bool { return r.Set == set }})
	}
	for _, split := range []group{
		{"tuning", func(r *ranking.Result) bool { return !r.Held }},
		{"held out", func(r *ranking.Result) bool { return r.Held }},
	} {
		fmt.Fprintf(out, "\n%-10s %4s%s\n", split.name, "n", columns)
		for _, g := range groups {
			var list []ranking.Result
			for i := range all {
				if split.has(&all[i]) && g.has(&all[i]) {
					list = append(list, all[i])
				}
			}
			if len(list) > 0 {
				fmt.Fprintf(out, "%-10s %4d", g.name, len(list))
				print(list)
				fmt.Fprintln(out)
			}
		}
	}
}

func printFigures(out io.Writer, all []ranking.Result) {
	columns := ""
	for _, m := range ranking.Measures {
		columns += fmt.Sprintf(" %8s", m)
	}
	columns += "  | plain BM25:"
	for _, m := range ranking.Measures[:ranking.Grouped] {
		columns += fmt.Sprintf(" %8s", m)
	}
	printGroups(out, all, columns, func(list []ranking.Result) {
		pigrep, plain := ranking.Mean(list)
		for _, f := range pigrep {
			fmt.Fprintf(out, " %8.3f", f)
		}
		fmt.Fprintf(out, "  |            ")
		for _, f := range plain[:ranking.Grouped] {
			fmt.Fprintf(out, " %8.3f", f)
		}
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
	columns := ""
	for _, m := range ranking.Measures {
		columns += fmt.Sprintf("  %-23s", m)
	}
	printGroups(out, both, columns, func(list []ranking.Result) {
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
