package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"

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

// shapes are kinds of words that the analysis handles in different ways.
var shapes = map[string]*regexp.Regexp{
	"camel":    regexp.MustCompile(`\b[a-z]+(?:[A-Z][a-z0-9]+)+\b`),
	"pascal":   regexp.MustCompile(`\b(?:[A-Z][a-z0-9]+){2,}\b`),
	"snake":    regexp.MustCompile(`\b[a-z]+(?:_[a-z0-9]+)+\b`),
	"kebab":    regexp.MustCompile(`\b[a-z]+(?:-[a-z0-9]+)+\b`),
	"path":     regexp.MustCompile(`(?:/?[A-Za-z0-9_.-]+){2,}(?:/[A-Za-z0-9_.-]+)*/[A-Za-z0-9_-]+\.[a-z]{1,4}\b`),
	"dotted":   regexp.MustCompile(`\b[A-Za-z]+(?:\.[A-Za-z]+){1,3}\b`),
	"flag":     regexp.MustCompile(`(?:^|\s)--?[a-z][a-z-]+`),
	"code":     regexp.MustCompile(`\b(?:E[A-Z]{4,}|[A-Z]{2,5}[0-9]{2,5}|0x[0-9a-f]+)\b`),
	"number":   regexp.MustCompile(`\b[0-9]{2,6}\b`),
	"version":  regexp.MustCompile(`\bv?[0-9]+\.[0-9]+(?:\.[0-9]+)?\b`),
	"uuid":     regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`),
	"hex":      regexp.MustCompile(`\b[0-9a-f]{7,12}\b`),
	"url":      regexp.MustCompile(`https?://[A-Za-z0-9./_-]+`),
	"han":      regexp.MustCompile(`\p{Han}{2,6}`),
	"kana":     regexp.MustCompile(`[\p{Hiragana}\p{Katakana}]{2,8}`),
	"hangul":   regexp.MustCompile(`\p{Hangul}{2,8}`),
	"cyrillic": regexp.MustCompile(`\p{Cyrillic}{3,}`),
	"accented": regexp.MustCompile(`\b[a-zA-Z]*[à-öø-ÿÀ-ÖØ-Þ]\pL*`),
	"symbol":   regexp.MustCompile(`[\x{2000}-\x{2bff}\x{1f300}-\x{1faff}]`),
}

// invented fills in where a corpus has too few examples.
var invented = map[string][]string{
	"camel": {"getUserName", "parseConfig", "readLine"}, "pascal": {"HttpServer", "UserName", "ReadCloser"},
	"snake": {"get_user_name", "max_size", "read_line"}, "kebab": {"no-cache", "dry-run", "re-index"},
	"path": {"src/auth/login.ts", "internal/main.go", "/etc/hosts.conf"}, "dotted": {"os.path.join", "fmt.Println", "example.com"},
	"flag": {"--no-cache", "-race", "--verbose"}, "code": {"ENOENT", "E2034", "0xdeadbeef"}, "number": {"137", "8080", "2026"},
	"version": {"1.2.3", "v0.78.0", "3.12"}, "uuid": {"7e6d5c4b-3a29-4180-9f8e-7d6c5b4a3928"}, "hex": {"deadbeef", "a1b2c3d"},
	"url": {"https://example.com/a"}, "han": {"连接超时", "數據庫", "東京"}, "kana": {"テスト", "ありがとう", "サーバー"},
	"hangul": {"안녕하세요", "서버", "오류"}, "cyrillic": {"сервер", "ошибка", "привет"}, "accented": {"café", "naïve", "Größe"},
	"symbol": {"→", "✓", "🚀"}, "label": {"keep", "todo", "v1"}, "title": {"login", "Gateway", "cleanup"},
	"file": {"main.go", "src/app.ts", "README.md"}, "command": {"rm -rf build", "git push", "go test"},
	"model": {"claude-sonnet-4-5", "gpt-5.4"}, "tool": {"bash", "read", "edit"}, "cwd": {"/home/dev/app", "/srv/app"},
	"rare": someWords, "medium": someWords, "frequent": someWords, "word": someWords, "time": {"2026-01-15T09:00:00.000Z", "2026-06-01T18:30:00.000Z"},
}

var someWords = []string{"timeout", "connection", "error", "server"}

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
	picked := make([]T, 0, n)
	for _, i := range perm[:min(n, len(perm))] {
		picked = append(picked, list[i])
	}
	return picked
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
	var classes [][]string
	for _, name := range byCount {
		classes = append(classes, p.or(name, n))
	}
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
	var list []sessionInfo
	for _, s := range p.sessions {
		if s.id != "" && s.size < 400<<10 {
			list = append(list, s)
		}
	}
	return some(p, list, n)
}

func (p *picker) someEntries(n int) []entryInfo {
	var list []entryInfo
	for _, e := range p.entries {
		if e.session.id != "" && e.session.size < 4<<20 {
			list = append(list, e)
		}
	}
	return some(p, list, n)
}
