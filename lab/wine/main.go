// Command wine runs the Windows build of the tests, and of the program, under Wine.
// What neither Wine nor Windows can do is skipped in the tests themselves; what only
// Wine cannot do is listed in cannot, with the reason.
//
//	go run ./lab/wine
//	go run ./lab/wine -run Lock ./internal/files
//
// Without Wine it says so and succeeds.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// suites are the tests whose promises depend on the system, the most telling first.
// Others compare text with Unix paths, or are the same everywhere. Starting the program
// takes Wine most of a second, so of the tests that start it often only some are here.
var suites = []suite{
	{"./internal/files ./internal/human ./adapter/... ./ui/cli/shell ./ui/cli/system", ""},
	{"./indexer", ""},
	{"./lab/e2e/program", "^Test(HitsSayWhereTheyAre|AnswersAreStable|UnfinishedLine|BadInput|DamagedIndex|ManyStartTogether|ReadersWhileIndexing|KilledWhileIndexing|ClosedPipe)$"},
	{"./ui/cli", "^TestScripts$/^(status|watch|damaged|partial|sessions)$"},
	{"./index ./index/segment", ""},
	{"./ui/cli/live ./ui/mcp ./query/grep ./query/engine/entry ./query/sessions", ""},
}

// A suite is packages and an expression for the names of their tests, "" for all.
type suite struct{ packages, tests string }

// cannot lists the tests of what Wine cannot do.
var cannot = []struct{ test, why string }{
	{"^TestDiscover$/link", "symbolic links are made and cannot be read"},
	{"^TestLinksThatLeadOut$", "symbolic links, as above"},
}

func main() {
	tests := flag.String("run", "", "run only tests that match, of the packages that are named")
	most := flag.Duration("time", 10*time.Minute, "begin no other suite after this time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	todo := suites
	if flag.NArg() > 0 {
		todo = []suite{{strings.Join(flag.Args(), " "), *tests}}
	}
	if err := wine(ctx, todo, *most); err != nil {
		fmt.Fprintln(os.Stderr, "wine:", err)
		os.Exit(1)
	}
}

func wine(ctx context.Context, todo []suite, most time.Duration) error {
	begun := time.Now()
	loader, ok := find()
	if !ok {
		fmt.Println("Wine is not installed: skipped")
		return nil
	}
	work, err := os.MkdirTemp("", "pigrep-wine-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	prefix := filepath.Join(work, "prefix")
	env := append(os.Environ(), "WINEPREFIX="+prefix, "WINEDEBUG=-all", "GOOS=windows", "CGO_ENABLED=0")
	command := func(ctx context.Context, name string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Env, cmd.Stdout, cmd.Stderr = env, os.Stdout, os.Stderr
		return cmd
	}
	if err := command(ctx, loader, "wineboot").Run(); err != nil {
		return fmt.Errorf("make a prefix: %w", err)
	}
	defer func() {
		server := filepath.Join(filepath.Dir(loader), "wineserver")
		_ = command(context.Background(), server, "--kill").Run() // the one of this prefix
		_ = command(context.Background(), server, "--wait").Run()
	}()
	// The first program starts Wine's services, which keep its output open for as long as any
	// program runs. So the first is one that waits for input until the tests are over.
	waiting := exec.CommandContext(ctx, loader, "cmd", "/c", "set /p line=")
	waiting.Env = env
	input, err := waiting.StdinPipe()
	if err != nil {
		return err
	}
	if err := waiting.Start(); err != nil {
		return err
	}
	defer func() {
		_ = input.Close()
		_ = waiting.Wait()
	}()
	system := filepath.Join(prefix, "drive_c", "windows", "system32")
	if err := os.WriteFile(filepath.Join(system, "bcryptprimitives.dll"), standIn(), 0o644); err != nil {
		return err
	}
	flags, err := overlay(work)
	if err != nil {
		return err
	}
	program := filepath.Join(work, "pigrep.exe")
	if err := command(ctx, "go", append(append([]string{"build"}, flags...), "-o", program, ".")...).Run(); err != nil {
		return fmt.Errorf("build the program: %w", err)
	}
	env = append(env, "PIGREP_PROGRAM=Z:"+strings.ReplaceAll(program, "/", `\`))
	if err := command(ctx, loader, program, "version").Run(); err != nil {
		return fmt.Errorf("run the program: %w", err)
	}
	flags = append([]string{"test", "-vet=off", "-timeout=10m", "-exec", loader}, flags...)
	var skip []string
	for _, c := range cannot {
		skip = append(skip, c.test)
	}
	flags = append(flags, "-skip", strings.Join(skip, "|"))
	failed := false
	for _, s := range todo {
		start := time.Now()
		if start.Sub(begun) > most {
			fmt.Printf("CUT OFF after %v: %s\n", most, s.packages)
			continue
		}
		args := slices.Clone(flags)
		if s.tests == "" {
			args = append(args, "-short")
		} else {
			args = append(args, "-run", s.tests)
		}
		args = append(args, strings.Fields(s.packages)...)
		if command(ctx, "go", args...).Run() != nil {
			fmt.Println("once more, because Wine now and then cannot start a program:")
			if command(ctx, "go", args...).Run() != nil {
				failed = true
			}
		}
		fmt.Printf("%s: %.0f s\n", s.packages, time.Since(start).Seconds())
	}
	if failed {
		return errors.New("tests fail")
	}
	return nil
}

// find returns the program that runs 64-bit programs for Windows. Debian's package
// wine64 has it in a directory of its own.
func find() (string, bool) {
	for _, name := range []string{"wine64", "/usr/lib/wine/wine64", "wine"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}

// overlay returns a build flag for a standard library that deletes files in the way
// that versions of Windows before 2016, and Wine 8, do. Go tries the new way first, but
// does not understand Wine's answer that it has none.
func overlay(work string) ([]string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	source := filepath.Join(strings.TrimSpace(string(out)), "src/internal/syscall/windows/at_windows.go")
	data, err := os.ReadFile(source)
	if err != nil {
		return nil, err
	}
	const condition = "if TestDeleteatFallback {"
	if !strings.Contains(string(data), condition) {
		return nil, fmt.Errorf("%s has no %q, which makes it delete files as Wine does", source, condition)
	}
	replaced := filepath.Join(work, "at_windows.go")
	if err := os.WriteFile(replaced, []byte(strings.Replace(string(data), condition, "if true {", 1)), 0o644); err != nil {
		return nil, err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {source: replaced}})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(work, "overlay.json")
	return []string{"-overlay", path}, os.WriteFile(path, list, 0o644)
}
