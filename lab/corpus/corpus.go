// Package corpus makes session trees of any size for benchmarks and tests.
//
// The sessions are format version 3 as pi writes them, and look like real ones
// where that matters for speed: lines per file and bytes per line are log-normal, so
// that one line in a hundred has about a quarter of the bytes; the shares of
// roles, tools, images and signatures, repeated texts, files that are read again,
// forks that copy the entries of their parent, branches, and some text in scripts
// written without spaces. Words come as often as in real sessions, and the vocabulary
// grows with the corpus as theirs does.
//
// The same Options give the same bytes on every machine, except that forks name their
// parent by its path.
package corpus

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pigrep/lab/must"
)

// Options say what to make.
type Options struct {
	Seed  uint64
	Bytes int64 // of all session files together; the result is within a few lines of it

	// LongLine, when positive, makes one tool result of about this many bytes
	// in the first session, above Bytes.
	LongLine int64
}

// Stats say what was made.
type Stats struct {
	Files    int
	Lines    int // headers included
	Bytes    int64
	Forks    int // files that begin with the entries of another
	Copied   int // lines that forks copied
	Branched int // files with at least one abandoned branch
}

// The distributions of real sessions. The three roles' lines together have a
// natural logarithm of mean 7.0 and deviation 1.7.
const (
	linesMean, linesDev   = 4.2, 1.85
	resultMean, resultDev = 7.0, 1.75
	replyMean, replyDev   = 6.85, 1.6
	promptMean, promptDev = 6.1, 1.7
	maxLine               = 8 << 20
	maxLines              = 30000

	forkEvery    = 20 // files; one of them is a fork
	branchEvery  = 50
	repeatShare  = 0.18
	cjkShare     = 0.03
	imageShare   = 0.10 // of the tool results over imageFloor
	imageFloor   = 20 << 10
	maxForkBytes = 8 << 20
)

// lastDay is where the newest sessions end.
var lastDay = time.Date(2026, 10, 30, 18, 0, 0, 0, time.UTC)

// Generate writes a sessions directory under dir, which is made when it is
// missing and should be empty. It holds one line in memory at a time, and the
// texts that it draws from.
func Generate(dir string, opts Options) (stats Stats, err error) {
	defer must.Catch(&err)
	if opts.Bytes <= 0 {
		must.Fail("generate corpus: the number of bytes must be positive")
	}
	rng := rand.New(rand.NewPCG(opts.Seed, 0x9e3779b97f4a7c15))
	g := &generator{dir: dir, pool: newPool(rng)}
	for i := 0; g.grown() < opts.Bytes; i++ {
		g.session(opts.Bytes, i)
		if i == 0 && opts.LongLine > 0 {
			g.longSession(opts.LongLine)
			opts.Bytes += g.grown()
		}
	}
	return g.stats, nil
}

// made is a session file that a later fork may copy from.
type made struct {
	path, cwd string
	at        time.Time
	bytes     int64
}

type generator struct {
	*pool
	dir   string
	stats Stats
	paths int64 // bytes that the name of the directory takes in the files
	done  []made

	buf []byte // the line being made
	ids map[string]bool
}

// grown is how much was made, wherever the directory is.
func (g *generator) grown() int64 { return g.stats.Bytes - g.paths }

var projects = []string{
	"atlas-api", "billing", "blog", "cartographer", "chat-relay", "compose-kit", "dotfiles", "edge-cache", "feed-reader", "flux",
	"garden", "harbor", "image-proxy", "inventory", "jobs", "kiosk", "ledger", "lighthouse", "mailroom", "notes", "orders",
	"parser-lab", "photo-sort", "quill", "radio", "recipes", "scheduler", "search-ui", "sensor-hub", "site", "sync-engine",
	"terminal-games", "thermostat", "tiles", "tracker", "translate", "vault-tools", "weather", "wiki", "workbench",
}

var parents = []string{"/home/dev/src", "/home/dev/work", "/home/dev", "/srv/checkouts"}

var models = [][2]string{
	{"anthropic", "claude-sonnet-4-5"}, {"anthropic", "claude-opus-4-5"}, {"openai-codex", "gpt-5.4"},
	{"google", "gemini-3-flash-preview"}, {"openrouter", "qwen/qwen3-coder"},
}

// session writes one file of a length drawn from the distribution.
func (g *generator) session(total int64, number int) {
	rng := g.rng
	lines := int(math.Exp(linesMean + linesDev*rng.NormFloat64()))
	lines = min(max(lines, 4), maxLines)
	// A giant would be the whole of a small corpus.
	limit := min(total-g.grown(), max(total/10, 64<<10))

	start := lastDay.Add(-time.Duration(rng.Int64N(int64(700 * 24 * time.Hour))))
	cwd := parents[rng.IntN(len(parents))] + "/" + projects[rng.IntN(len(projects))]
	var parent *made
	if len(g.done) > 0 && number%forkEvery == 7 {
		if p := g.done[rng.IntN(len(g.done))]; p.bytes <= maxForkBytes {
			parent, cwd = &p, p.cwd
			start = p.at.Add(time.Duration(1+rng.IntN(72)) * time.Hour)
		}
	}
	s := &sessionWriter{generator: g, now: start, model: models[rng.IntN(len(models))], left: limit}
	if number%branchEvery == 9 {
		lines = max(lines, 60)
		s.branchEvery = 12 + rng.IntN(40)
	}
	g.topic = rng.Uint64()
	s.write(cwd, parent, func() { s.converse(lines) })
}

// longSession writes a session with one very long tool result.
func (g *generator) longSession(size int64) {
	s := &sessionWriter{generator: g, now: lastDay, model: models[0], left: size + 1<<20}
	s.write("/home/dev/src/atlas-api", nil, func() {
		s.prompt()
		s.result(s.reply(1)[0], int(size))
		s.reply(0)
	})
	g.buf = nil // do not keep its memory for the short lines that follow
}

// sessionWriter writes one session file.
type sessionWriter struct {
	*generator
	w     *bufio.Writer
	path  string
	cwd   string
	now   time.Time
	start time.Time
	model [2]string
	id    string   // of the entry being made
	last  string   // id of the entry before
	past  []string // ids of the latest entries, for branches and labels
	left  int64    // bytes that may still be written
	bytes int64
	lines int

	branchEvery int
	branched    bool
}

// write writes a file with the entries that fill makes; a fork begins with those of its parent.
func (s *sessionWriter) write(cwd string, parent *made, fill func()) {
	id := s.sessionID()
	s.cwd, s.start, s.ids = cwd, s.now, map[string]bool{}
	sub := filepath.Join(s.dir, "--"+strings.ReplaceAll(strings.TrimPrefix(cwd, "/"), "/", "-")+"--")
	must.Do(os.MkdirAll(sub, 0o755))
	stamp := strings.NewReplacer(":", "-", ".", "-").Replace(s.stamp())
	s.path = filepath.Join(sub, stamp+"_"+id+".jsonl")
	f := must.Get(os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644))
	defer f.Close()
	s.w = bufio.NewWriterSize(f, 256<<10)

	s.buf = fmt.Appendf(s.buf[:0], `{"type":"session","version":3,"id":"%s","timestamp":"%s","cwd":"%s"`, id, s.stamp(), cwd)
	if parent != nil {
		s.buf = fmt.Appendf(s.buf, `,"parentSession":"%s"`, filepath.ToSlash(parent.path))
		s.paths += int64(len(s.dir))
		s.left += int64(len(s.dir))
	}
	s.buf = append(s.buf, '}')
	s.flushLine()
	if parent != nil {
		s.copyFrom(parent)
	} else {
		s.modelChange()
		s.thinkingLevel()
	}
	fill()
	must.Do(errors.Join(s.w.Flush(), f.Close()))
	must.Do(os.Chtimes(s.path, s.now, s.now))
	s.stats.Files++
	if s.branched {
		s.stats.Branched++
	}
	if parent == nil {
		s.done = append(s.done, made{s.path, s.cwd, s.start, s.bytes})
	}
}

// copyFrom writes the first entries of the parent again, byte for byte, as a
// fork does. Only the parent ids of the last one matter for what follows.
func (s *sessionWriter) copyFrom(parent *made) {
	_, entries, _ := bytes.Cut(must.Get(os.ReadFile(parent.path)), []byte("\n"))
	keep := parent.bytes/8 + s.rng.Int64N(parent.bytes)
	for line := range bytes.Lines(entries) {
		if keep <= 0 || s.left <= 0 {
			break
		}
		keep -= int64(len(line))
		s.buf = append(s.buf[:0], line[:len(line)-1]...)
		s.flushLine()
		s.stats.Copied++
		if id, ok := field(line, `"id":"`); ok {
			s.note(id)
		}
	}
	s.stats.Forks++
}

// field returns the first string value after the key, which holds no escapes.
func field(line []byte, key string) (string, bool) {
	_, after, ok := strings.Cut(string(line[:min(len(line), 200)]), key)
	if !ok {
		return "", false
	}
	value, _, ok := strings.Cut(after, `"`)
	return value, ok
}

// flushLine writes the line in buf.
func (s *sessionWriter) flushLine() {
	s.buf = append(s.buf, '\n')
	must.Get(s.w.Write(s.buf))
	n := int64(len(s.buf))
	s.bytes += n
	s.left -= n
	s.lines++
	s.stats.Bytes += n
	s.stats.Lines++
	s.pool.grown = s.generator.grown()
}

func (s *sessionWriter) note(id string) {
	s.last = id
	s.ids[id] = true
	s.past = append(s.past, id)
	s.past = s.past[max(0, len(s.past)-64):]
}

func (s *sessionWriter) stamp() string { return s.now.UTC().Format("2006-01-02T15:04:05.000Z") }

// sessionID is a version 7 UUID of the present time.
func (s *sessionWriter) sessionID() string {
	ms := uint64(s.now.UnixMilli())
	a, b := s.rng.Uint64(), s.rng.Uint64()
	return fmt.Sprintf("%08x-%04x-7%03x-%04x-%012x", ms>>16, ms&0xffff, a&0xfff, 0x8000|(a>>16)&0x3fff, b&0xffffffffffff)
}

const hexDigits = "0123456789abcdef"

func (s *sessionWriter) entryID() string {
	for {
		var id [8]byte
		for i, v := 0, s.rng.Uint32(); i < 8; i, v = i+1, v>>4 {
			id[i] = hexDigits[v&15]
		}
		if str := string(id[:]); !s.ids[str] {
			return str
		}
	}
}
