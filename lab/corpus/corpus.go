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
// The sessions of other agents say the same: each entry that is made as pi writes it is
// written as the other agent does, with all that this agent writes twice.
//
// The same Options give the same bytes on every machine, except that forks of pi name their
// parent by its path.
package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"pigrep/internal/content"
	"pigrep/lab/must"
)

// Options say what to make.
type Options struct {
	Seed  uint64
	Bytes int64 // of all session files together, decompressed; the result is within a few lines of it

	Agent  string // that writes: "pi" or "", "claude", "codex"
	Packed bool   // the older half of the files is compressed

	// LongLine, when positive, makes one tool result of about this many bytes
	// in the first session, above Bytes.
	LongLine int64
}

// Stats say what was made.
type Stats struct {
	Files    int
	Lines    int // headers included
	Bytes    int64
	Packed   int // files that are compressed
	Forks    int // files that begin with the entries of another, or go on where it was left
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
	if _, ok := dialects[opts.Agent]; !ok {
		must.Fail("generate corpus: no agent is named %q", opts.Agent)
	}
	rng := rand.New(rand.NewPCG(opts.Seed, 0x9e3779b97f4a7c15))
	g := &generator{dir: dir, opts: opts, pool: newPool(rng)}
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
	id        string
	at        time.Time
	bytes     int64
	reverted  bool // another file goes on in its place
}

// lines returns the lines of the file, each with its end.
func (m *made) lines() [][]byte {
	f := must.Get(content.Open(m.path, 0))
	defer f.Close()
	return bytes.SplitAfter(must.Get(io.ReadAll(io.NewSectionReader(f, 0, m.bytes))), []byte("\n"))
}

// A dialect writes a session as another agent than pi does.
type dialect interface {
	path(id string) string // of the file, below the directory
	entry(e *entry)        // writes what pi writes as this entry; the first one is the header
	fork()                 // writes what is copied from the parent
	end()
}

var dialects = map[string]func(*sessionWriter) dialect{
	"": nil, "pi": nil,
	"claude": func(s *sessionWriter) dialect { return &claude{sessionWriter: s} },
	"codex":  func(s *sessionWriter) dialect { return &codex{sessionWriter: s} },
}

type generator struct {
	*pool
	dir   string
	opts  Options
	stats Stats
	paths int64 // bytes that the name of the directory takes in the files
	done  []*made

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
			parent, cwd = p, p.cwd
			start = p.at.Add(time.Duration(1+rng.IntN(72)) * time.Hour)
		}
	}
	s := g.writer(start, models[rng.IntN(len(models))], limit)
	if number%branchEvery == 9 {
		lines = max(lines, 60)
		s.branchEvery = 12 + rng.IntN(40)
	}
	g.topic = rng.Uint64()
	s.write(cwd, parent, func() { s.converse(lines) })
}

// longSession writes a session with one very long tool result.
func (g *generator) longSession(size int64) {
	s := g.writer(lastDay, models[0], size+1<<20)
	s.write("/home/dev/src/atlas-api", nil, func() {
		s.prompt()
		s.result(s.reply(1)[0], int(size))
		s.reply(0)
	})
	g.buf = nil // do not keep its memory for the short lines that follow
}

// writer returns a writer of a session of the agent.
func (g *generator) writer(now time.Time, model [2]string, left int64) *sessionWriter {
	s := &sessionWriter{generator: g, now: now, model: model, left: left}
	if as := dialects[g.opts.Agent]; as != nil {
		s.as = as(s)
	}
	return s
}

// sessionWriter writes one session file.
type sessionWriter struct {
	*generator
	as     dialect // nil for pi
	child  bool    // of another session
	parent *made   // of a fork
	w      *bufio.Writer
	path   string
	cwd    string
	now    time.Time
	start  time.Time
	model  [2]string
	id     string   // of the entry being made
	last   string   // id of the entry before
	past   []string // ids of the latest entries, for branches and labels
	left   int64    // bytes that may still be written
	bytes  int64
	lines  int // as pi writes them

	branchEvery int
	branched    bool
}

// write writes a file with the entries that fill makes; a fork begins with those of its parent.
func (s *sessionWriter) write(cwd string, parent *made, fill func()) {
	id := s.sessionID()
	s.cwd, s.parent, s.start, s.ids = cwd, parent, s.now, map[string]bool{}
	name := filepath.Join("--"+strings.ReplaceAll(strings.TrimPrefix(cwd, "/"), "/", "-")+"--", s.fileStamp()+"_"+id+".jsonl")
	if s.as != nil {
		name = s.as.path(id)
	}
	s.path = filepath.Join(s.dir, name)
	closeAll := s.open()

	s.buf = fmt.Appendf(s.buf[:0], `{"type":"session","version":3,"id":"%s","timestamp":"%s","cwd":"%s"`, id, s.stamp(), cwd)
	if parent != nil && s.as == nil {
		s.buf = fmt.Appendf(s.buf, `,"parentSession":"%s"`, filepath.ToSlash(parent.path))
		s.paths += int64(len(s.dir))
		s.left += int64(len(s.dir))
	}
	s.buf = append(s.buf, '}')
	s.flushLine()
	switch {
	case parent == nil:
		s.modelChange()
		s.thinkingLevel()
	case s.as != nil:
		s.as.fork()
	default:
		s.copyEntries()
	}
	fill()
	if s.as != nil {
		s.as.end()
	}
	must.Do(closeAll())
	must.Do(os.Chtimes(s.path, s.now, s.now))
	s.stats.Files++
	if parent != nil {
		s.stats.Forks++
	}
	if s.branched {
		s.stats.Branched++
	}
	if parent == nil && !s.child {
		s.done = append(s.done, &made{s.path, s.cwd, id, s.start, s.bytes, false})
	}
}

// open opens the file, and returns what ends it. Old files may be compressed.
func (s *sessionWriter) open() (closeAll func() error) {
	packed := s.opts.Packed && s.now.Before(lastDay.Add(-350*24*time.Hour))
	if packed {
		s.path += ".zst"
		s.stats.Packed++
	}
	must.Do(os.MkdirAll(filepath.Dir(s.path), 0o755))
	f := must.Get(os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644))
	if !packed {
		s.w = bufio.NewWriterSize(f, 256<<10)
		return func() error { return errors.Join(s.w.Flush(), f.Close()) }
	}
	z := must.Get(zstd.NewWriter(f, zstd.WithEncoderConcurrency(1)))
	s.w = bufio.NewWriterSize(z, 256<<10)
	return func() error { return errors.Join(s.w.Flush(), z.Close(), f.Close()) }
}

// copied visits the first lines of the parent but for skip, as many as a fork copies.
func (s *sessionWriter) copied(skip int, visit func(line []byte)) {
	keep := s.parent.bytes/8 + s.rng.Int64N(s.parent.bytes)
	for _, line := range s.parent.lines()[skip:] {
		if keep <= 0 || s.left <= 0 || len(line) == 0 {
			return
		}
		keep -= int64(len(line))
		s.stats.Copied++
		visit(line)
	}
}

// copyEntries writes the first entries of the parent again, byte for byte, as a fork of pi
// does. Only the parent ids of the last one matter for what follows.
func (s *sessionWriter) copyEntries() {
	s.copied(1, func(line []byte) {
		s.put(line)
		s.lines++
		if id := firstID.FindSubmatch(line[:min(len(line), 200)]); id != nil {
			s.note(string(id[1]))
		}
	})
}

// firstID finds the id of an entry, which has no escapes.
var firstID = regexp.MustCompile(`"id":"([^"]*)"`)

// flushLine writes the line in buf, as the agent writes it.
func (s *sessionWriter) flushLine() {
	s.lines++
	if s.as == nil {
		s.buf = append(s.buf, '\n')
		s.put(s.buf)
		return
	}
	var e entry
	must.Do(json.Unmarshal(s.buf, &e))
	s.as.entry(&e)
}

// put writes a line.
func (s *sessionWriter) put(line []byte) {
	must.Get(s.w.Write(line))
	n := int64(len(line))
	s.bytes += n
	s.left -= n
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

// fileStamp is the time as names of files have it.
func (s *sessionWriter) fileStamp() string {
	return strings.NewReplacer(":", "-", ".", "-").Replace(s.stamp())
}

// entry is an entry as pi writes it. Strings that are only written again stay as they stand
// in JSON.
type entry struct {
	Type, ID, ParentID, Timestamp string
	CWD                           string
	Summary, Name, Label, Content json.RawMessage
	Message                       struct {
		Role            string
		Content         []contentBlock
		Usage           struct{ Input, Output, CacheRead, CacheWrite int }
		StopReason      string
		ErrorMessage    json.RawMessage
		ToolCallID      string
		IsError         bool
		Details         struct{ Diff json.RawMessage }
		Command, Output json.RawMessage
	}
}

// contentBlock is a block of a message.
type contentBlock struct {
	Type, ID, Name                                     string
	Text, Thinking, ThinkingSignature, Data, Arguments json.RawMessage
}

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

// converse writes prompts, each followed by replies that call tools, until the
// file has its lines.
func (s *sessionWriter) converse(lines int) {
	named := s.rng.Float64() < 0.2
	sinceSummary := 0
	for turn := 0; s.more(lines) || turn == 0; turn++ {
		if s.branchEvery > 0 && len(s.past) > 6 && turn%s.branchEvery == s.branchEvery-1 || s.branchEvery > 0 && turn == 2 {
			s.branch()
		}
		before := s.lines
		s.prompt()
		for steps := s.steps(); steps > 0 && s.more(lines); steps-- {
			n := 1
			if s.rng.Float64() < 0.09 {
				n += 1 + s.rng.IntN(2)
			}
			for _, c := range s.reply(n) {
				s.result(c, s.size(resultMean, resultDev))
			}
		}
		if s.more(lines) || turn == 0 {
			s.reply(0)
		}
		if turn == 1 && named {
			s.title()
		}
		sinceSummary += s.lines - before
		if sinceSummary > 350 && s.more(lines) {
			s.compaction()
			sinceSummary = 0
		}
		switch v := s.rng.Float64(); {
		case !s.more(lines):
		case v < 0.05:
			s.shell()
		case v < 0.07:
			s.label()
		case v < 0.09:
			s.custom()
		case v < 0.10:
			s.customMessage()
		case v < 0.12:
			s.modelChange()
		}
	}
}

func (s *sessionWriter) more(lines int) bool {
	return s.lines < lines && s.left > 0
}

// steps is how many replies with tool calls follow a prompt.
func (s *sessionWriter) steps() int {
	return min(int(s.rng.ExpFloat64()*7.6), 120)
}

func (s *sessionWriter) size(mean, dev float64) int {
	return min(int(math.Exp(mean+dev*s.rng.NormFloat64())), maxLine, int(max(s.left, 1<<10)))
}

// begin draws the time and the id of the next entry, which end writes. What is drawn for its
// fields comes between the two.
func (s *sessionWriter) begin() {
	s.now = s.now.Add(time.Duration(200+s.rng.IntN(20000)) * time.Millisecond)
	s.id = s.entryID()
}

// end writes an entry of the type. The format is for its fields, as they stand in JSON.
func (s *sessionWriter) end(kind, format string, fields ...any) {
	parent := "null"
	if s.last != "" {
		parent = `"` + s.last + `"`
	}
	s.buf = fmt.Appendf(s.buf[:0], `{"type":"%s","id":"%s","parentId":%s,"timestamp":"%s",`, kind, s.id, parent, s.stamp())
	s.buf = append(fmt.Appendf(s.buf, format, fields...), '}')
	s.flushLine()
	s.note(s.id)
}

// endMessage writes an entry that is a message.
func (s *sessionWriter) endMessage(format string, fields ...any) {
	s.end("message", `"message":{`+format+`,"timestamp":%d}`, append(fields, s.now.UnixMilli())...)
}

// pick draws an index by the weights, which add up to 100.
func (s *sessionWriter) pick(weights ...int) int {
	v := s.rng.IntN(100)
	for i, w := range weights {
		if v < w {
			return i
		}
		v -= w
	}
	return len(weights) - 1
}

func (s *sessionWriter) prompt() {
	size := s.size(promptMean, promptDev)
	s.begin()
	s.endMessage(`"role":"user","content":[{"type":"text","text":"%s"}]`, s.text(proseText, max(size-230, 20)))
}

// call is a tool call that waits for its result.
type call struct {
	id, tool string
	source   *source // that it is about
}

var tools = []string{"bash", "read", "edit", "write", "grep", "find", "ls", "todo"}

// reply writes an assistant message with n tool calls and returns them.
func (s *sessionWriter) reply(n int) []call {
	const envelope = 640
	left := max(s.size(replyMean, replyDev)-envelope, 40)
	s.begin()
	var blocks []string
	add := func(format string, fields ...any) { blocks = append(blocks, fmt.Sprintf(format, fields...)) }
	const text = `{"type":"text","text":"%s"}`
	if s.rng.Float64() < 0.5 {
		thinking, signature := left*37/100, left*28/100+160
		add(`{"type":"thinking","thinking":"%s","thinkingSignature":"%s"}`, s.text(proseText, thinking), s.base64(signature))
		left -= thinking + signature
	}
	calls := make([]call, n)
	for i := range calls {
		c := call{tool: tools[s.pick(41, 23, 18, 6, 5, 3, 3, 1)]}
		c.id = "toolu_" + s.entryID() + s.entryID() + s.entryID()
		calls[i] = c
		if i == 0 && (c.tool == "bash" || c.tool == "read") && left > 120 {
			add(text, s.text(proseText, left*2/3))
			left /= 3
		}
	}
	if n == 0 {
		add(text, s.text(proseText, max(left, 20)))
	}
	for i := range calls {
		c := &calls[i]
		add(`{"type":"toolCall","id":"%s","name":"%s","arguments":{%s}}`, c.id, c.tool, s.arguments(c, max(left/n, 30)))
	}
	in, out := 200+s.rng.IntN(40000), 20+s.rng.IntN(3000)
	stop := `"stop"`
	switch {
	case n > 0:
		stop = `"toolUse"`
	case s.rng.Float64() < 0.03:
		stop = `"error","errorMessage":"529 {\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}"`
	}
	s.endMessage(`"role":"assistant","content":[%s],"api":"anthropic-messages","provider":"%s","model":"%s",`+
		`"usage":{"input":%d,"output":%d,"cacheRead":%d,"cacheWrite":%d,"totalTokens":%d,`+
		`"cost":{"input":0.0012,"output":0.0042,"cacheRead":0.0003,"cacheWrite":0.0007,"total":0.0064}},"stopReason":%s`,
		strings.Join(blocks, ","), s.model[0], s.model[1], in, out, in*3, in/2, in*4+in/2+out, stop)
	return calls
}

// arguments draws the arguments of a call, as they stand in JSON.
func (s *sessionWriter) arguments(c *call, size int) string {
	c.source = s.source(s.cwd)
	path := fmt.Sprintf(`"path":"%s"`, c.source.name)
	switch c.tool {
	case "bash":
		command := fmt.Sprintf(`"command":"%s"`, s.command(c.source.name, size))
		if s.rng.Float64() < 0.2 {
			command += `,"timeout":120`
		}
		return command
	case "read":
		if s.rng.Float64() < 0.4 {
			path += fmt.Sprintf(`,"offset":%d,"limit":%d`, 1+s.rng.IntN(400), 50*(1+s.rng.IntN(8)))
		}
	case "edit":
		path += fmt.Sprintf(`,"oldText":"%s","newText":"%s"`, s.text(codeText, size*2/5), s.text(codeText, size*3/5))
	case "write":
		path += fmt.Sprintf(`,"content":"%s"`, s.text(codeText, size))
	case "grep":
		return fmt.Sprintf(`"pattern":"%s",%s`, s.word(), path)
	case "todo":
		return fmt.Sprintf(`"items":["%s"]`, s.text(proseText, size))
	}
	return path
}

func (s *sessionWriter) result(c call, size int) {
	const envelope = 300
	size = max(size-envelope, 16)
	failed := s.rng.Float64() < 0.05
	s.begin()
	var text []byte
	image, details := "", ""
	switch {
	case size > imageFloor && size < 2<<20 && s.rng.Float64() < imageShare:
		text = []byte("Read image file [image/png]")
		image = fmt.Sprintf(`,{"type":"image","data":"%s","mimeType":"image/png"}`, s.base64(size&^3))
	case failed:
		text = s.failure(c.source.name, size)
	case c.tool == "read":
		text = s.from(c.source, size)
	case c.tool == "edit":
		text = fmt.Appendf(nil, "Successfully replaced text in %s.", c.source.name)
	case c.tool == "write":
		text = fmt.Appendf(nil, "Successfully wrote %d bytes to %s", size, c.source.name)
	default:
		text = s.text(outputText, size)
	}
	if c.tool == "edit" && !failed {
		details = fmt.Sprintf(`,"details":{"diff":"%s","firstChangedLine":%d}`, s.text(codeText, size), 1+s.rng.IntN(900))
	}
	s.endMessage(`"role":"toolResult","toolCallId":"%s","toolName":"%s","content":[{"type":"text","text":"%s"}%s]%s,"isError":%t`,
		c.id, c.tool, text, image, details, failed)
}

func (s *sessionWriter) shell() {
	path := s.source(s.cwd).name
	s.begin()
	s.endMessage(`"role":"bashExecution","command":"%s","output":"%s","exitCode":0,"cancelled":false,"truncated":false`,
		s.command(path, 40), s.text(outputText, s.size(5.5, 1.3)))
}

func (s *sessionWriter) modelChange() {
	s.model = models[s.rng.IntN(len(models))]
	s.begin()
	s.end("model_change", `"provider":"%s","modelId":"%s"`, s.model[0], s.model[1])
}

func (s *sessionWriter) thinkingLevel() {
	s.begin()
	s.end("thinking_level_change", `"thinkingLevel":"%s"`, []string{"off", "low", "medium", "high"}[s.rng.IntN(4)])
}

func (s *sessionWriter) compaction() {
	kept := s.past[len(s.past)/2]
	s.begin()
	s.end("compaction", `"summary":"%s","firstKeptEntryId":"%s","tokensBefore":%d`,
		s.text(proseText, 1500+s.rng.IntN(4000)), kept, 90000+s.rng.IntN(90000))
}

func (s *sessionWriter) title() {
	s.begin()
	s.end("session_info", `"name":"%s %s %s"`, s.word(), s.word(), s.word())
}

func (s *sessionWriter) label() {
	target := s.past[s.rng.IntN(len(s.past))]
	s.begin()
	s.end("label", `"targetId":"%s","label":"%s"`, target, s.word())
}

func (s *sessionWriter) custom() {
	s.begin()
	s.end("custom", `"customType":"git-checkpoint","data":{"commit":"%s%s","note":"%s"}`, s.entryID(), s.entryID(), s.text(proseText, 60))
}

func (s *sessionWriter) customMessage() {
	s.begin()
	s.end("custom_message", `"customType":"reminder","content":"%s","display":true`, s.text(proseText, 200))
}

// branch goes back to an earlier entry, with a summary of what is left behind.
func (s *sessionWriter) branch() {
	if len(s.past) < 4 {
		return
	}
	s.last = s.past[s.rng.IntN(len(s.past)*3/4)]
	s.branched = true
	if s.rng.Float64() < 0.5 {
		from := s.past[len(s.past)-1]
		s.begin()
		s.end("branch_summary", `"fromId":"%s","summary":"%s"`, from, s.text(proseText, 600))
	}
}
