package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// floors lists folders from the roof to the ground: the packages in each import only those
// that come after it, "." being the package of the folder itself. A folder that is listed
// as a whole has no order of its own.
var floors = map[string][]string{
	"":             {".", "ui", "remote", "query", "indexer", "keep", "index", "adapter", "scope", "internal"},
	"ui":           {"cli", "web", "mcp", "report", "html", "tui", "show", "printer", "prose", "transcript", "chart", "markdown", "highlight"},
	"ui/cli":       {".", "upkeep", "asking", "output", "help", "settings", "pager", "conversation", "snapshot", "location", "remotes", "flags", "app", "problem", "system", "amend"},
	"remote":       {"opensearch", "ssh", "."},
	"query":        {"merge", "recap", "blame", "similar", "audit", "fix", "sessions", "facets", "search", "grep", "engine"},
	"query/engine": {"rank", "words", "syntax", "filter", "match", "entry", "literal", "docset", "automaton"},
	"index":        {".", "bleve", "segment", "record", "analysis", "format", "layout"},
	"adapter":      {"agents", "claude", "codex", "copilot", "cursor", "gemini", "opencode", "pi", "qwen", "."},
	"internal":     {"redact", "price", "shellcmd", "diff", "session", "human", "terminal", "timespec", "jsonl", "bytescan", "content", "lite", "files", "lists", "near", "script"},
}

// testOnly packages test and measure the project: the program has none of them.
var testOnly = []string{"pigrep/lab"}

// rooms says which packages of ours each package below index may import. Neither the
// store above them nor a sibling that is not named is among these.
var rooms = map[string][]string{
	"pigrep/index/analysis": {},
	"pigrep/index/bleve":    {"pigrep/index/layout", "pigrep/index/segment"},
	"pigrep/index/format":   {},
	"pigrep/index/layout":   {"pigrep/internal/files"},
	"pigrep/index/record":   {"pigrep/index/format", "pigrep/internal/session"},
	"pigrep/index/segment":  {"pigrep/index/analysis", "pigrep/index/format", "pigrep/internal/files", "pigrep/internal/lists", "pigrep/internal/session"},
}

// sealed says which packages alone may import a module, or a package of it; the
// longest prefix counts.
var sealed = map[string][]string{
	"github.com/blevesearch/":                                {"pigrep/index/segment"},
	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan": {"pigrep/index"},                           // it plans merges and knows no files
	"github.com/blevesearch/mmap-go":                         {"pigrep/index/segment", "pigrep/indexer"}, // a file system may change what is mapped: both contain the faults
	"go.etcd.io/":                                            {"pigrep/index/bleve"},
	"github.com/fsnotify/":                                   {"pigrep/indexer"},
	"github.com/gofrs/":                                      {"pigrep/internal/files"},
	"github.com/spf13/":                                      {"pigrep/ui/cli"},
	"github.com/schollz/progressbar":                         {"pigrep/ui/cli"},
	"github.com/pelletier/go-toml":                           {"pigrep/ui/cli"},
	"github.com/aymanbagabas/go-udiff":                       {"pigrep/internal/diff"},
	"github.com/alecthomas/":                                 {"pigrep/ui/highlight"},
	"charm.land/bubble":                                      {"pigrep/ui/tui"},
	"net/http":                                               {"pigrep/remote/opensearch", "pigrep/ui/web", "pigrep/ui/mcp", "pigrep/ui/cli"},
	"github.com/modelcontextprotocol/":                       {"pigrep/ui/mcp"},
}

// Initializing Bleve's own store would add 3 ms to every run.
func TestProgramDoesNotImportScorch(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, "pigrep/index/bleve") {
		t.Error("the program keeps no store for Bleve")
	}
	for _, path := range []string{"github.com/blevesearch/bleve/v2", "github.com/blevesearch/bleve/v2/index/scorch"} {
		if slices.Contains(deps, path) {
			t.Errorf("the program imports %s", path)
		}
	}
}

type listed struct {
	ImportPath string
	Imports    []string
	Dir        string
	GoFiles    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	all, err := listPackages()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 8 {
		t.Fatalf("go list found %d packages, which cannot be all", len(all))
	}
	return all
}

// listPackages lists the packages of the program, once for all tests.
var listPackages = sync.OnceValues(func() (all []listed, err error) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Dir,GoFiles", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if !below(p.ImportPath, testOnly) {
			all = append(all, p)
		}
	}
})

func below(path string, list []string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
}

func TestImportsPointDown(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			if !below(imp, []string{"pigrep"}) || imp == p.ImportPath {
				continue
			}
			if why := pointsUp(p.ImportPath, imp); why != "" {
				t.Errorf("%s imports %s: %s", p.ImportPath, imp, why)
			}
		}
	}
}

// pointsUp says why a package may not import another, "" if it may: they are compared in
// the last folder that both are in.
func pointsUp(from, to string) string {
	parts := func(path string) []string { return append(strings.Split(path, "/")[1:], ".") }
	a, b := parts(from), parts(to)
	folder := ""
	for a[0] == b[0] {
		folder = strings.TrimPrefix(folder+"/"+a[0], "/")
		a, b = a[1:], b[1:]
	}
	order := floors[folder]
	i, j := slices.Index(order, a[0]), slices.Index(order, b[0])
	switch {
	case i < 0:
		return fmt.Sprintf("%q is not among the floors of %q", a[0], folder)
	case j < 0:
		return fmt.Sprintf("%q is not among the floors of %q", b[0], folder)
	case i > j:
		return fmt.Sprintf("in %q, %q is below %q", folder, a[0], b[0])
	}
	return ""
}

// The list of floors names what there is, and nothing else.
func TestFloorsAreFolders(t *testing.T) {
	for folder, list := range floors {
		for _, name := range list {
			if files, err := filepath.Glob(filepath.Join(folder, name, "*")); err != nil || len(files) == 0 {
				t.Errorf("there is no folder %s", filepath.Join(folder, name))
			}
		}
	}
	for _, p := range packages(t) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(p.ImportPath, "pigrep/"), "/")
		if p.ImportPath != "pigrep" && !slices.Contains(floors[""], name) {
			t.Errorf("%s is on no floor: %s", p.ImportPath, rest)
		}
	}
}

func TestRoomsOfTheIndex(t *testing.T) {
	for _, p := range packages(t) {
		if !strings.HasPrefix(p.ImportPath, "pigrep/index/") {
			continue
		}
		allowed, ok := rooms[p.ImportPath]
		if !ok {
			t.Errorf("%s is not in the table of rooms", p.ImportPath)
		}
		for _, imp := range p.Imports {
			if strings.HasPrefix(imp, "pigrep") && !slices.Contains(allowed, imp) {
				t.Errorf("%s imports %s, which is not among %s", p.ImportPath, imp, strings.Join(allowed, ", "))
			}
		}
	}
}

// The map in ARCHITECTURE.md shows every package of the program.
func TestArchitectureIsTheMap(t *testing.T) {
	page, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, "pigrep/")
		switch {
		case name == "pigrep":
			name = "main.go"
		case strings.HasPrefix(name, "ui/cli/"), strings.HasPrefix(name, "ui/highlight/"):
			name = filepath.Base(name)
		}
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("ARCHITECTURE.md does not show %s", p.ImportPath)
		}
	}
}

// Pages name files of the source that exist.
func TestPagesNameFilesThatExist(t *testing.T) {
	docs, err := filepath.Glob("docs/*.md")
	if err != nil || len(docs) == 0 {
		t.Fatalf("%d pages in docs, %v", len(docs), err)
	}
	for _, page := range append(docs, "ARCHITECTURE.md", "CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`([a-z][a-z0-9_]*/[a-z0-9_/]*[*]?[.]go)`").FindAllSubmatch(text, -1) {
			if files, err := filepath.Glob(string(m[1])); err != nil || len(files) == 0 {
				t.Errorf("%s names %s, which does not exist", page, m[1])
			}
		}
	}
}

func TestModulesStayWhereTheyBelong(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			longest := ""
			for prefix := range sealed {
				if strings.HasPrefix(imp, prefix) && len(prefix) > len(longest) {
					longest = prefix
				}
			}
			if allowed := sealed[longest]; longest != "" && !below(p.ImportPath, allowed) {
				t.Errorf("%s imports %s, which only %s may", p.ImportPath, imp, strings.Join(allowed, ", "))
			}
			if below(p.ImportPath, []string{"pigrep/adapter", "pigrep/scope", "pigrep/internal/session"}) && imp == "os" {
				t.Errorf("%s imports os: it sees bytes, never the file system", p.ImportPath)
			}
		}
	}
}

// What comes from outside comes in as values: only these files of the program may
// touch what belongs to the process as a whole.
var processFiles = []string{
	"main.go",
	"ui/cli/process.go", "ui/cli/system/system_unix.go", "ui/cli/system/system_windows.go",
	"ui/cli/system/system.go",   // a program that takes the terminal, the time zone
	"ui/cli/snapshot/memory.go", // the garbage collector only
}

func TestGlobalsStayInTheirFiles(t *testing.T) {
	globals := map[string][]string{
		"os": {
			"Args", "Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Stdin", "Stdout", "Stderr", "Exit", "Getpid", "Executable",
			"UserHomeDir", "UserConfigDir", "UserCacheDir", "TempDir", "Getwd", "Chdir",
		},
		"exec":   {"LookPath"},
		"signal": {"Notify", "Ignore", "NotifyContext"},
		"debug":  {"SetGCPercent", "SetMemoryLimit"},
		"time":   {"Now", "Since", "Until", "Local"},
		"fmt":    {"Print", "Println", "Printf"},
		"log":    {"Fatal", "Fatalf", "Print", "Printf", "Println", "SetOutput"},
	}
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			if slices.Contains(processFiles, strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, "pigrep")+"/"+name, "/")) {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil && slices.Contains(globals[x.Name], sel.Sel.Name) {
					t.Errorf("%s/%s uses %s.%s", p.ImportPath, name, x.Name, sel.Sel.Name)
				}
				return true
			})
		}
	}
}

// Words that agents write into their files. Some mean nothing else: no literal may
// be one of them. The others are also names of flags, rows and members of JSON, so
// no Type or Role may be compared with them.
var (
	formatWords = []string{
		"compaction", "branch_summary", "custom_message", "session_info", "context_edit", "model_change",
		"thinking_level_change", "active_tools_change", "assistant", "toolResult", "bashExecution", "hookMessage",
		"compactionSummary", "branchSummary", "toolCall", "partialJson", "partialArgs", "firstKeptEntryId",
	}
	commonWords = []string{"message", "custom", "label", "leaf", "lane", "usage", "session", "user", "system"}
)

// Parts of literals that name a directory or a variable of an agent.
var formatNames = []string{".pi/", "PI_CODING_AGENT", "PI_SESSION_", "subagent-sessions"}

// formatExceptions says which of these may stand outside the adapters all the same.
var formatExceptions = map[string]string{
	"ui/transcript/transcript.go": "compaction", // a name, which happens to be the type
}

// Only the adapter of an agent knows the words and places of its files; the rest
// speaks of the types and roles in internal/session/vocabulary.go.
func TestFormatsStayInTheirAdapters(t *testing.T) {
	needed := make(map[string]bool)
	for _, p := range packages(t) {
		if isAgent(p.ImportPath) {
			continue
		}
		for _, name := range p.GoFiles {
			own := strings.TrimPrefix(p.ImportPath, "pigrep/") + "/" + name
			if own == "internal/session/vocabulary.go" {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range foreignWords(file) {
				if except, ok := formatExceptions[own]; ok && strings.Contains(f.text, except) {
					needed[own] = true
					continue
				}
				t.Errorf("%s: %q is a word of an agent: use a name of internal/session, or ask the adapter", set.Position(f.at), f.text)
			}
		}
	}
	for own := range formatExceptions {
		if !needed[own] {
			t.Errorf("%s needs no exception", own)
		}
	}
}

// Only the list of agents names them.
func TestAgentsAreNamedInOnePlace(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			if isAgent(imp) && p.ImportPath != "pigrep/adapter/agents" {
				t.Errorf("%s imports %s, which only adapter/agents may", p.ImportPath, imp)
			}
		}
	}
}

// isAgent reports whether a package is the adapter of an agent.
func isAgent(path string) bool {
	return strings.HasPrefix(path, "pigrep/adapter/") && path != "pigrep/adapter/agents"
}

type foreignWord struct {
	at   token.Pos
	text string
}

// foreignWords returns the literals of a file that only an adapter may have.
func foreignWords(file *ast.File) []foreignWord {
	var list []foreignWord
	text := func(e ast.Expr) string {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return ""
		}
		s, _ := strconv.Unquote(lit.Value)
		return s
	}
	isTypeOrRole := func(e ast.Expr) bool {
		sel, ok := e.(*ast.SelectorExpr)
		return ok && (sel.Sel.Name == "Type" || sel.Sel.Name == "Role")
	}
	compared := func(with, e ast.Expr) {
		if s := text(e); isTypeOrRole(with) && slices.Contains(commonWords, s) {
			list = append(list, foreignWord{e.Pos(), s})
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			s := text(n)
			if slices.Contains(formatWords, s) || slices.ContainsFunc(formatNames, func(part string) bool { return strings.Contains(s, part) }) {
				list = append(list, foreignWord{n.Pos(), s})
			}
		case *ast.BinaryExpr:
			compared(n.X, n.Y)
			compared(n.Y, n.X)
		case *ast.SwitchStmt:
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					compared(n.Tag, e)
				}
			}
		}
		return true
	})
	return list
}

func TestFilesAreShort(t *testing.T) {
	const limit = 800
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		n := 0
		for s := bufio.NewScanner(f); s.Scan(); n++ {
		}
		if n > limit {
			t.Errorf("%s has %d lines, more than %d: split it by idea", path, n, limit)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
