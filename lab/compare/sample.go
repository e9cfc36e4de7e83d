package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"pigrep/internal/lists"
	"pigrep/lab/corpus"
	"pigrep/lab/must"
)

// Limits of what the sample reads of a corpus, of a file, and of the lines.
const (
	sampleBytes = 24 << 20
	sampleFile  = 1 << 20
	sampleLine  = 256 << 10
)

// sample holds names, words and texts of a corpus, the material for queries. It
// parses the files as plain JSON, independent of the code under comparison. All
// lists are sorted and have no duplicates.
type sample struct {
	corpus   string
	sessions []sessionInfo
	entries  []entryInfo
	texts    []string // of messages, unchanged

	// The other strings by kind: the keys of shapes; cwd, model, tool, label, title, time, file and
	// command; and rare, medium and frequent, which are words by the number of texts that have them.
	lists map[string][]string
}

type sessionInfo struct {
	path, id, cwd string
	size          int64
}

type entryInfo struct {
	session  sessionInfo
	id, role string
	line     int
}

// shapes are the expressions of words.txt that find words, and invented its examples, by name.
var shapes, invented = func() (map[string]*regexp.Regexp, map[string][]string) {
	shapes, invented := map[string]*regexp.Regexp{}, map[string][]string{}
	for line := range strings.Lines(wordKinds) {
		if row := strings.Split(strings.TrimSuffix(line, "\n"), " | "); len(row) > 2 && line[0] != '#' {
			if invented[row[0]] = row[2:]; row[1] != "" {
				shapes[row[0]] = regexp.MustCompile(row[1])
			}
		}
	}
	return shapes, invented
}()

//go:embed words.txt
var wordKinds string

// takeSample reads a seeded selection of the files.
func takeSample(c *corpusTree) *sample {
	s := &sample{corpus: c.name, lists: map[string][]string{}}
	files := slices.Clone(c.files)
	rng := s.rng("files")
	rng.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	words := map[string]int{}
	for left := int64(sampleBytes); len(files) > 0 && left > 0; files = files[1:] {
		left -= s.readFile(files[0], words)
	}
	for name, re := range shapes {
		for _, t := range s.texts {
			for _, m := range re.FindAllString(t, 40) {
				if m = strings.TrimSpace(m); len(m) <= 80 {
					s.lists[name] = append(s.lists[name], m)
				}
			}
		}
	}
	s.sortWords(words)
	s.texts = unique(s.texts)
	for name, list := range s.lists {
		if slices.Contains(byCount, name) {
			continue // in order of count
		}
		s.lists[name] = unique(list)
	}
	slices.SortFunc(s.sessions, func(a, b sessionInfo) int { return cmp.Compare(a.path, b.path) })
	slices.SortFunc(s.entries, func(a, b entryInfo) int {
		return cmp.Or(cmp.Compare(a.session.path, b.session.path), cmp.Compare(a.line, b.line))
	})
	return s
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// byCount are the lists of words by the number of texts that have them.
var byCount = []string{"rare", "medium", "frequent"}

// sortWords fills the lists of byCount, the words that most texts have first.
func (s *sample) sortWords(words map[string]int) {
	all := slices.SortedFunc(maps.Keys(words), func(a, b string) int { return cmp.Or(cmp.Compare(words[b], words[a]), cmp.Compare(a, b)) })
	for i, word := range all {
		name := ""
		switch n := words[word]; {
		case i < 60:
			name = "frequent"
		case n <= 2:
			name = "rare"
		case n >= 4:
			name = "medium"
		default:
			continue
		}
		s.lists[name] = append(s.lists[name], word)
	}
}

// readFile reads the beginning of a file, and returns how many bytes that was.
func (s *sample) readFile(name string, words map[string]int) (read int64) {
	f := must.Get(os.Open(name))
	defer f.Close()
	file := sessionInfo{path: name, size: must.Get(f.Stat()).Size()}
	r := bufio.NewReaderSize(f, 64<<10)
	for number := 1; read < sampleFile; number++ {
		line, err := r.ReadBytes('\n')
		read += int64(len(line))
		if len(line) <= sampleLine {
			s.readLine(bytes.TrimPrefix(line, []byte("\ufeff")), number, &file, words)
		}
		if err != nil {
			break
		}
	}
	s.sessions = append(s.sessions, file)
	return read
}

// readLine collects what it recognises in a line and ignores the rest.
func (s *sample) readLine(line []byte, number int, file *sessionInfo, words map[string]int) {
	var e struct {
		Type, ID, CWD, Timestamp, Name, Label, ModelID, Summary string
		Message                                                 struct {
			Role, Model, ToolName, Command, Output string
			Content                                any
		}
	}
	if err := json.Unmarshal(line, &e); err != nil && e.Type == "" {
		return
	}
	if e.Type == "session" {
		file.id, file.cwd = e.ID, e.CWD
		s.add("cwd", e.CWD)
	} else if e.ID != "" {
		s.entries = append(s.entries, entryInfo{*file, e.ID, cmp.Or(e.Message.Role, e.Type), number})
	}
	if len(e.Timestamp) > 10 {
		s.add("time", e.Timestamp)
	}
	m := &e.Message
	s.add("title", strings.Fields(e.Name)...)
	s.add("label", strings.Fields(e.Label)...)
	s.add("model", m.Model, e.ModelID)
	s.add("tool", m.ToolName)
	s.add("command", m.Command)
	texts := []string{e.Summary, m.Output}
	if text, ok := m.Content.(string); ok {
		texts = append(texts, text)
	}
	blocks, _ := m.Content.([]any)
	for _, b := range blocks {
		block, _ := b.(map[string]any)
		for _, key := range []string{"text", "thinking"} {
			if text, ok := block[key].(string); ok {
				texts = append(texts, text)
			}
		}
		if block["type"] == "toolCall" {
			name, _ := block["name"].(string)
			s.add("tool", name)
			args, _ := block["arguments"].(map[string]any)
			for key, kind := range map[string]string{"path": "file", "file_path": "file", "command": "command"} {
				text, _ := args[key].(string)
				s.add(kind, text)
			}
		}
	}
	for _, t := range texts {
		s.addText(t, words)
	}
}

// add adds strings of a kind, other than those that nobody types.
func (s *sample) add(kind string, list ...string) {
	for _, text := range list {
		if text != "" && len(text) <= 200 && !strings.ContainsAny(text, "\x00\n") {
			s.lists[kind] = append(s.lists[kind], text)
		}
	}
}

func (s *sample) addText(text string, words map[string]int) {
	if text == "" || strings.ContainsRune(text, 0) {
		return
	}
	if len(text) > 4<<10 {
		text = strings.ToValidUTF8(text[:4<<10], "")
	}
	s.texts = append(s.texts, text)
	for _, w := range unique(plainWords(text)) {
		words[w]++
	}
}

// plainWords returns the words that consist of ASCII letters.
func plainWords(text string) []string {
	var list []string
	for _, f := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		if len(f) >= 3 && len(f) <= 24 && !strings.ContainsFunc(f, func(r rune) bool { return r > 'z' || r < 'A' || r == '_' }) {
			list = append(list, f)
		}
	}
	return list
}

// rng depends on the purpose alone, so a new maker does not change the queries of
// the others.
func (s *sample) rng(purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(7, h.Sum64()))
}

// picker draws from a sample for one maker of queries.
type picker struct {
	*sample
	rng     *rand.Rand
	command string
	own     map[string]*maker // the sources that are sections
}

func (s *sample) picker(purpose string) *picker { return &picker{sample: s, rng: s.rng(purpose)} }

// some returns n different elements in random order, or all when there are fewer.
func some[T any](p *picker, list []T, n int) []T {
	perm := p.rng.Perm(len(list))
	return lists.Map(perm[:min(n, len(perm))], func(i int) T { return list[i] })
}

// or returns n strings of a kind, topped up with invented ones.
func (p *picker) or(kind string, n int) []string {
	picked := some(p, p.lists[kind], n)
	for _, more := range invented[kind] {
		if len(picked) < n && !slices.Contains(picked, more) {
			picked = append(picked, more)
		}
	}
	return picked
}

// words returns n words, alternating between rare, medium and frequent.
func (p *picker) words(n int) []string {
	classes := lists.Map(byCount, func(name string) []string { return p.or(name, n) })
	var list []string
	for i := range n {
		if class := classes[i%3]; len(class) > 0 {
			list = append(list, class[i%len(class)])
		}
	}
	return list
}

// runs returns n runs of consecutive words of a text, each of the given length.
func (p *picker) runs(words, n int) [][]string {
	var list [][]string
	for _, t := range some(p, p.texts, 20*n) {
		if all := plainWords(t); len(all) >= words && len(list) < n {
			at := p.rng.IntN(len(all) - words + 1)
			list = append(list, all[at:at+words])
		}
	}
	for len(list) < n {
		list = append(list, slices.Repeat(p.or("word", 4), 3)[:words])
	}
	return list
}

// lines returns up to n lines of texts, cut to a length that people type.
func (p *picker) lines(n int) []string {
	var list []string
	for _, t := range some(p, p.texts, 20*n) {
		all := strings.Split(t, "\n")
		line := []rune(strings.TrimSpace(all[p.rng.IntN(len(all))]))
		if len(line) >= 12 && len(list) < n {
			list = append(list, strings.TrimSpace(string(line[:min(len(line), 60)])))
		}
	}
	return list
}

// typo returns the word with two letters swapped, or one dropped, doubled or
// replaced.
func (p *picker) typo(word string) string {
	if len(word) < 4 {
		return word + "x"
	}
	i := 1 + p.rng.IntN(len(word)-2)
	switch p.rng.IntN(4) {
	case 0:
		return word[:i] + word[i+1:i+2] + word[i:i+1] + word[i+2:]
	case 1:
		return word[:i] + word[i+1:]
	case 2:
		return word[:i] + word[i:i+1] + word[i:]
	default:
		return word[:i] + "q" + word[i+1:]
	}
}

func (p *picker) someSessions(n int) []sessionInfo {
	return some(p, without(p.sessions, func(s sessionInfo) bool { return s.id == "" || s.size >= 400<<10 }), n)
}

func without[T any](list []T, unfit func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), unfit)
}

func (p *picker) someEntries(n int) []entryInfo {
	return some(p, without(p.entries, func(e entryInfo) bool { return e.session.id == "" || e.session.size >= 4<<20 }), n)
}

// corpusTree is a set of session directories with one index.
type corpusTree struct {
	name  string
	roots []string
	files []string // sorted
	key   string   // a hash of paths, sizes and times
}

func newTree(name string, roots ...string) *corpusTree {
	t := &corpusTree{name: name, roots: roots}
	h := sha256.New()
	for _, root := range roots {
		fmt.Fprintln(h, root)
		must.Do(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if strings.HasSuffix(path, ".jsonl") {
				t.files = append(t.files, path)
			}
			fmt.Fprintln(h, path, info.Size(), info.ModTime().UnixNano())
			return nil
		}))
	}
	if len(t.files) == 0 {
		must.Fail("no session files in %s", strings.Join(roots, ", "))
	}
	slices.Sort(t.files)
	t.key = fmt.Sprintf("%x", h.Sum(nil))[:16]
	return t
}

// findTrees returns the corpora in the order of comparison, the small ones first:
// most differences show there.
func findTrees(work string, o *options) (trees []*corpusTree) {
	add := func(name string, roots ...string) {
		if len(roots) > 0 {
			trees = append(trees, newTree(name, roots...))
		}
	}
	repository := repository()
	add("testdata", filepath.Join(repository, "testdata", "sessions"))
	add("examples", writeExamples(repository, filepath.Join(work, "examples")))
	if o.fixtures != "" {
		pi := filepath.Join(o.fixtures, "pi", "*", "home")
		add("fixtures", existing(filepath.Join(o.fixtures, "real"), filepath.Join(pi, ".pi", "agent", "sessions"), filepath.Join(pi, "flat-sessions"))...)
		add("lifecycle", lifecycle(o.fixtures, filepath.Join(work, "lifecycle"))...)
		add("agents", existing(filepath.Join(o.fixtures, "agents", "*"))...)
	}
	for _, root := range strings.FieldsFunc(o.roots, func(r rune) bool { return r == ',' }) {
		add(filepath.Base(root), must.Get(filepath.Abs(root)))
	}
	if o.megabytes > 0 {
		add("generated", generate(filepath.Join(work, fmt.Sprintf("corpus-%d", o.megabytes)), o.megabytes))
	}
	return trees
}

// existing returns the directories that match the patterns.
func existing(patterns ...string) []string {
	var dirs []string
	for _, pattern := range patterns {
		found, _ := filepath.Glob(pattern)
		for _, dir := range found {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// generate writes the corpus, unless it exists. A file beside it marks it as
// complete; it cannot be renamed into place, because forks name their parents by
// path.
func generate(dir string, megabytes int64) string {
	complete := dir + ".complete"
	if _, err := os.Stat(complete); err == nil {
		return dir
	}
	must.Do(os.RemoveAll(dir))
	must.Get(corpus.Generate(dir, corpus.Options{Seed: 1, Bytes: megabytes * 1_000_000}))
	must.Do(os.WriteFile(complete, nil, 0o644))
	return dir
}

// lifecycle copies the snapshots of changing files into one flat directory of
// session files, with their times, and returns it, if there are any.
func lifecycle(fixtures, dir string) []string {
	stages, _ := filepath.Glob(filepath.Join(fixtures, "pi", "lifecycle", "*", "*.snapshot"))
	for _, stage := range stages {
		story := filepath.Base(filepath.Dir(stage))
		to := filepath.Join(dir, story+"-"+strings.TrimSuffix(filepath.Base(stage), ".snapshot")+".jsonl")
		writeSession(to, must.Get(os.ReadFile(stage)), must.Get(os.Stat(stage)).ModTime())
	}
	return existing(dir)
}

// writeSession writes a session file with this time, unless it is there: to an
// index that exists, a file written again would be a changed one.
func writeSession(path string, data []byte, modified time.Time) {
	if old, err := os.ReadFile(path); err == nil && string(old) == string(data) && must.Get(os.Stat(path)).ModTime().Equal(modified) {
		return
	}
	must.Do(os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(os.WriteFile(path, data, 0o644))
	must.Do(os.Chtimes(path, modified, modified))
}

// writeExamples turns the repository's examples of risky commands and of secrets
// into session files, one for each file of examples, and returns their directory. No other
// corpus has them.
func writeExamples(repository, dir string) string {
	number := 0
	for _, pattern := range []string{"testdata/risky/*.txt", "internal/redact/testdata/*.txt"} {
		files, _ := filepath.Glob(filepath.Join(repository, pattern))
		if len(files) == 0 {
			must.Fail("no examples in %s", pattern)
		}
		for _, file := range files {
			number++
			s := &exampleSession{now: time.Date(2026, 4, 1+number, 9, 0, 0, 0, time.UTC)}
			id := fmt.Sprintf("0196%04x-0000-7000-8000-%012x", number, s.now.Unix())
			s.line(map[string]any{"type": "session", "version": 3, "id": id, "cwd": "/home/dev/app"})
			s.entry("session_info", map[string]any{"name": "Examples of " + strings.TrimSuffix(filepath.Base(file), ".txt")})
			for line := range strings.Lines(string(must.Get(os.ReadFile(file)))) {
				s.example(strings.TrimSuffix(line, "\n"))
			}
			writeSession(filepath.Join(dir, "2026-04-01T09-00-00-000Z_"+id+".jsonl"), s.text.Bytes(), s.now)
		}
	}
	return dir
}

// exampleSession collects the lines of one session file.
type exampleSession struct {
	now  time.Time
	last string // id of the entry before
	text bytes.Buffer
}

func (s *exampleSession) line(fields map[string]any) {
	fields["timestamp"] = s.now.Format("2006-01-02T15:04:05.000Z")
	s.text.Write(append(must.Get(json.Marshal(fields)), '\n'))
	s.now = s.now.Add(1237 * time.Millisecond)
}

func (s *exampleSession) entry(kind string, fields map[string]any) {
	var parent any
	if s.last != "" {
		parent = s.last
	}
	s.last = fmt.Sprintf("%08x", 0xa0000000+s.text.Len())
	fields["type"], fields["id"], fields["parentId"] = kind, s.last, parent
	s.line(fields)
}

func (s *exampleSession) message(fields map[string]any) {
	s.entry("message", map[string]any{"message": fields})
}

// example adds a line of a file of examples: a sign and a command, or @tool and a
// path; or a text with a secret, after the name of the rule.
func (s *exampleSession) example(line string) {
	text := strings.NewReplacer("«", "", "»", "", "·", "", `\n`, "\n").Replace(line)
	switch {
	case line == "" || line[0] == '#':
	case line[0] == '+' || line[0] == '-':
		id, tool, args := fmt.Sprintf("call-%d", s.text.Len()), "bash", map[string]any{"command": text[2:]}
		if rest, ok := strings.CutPrefix(text[2:], "@"); ok {
			name, path, _ := strings.Cut(rest, " ")
			tool, args = name, map[string]any{"path": path}
		}
		s.message(map[string]any{"role": "assistant", "provider": "anthropic", "model": "claude-sonnet-4-5",
			"usage":   map[string]any{"input": len(line), "output": 7, "cost": map[string]any{"total": 0.001}},
			"content": []any{map[string]any{"type": "toolCall", "id": id, "name": tool, "arguments": args}}})
		s.message(map[string]any{"role": "toolResult", "toolCallId": id, "toolName": tool, "isError": len(line)%3 == 0,
			"content": []any{map[string]any{"type": "text", "text": "output of " + text[2:]}}})
	default:
		if _, secret, ok := strings.Cut(text, "\t"); ok {
			text = secret
		}
		s.message(map[string]any{"role": "user", "content": text})
	}
}
