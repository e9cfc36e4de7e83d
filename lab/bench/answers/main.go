// Command answers prints how many tokens an agent pays for the answer to a question, how often the
// answer has what was asked for, and what the list of tools costs.
//
//	go run ./lab/bench/answers
//	go run ./lab/bench/answers -program ./pigrep -questions 200 -list
//
// It asks graded questions of testdata/ranking through `pigrep mcp`: those about stories, and those
// about the session files in $PIGREP_FIXTURES/real. A token is four bytes of JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/lab/must"
	"pigrep/lab/ranking"
	"pigrep/lab/testkit"
)

func main() {
	// Not flag.CommandLine: packages for tests add flags to it.
	f := flag.NewFlagSet("answers", flag.ExitOnError)
	program := f.String("program", "", "the pigrep to ask; default: build one")
	n := f.Int("questions", 30, "how many")
	list := f.Bool("list", false, "list the questions")
	with := f.String("with", "{}", "further arguments of each search, as JSON")
	f.Parse(os.Args[1:])
	if err := run(*program, *with, *n, *list, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "answers:", err)
		os.Exit(1)
	}
}

func run(program, with string, n int, list bool, out io.Writer) (err error) {
	defer must.Catch(&err)
	work := must.Get(os.MkdirTemp("", "answers"))
	defer os.RemoveAll(work)
	if program == "" {
		program = filepath.Join(work, "pigrep")
		build := exec.Command("go", "build", "-o", program, ".")
		build.Dir, build.Stderr = testkit.Root(), os.Stderr
		must.Do(build.Run(), "build pigrep")
	}
	made := must.Get(ranking.OpenMade(filepath.Join(work, "made"), testkit.Root()))
	defer made.Close()
	must.Do(ask(program, made, filepath.Join(work, "made", "sessions"), with, n, list, out))
	real, err := ranking.OpenReal(filepath.Join(work, "real"), testkit.Root(), testkit.Fixtures())
	if errors.Is(err, ranking.ErrMissing) {
		fmt.Fprintf(os.Stderr, "answers: WITHOUT REAL SESSIONS: %v\n", err)
		return nil
	}
	must.Do(err)
	defer real.Close()
	return ask(program, real, filepath.Join(testkit.Fixtures(), "real"), with, n, list, out)
}

// ask asks the questions of a set of a server that has its sessions.
func ask(program string, set *ranking.Set, sessions, with string, n int, list bool, out io.Writer) (err error) {
	defer must.Catch(&err)
	home := must.Get(os.MkdirTemp("", "answers"))
	defer os.RemoveAll(home)
	command := exec.Command(program, "mcp", "--session-dir", sessions, "--index-dir", filepath.Join(home, "index"))
	command.Env = append(os.Environ(), "HOME="+home)
	client := must.Get(mcp.NewClient(&mcp.Implementation{Name: "answers"}, nil).Connect(context.Background(), &mcp.CommandTransport{Command: command}, nil))
	defer client.Close()
	shown, whole := ranking.ToolTokens(must.Get(client.ListTools(context.Background(), nil)).Tools)
	fmt.Fprintf(out, "the list of tools: %d tokens as models read it, %d with the schemas of answers\n", shown, whole)
	var arguments map[string]any
	must.Do(json.Unmarshal([]byte(with), &arguments), "-with")
	told := must.Get(set.Ask(context.Background(), client, ranking.Questions(set.Queries, n), arguments))
	for _, t := range told {
		if list {
			fmt.Fprintf(out, "%5d %-5v %s\n", t.Tokens, t.Listed, t.Query)
		}
	}
	median, listed := ranking.Median(told)
	fmt.Fprintf(out, "%s, %d questions: %d tokens (p50), %d with the answer\n", set.Name, len(told), median, listed)
	return nil
}
