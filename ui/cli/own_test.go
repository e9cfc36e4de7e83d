package cli

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/lab/testkit"
	"pigrep/ui/cli/problem"
)

// runsOfCommands has runs of every command. Those of refused open an index.
var runsOfCommands = map[string]struct{ refused, other [][]string }{
	"blame":      {refused: [][]string{{"blame", "own_test.go"}}},
	"completion": {other: [][]string{{"completion", "bash"}}},
	"config":     {other: [][]string{{"config"}, {"config", "index-dir"}}},
	"export":     {refused: [][]string{{"export", "s000000", "-o", "OUT"}}},
	"fix":        {refused: [][]string{{"fix", "needle0"}}},
	"grep":       {refused: [][]string{{"grep", "needle0"}, {"grep", "--no-update", "needle0"}}},
	"hook":       {other: [][]string{{"hook"}}},  // it fails silently
	"hosts":      {other: [][]string{{"hosts"}}}, // without a host it ends earlier
	"index":      {refused: [][]string{{"index"}, {"index", "--rebuild"}, {"index", "--compact"}, {"index", "--merge"}, {"index", "--dry-run"}}},
	"init":       {other: [][]string{{"init", "bash"}}},
	"keep":       {refused: [][]string{{"keep"}, {"keep", "--older-than", "1y"}}},
	"log":        {refused: [][]string{{"commit", "#1"}}, other: [][]string{{"log", "--help"}}}, // git may not be there
	"mcp":        {refused: [][]string{{"mcp"}}},
	"push":       {other: [][]string{{"push", "team"}}}, // without an archive it ends earlier
	"recap":      {refused: [][]string{{"recap"}}},
	"remote":     {other: [][]string{{"remote"}}},
	"report":     {refused: [][]string{{"report", "-o", "OUT"}}},
	"resume":     {refused: [][]string{{"resume", "s000000"}}},
	"search":     {refused: [][]string{{"search", "needle0"}, {"needle0"}, {"needle0", "--no-update"}, {"needle0", "--json"}}},
	"secrets":    {refused: [][]string{{"secrets"}}},
	"sessions":   {refused: [][]string{{"sessions"}}},
	"setup":      {other: [][]string{{"setup", "--yes"}, {"setup", "--undo", "--yes"}}},
	"show":       {refused: [][]string{{"show", "s000000"}}},
	"similar":    {refused: [][]string{{"similar", "s000000"}}},
	"skill":      {other: [][]string{{"skill"}}},
	"status":     {refused: [][]string{{"status"}, {"status", "--skipped"}, {"doctor"}, {"doctor", "--deep", "--repair"}}, other: [][]string{{"status", "--stores"}}},
	"tools":      {refused: [][]string{{"tools"}, {"tools", "calls"}, {"tools", "commands"}, {"tools", "files"}}},
	"tui":        {other: [][]string{{"tui"}}}, // without a terminal it ends earlier
	"usage":      {refused: [][]string{{"usage"}}},
	"version":    {other: [][]string{{"version"}}},
	"watch":      {refused: [][]string{{"watch"}}},
	"web":        {refused: [][]string{{"web"}}},
}

// userTree makes a directory with a user's own files, which have the names of ours.
func userTree(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{
		"store/modules/user.ts", "store/store/root.bolt", "store/index_meta.json", "segments/000000000001.zap", "gen-000001/manifest", "gen-000001/state",
		"gen-000002.tmp/state", "current", "current.tmp", "lock", "manifest", "pigrep-index", "watch.lock", "watch.json", "asked/1",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("precious "+name), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS != "windows" {
		testkit.Symlink(t, "store", filepath.Join(dir, "gen-000003"))
	}
}

// No command reads or changes a directory of the user's as an index, however it is named.
func TestCommandsLeaveForeignDirectoriesAlone(t *testing.T) {
	if got := slices.Sorted(maps.Keys(runsOfCommands)); !slices.Equal(got, slices.Sorted(slices.Values(commandNames()))) {
		t.Fatalf("runs of %v, want some of every command", got)
	}
	for name, runs := range runsOfCommands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, out, errs := testApp(t)
			writeSessions(t, filepath.Join(a.Home, ".pi", "agent", "sessions"), 1)
			dir := filepath.Join(a.Home, "index") // as the environment says
			userTree(t, dir)
			want := testkit.Tree(t, dir)
			for i, args := range slices.Concat(runs.refused, runs.other) {
				args = slices.Clone(args)
				for j := range args {
					if args[j] == "OUT" {
						args[j] = filepath.Join(a.Home, "out")
					}
				}
				out.Reset()
				errs.Reset()
				code := Run(t.Context(), a, args)
				message := dir + " is not empty and is no index of pigrep"
				if refused := strings.Contains(out.String()+errs.String(), message); i < len(runs.refused) && (!refused || code != problem.ExitError) {
					t.Errorf("%v ends with %d, %s%s", args, code, out, errs)
				}
				if diff := cmp.Diff(want, testkit.Tree(t, dir)); diff != "" {
					t.Fatalf("%v has changed the directory: %s", args, diff)
				}
			}
		})
	}
}
