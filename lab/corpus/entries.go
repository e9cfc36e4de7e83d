package corpus

import (
	"math"
	"strconv"
	"time"
)

// converse writes prompts, each followed by replies that call tools, until the
// file has its lines.
func (s *sessionWriter) converse(lines int) error {
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
	return s.err
}

func (s *sessionWriter) more(lines int) bool {
	return s.err == nil && s.lines < lines && s.left > 0
}

// steps is how many replies with tool calls follow a prompt.
func (s *sessionWriter) steps() int {
	return min(int(s.rng.ExpFloat64()*7.6), 120)
}

func (s *sessionWriter) size(mean, dev float64) int {
	return min(int(math.Exp(mean+dev*s.rng.NormFloat64())), maxLine, int(max(s.left, 1<<10)))
}

// begin starts an entry of the type up to its timestamp and returns the id.
func (s *sessionWriter) begin(kind string) string {
	s.now = s.now.Add(time.Duration(200+s.rng.IntN(20000)) * time.Millisecond)
	id := s.entryID()
	b := append(s.buf[:0], `{"type":"`...)
	b = append(b, kind...)
	b = append(b, `","id":"`...)
	b = append(b, id...)
	b = append(b, `","parentId":`...)
	if s.last == "" {
		b = append(b, "null"...)
	} else {
		b = append(b, '"')
		b = append(b, s.last...)
		b = append(b, '"')
	}
	b = append(b, `,"timestamp":"`...)
	b = append(b, s.stamp()...)
	s.buf = append(b, '"')
	return id
}

func (s *sessionWriter) end(id string) {
	s.buf = append(s.buf, '}')
	s.flushLine()
	s.note(id)
}

func (s *sessionWriter) raw(t string) { s.buf = append(s.buf, t...) }
func (s *sessionWriter) number(n int) { s.buf = strconv.AppendInt(s.buf, int64(n), 10) }
func (s *sessionWriter) millis()      { s.buf = strconv.AppendInt(s.buf, s.now.UnixMilli(), 10) }
func (s *sessionWriter) str(t string) { s.raw(`"`); s.raw(t); s.raw(`"`) }
func (s *sessionWriter) text(k, n int) {
	s.raw(`"`)
	s.buf = s.pool.text(s.buf, s.rng, k, n)
	s.raw(`"`)
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
	id := s.begin("message")
	s.raw(`,"message":{"role":"user","content":[{"type":"text","text":`)
	s.text(proseText, max(size-230, 20))
	s.raw(`}],"timestamp":`)
	s.millis()
	s.raw(`}`)
	s.end(id)
}

// call is a tool call that waits for its result.
type call struct {
	id, tool, path string
	source         *source // that it is about
}

var tools = []string{"bash", "read", "edit", "write", "grep", "find", "ls", "todo"}

// reply writes an assistant message with n tool calls and returns them.
func (s *sessionWriter) reply(n int) []call {
	const envelope = 640
	left := max(s.size(replyMean, replyDev)-envelope, 40)
	id := s.begin("message")
	s.raw(`,"message":{"role":"assistant","content":[`)
	comma := false
	next := func() {
		if comma {
			s.raw(",")
		}
		comma = true
	}
	if v := s.rng.Float64(); v < 0.5 {
		thinking := left * 37 / 100
		signature := left*28/100 + 160
		next()
		s.raw(`{"type":"thinking","thinking":`)
		s.text(proseText, thinking)
		s.raw(`,"thinkingSignature":"`)
		s.buf = s.pool.base64(s.buf, s.rng, signature)
		s.raw(`"}`)
		left -= thinking + signature
	}
	var calls []call
	for i := range n {
		c := call{tool: tools[s.pick(41, 23, 18, 6, 5, 3, 3, 1)]}
		c.id = "toolu_" + s.entryID() + s.entryID() + s.entryID()
		calls = append(calls, c)
		if i == 0 && (c.tool == "bash" || c.tool == "read") && left > 120 {
			next()
			s.raw(`{"type":"text","text":`)
			s.text(proseText, left*2/3)
			s.raw(`}`)
			left /= 3
		}
	}
	if n == 0 {
		next()
		s.raw(`{"type":"text","text":`)
		s.text(proseText, max(left, 20))
		s.raw(`}`)
	}
	for i := range calls {
		c := &calls[i]
		next()
		s.raw(`{"type":"toolCall","id":`)
		s.str(c.id)
		s.raw(`,"name":`)
		s.str(c.tool)
		s.raw(`,"arguments":{`)
		s.arguments(c, max(left/n, 30))
		s.raw(`}}`)
	}
	in, out := 200+s.rng.IntN(40000), 20+s.rng.IntN(3000)
	s.raw(`],"api":"anthropic-messages","provider":`)
	s.str(s.model[0])
	s.raw(`,"model":`)
	s.str(s.model[1])
	s.raw(`,"usage":{"input":`)
	s.number(in)
	s.raw(`,"output":`)
	s.number(out)
	s.raw(`,"cacheRead":`)
	s.number(in * 3)
	s.raw(`,"cacheWrite":`)
	s.number(in / 2)
	s.raw(`,"totalTokens":`)
	s.number(in*4 + in/2 + out)
	s.raw(`,"cost":{"input":0.0012,"output":0.0042,"cacheRead":0.0003,"cacheWrite":0.0007,"total":0.0064}},"stopReason":`)
	switch {
	case n > 0:
		s.str("toolUse")
	case s.rng.Float64() < 0.03:
		s.raw(`"error","errorMessage":"529 {\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}"`)
	default:
		s.str("stop")
	}
	s.raw(`,"timestamp":`)
	s.millis()
	s.raw(`}`)
	s.end(id)
	return calls
}

func (s *sessionWriter) arguments(c *call, size int) {
	c.source = s.pool.source(s.rng, s.cwd)
	c.path = c.source.name
	path := func() {
		s.raw(`"path":"`)
		s.raw(c.path)
		s.raw(`"`)
	}
	switch c.tool {
	case "bash":
		s.raw(`"command":"`)
		s.buf = s.pool.command(s.buf, s.rng, c.path, size)
		s.raw(`"`)
		if s.rng.Float64() < 0.2 {
			s.raw(`,"timeout":120`)
		}
	case "read":
		path()
		if s.rng.Float64() < 0.4 {
			s.raw(`,"offset":`)
			s.number(1 + s.rng.IntN(400))
			s.raw(`,"limit":`)
			s.number(50 * (1 + s.rng.IntN(8)))
		}
	case "edit":
		path()
		s.raw(`,"oldText":`)
		s.text(codeText, size*2/5)
		s.raw(`,"newText":`)
		s.text(codeText, size*3/5)
	case "write":
		path()
		s.raw(`,"content":`)
		s.text(codeText, size)
	case "grep":
		s.raw(`"pattern":"`)
		s.buf = s.pool.word(s.buf, s.rng)
		s.raw(`","path":"`)
		s.raw(c.path)
		s.raw(`"`)
	case "todo":
		s.raw(`"items":[`)
		s.text(proseText, size)
		s.raw(`]`)
	default:
		path()
	}
}

func (s *sessionWriter) result(c call, size int) {
	const envelope = 300
	size = max(size-envelope, 16)
	failed := s.rng.Float64() < 0.05
	id := s.begin("message")
	s.raw(`,"message":{"role":"toolResult","toolCallId":`)
	s.str(c.id)
	s.raw(`,"toolName":`)
	s.str(c.tool)
	s.raw(`,"content":[{"type":"text","text":`)
	switch {
	case size > imageFloor && size < 2<<20 && s.rng.Float64() < imageShare:
		s.raw(`"Read image file [image/png]"},{"type":"image","data":"`)
		s.buf = s.pool.base64(s.buf, s.rng, size&^3)
		s.raw(`","mimeType":"image/png"`)
	case failed:
		s.raw(`"`)
		s.buf = s.pool.failure(s.buf, s.rng, c.path, size)
		s.raw(`"`)
	case c.tool == "read":
		s.raw(`"`)
		s.buf = s.pool.from(s.buf, s.rng, c.source, size)
		s.raw(`"`)
	case c.tool == "edit":
		s.raw(`"Successfully replaced text in `)
		s.raw(c.path)
		s.raw(`."`)
	case c.tool == "write":
		s.raw(`"Successfully wrote `)
		s.number(size)
		s.raw(` bytes to `)
		s.raw(c.path)
		s.raw(`"`)
	default:
		s.text(outputText, size)
	}
	s.raw(`}]`)
	if c.tool == "edit" && !failed {
		s.raw(`,"details":{"diff":`)
		s.text(codeText, size)
		s.raw(`,"firstChangedLine":`)
		s.number(1 + s.rng.IntN(900))
		s.raw(`}`)
	}
	if failed {
		s.raw(`,"isError":true,"timestamp":`)
	} else {
		s.raw(`,"isError":false,"timestamp":`)
	}
	s.millis()
	s.raw(`}`)
	s.end(id)
}

func (s *sessionWriter) shell() {
	path := s.pool.source(s.rng, s.cwd).name
	id := s.begin("message")
	s.raw(`,"message":{"role":"bashExecution","command":"`)
	s.buf = s.pool.command(s.buf, s.rng, path, 40)
	s.raw(`","output":`)
	s.text(outputText, s.size(5.5, 1.3))
	s.raw(`,"exitCode":0,"cancelled":false,"truncated":false,"timestamp":`)
	s.millis()
	s.raw(`}`)
	s.end(id)
}

func (s *sessionWriter) modelChange() {
	s.model = models[s.rng.IntN(len(models))]
	id := s.begin("model_change")
	s.raw(`,"provider":`)
	s.str(s.model[0])
	s.raw(`,"modelId":`)
	s.str(s.model[1])
	s.end(id)
}

func (s *sessionWriter) thinkingLevel() {
	id := s.begin("thinking_level_change")
	s.raw(`,"thinkingLevel":`)
	s.str([]string{"off", "low", "medium", "high"}[s.rng.IntN(4)])
	s.end(id)
}

func (s *sessionWriter) compaction() {
	kept := s.past[len(s.past)/2]
	id := s.begin("compaction")
	s.raw(`,"summary":`)
	s.text(proseText, 1500+s.rng.IntN(4000))
	s.raw(`,"firstKeptEntryId":`)
	s.str(kept)
	s.raw(`,"tokensBefore":`)
	s.number(90000 + s.rng.IntN(90000))
	s.end(id)
}

func (s *sessionWriter) title() {
	id := s.begin("session_info")
	s.raw(`,"name":"`)
	for i := range 3 {
		if i > 0 {
			s.raw(" ")
		}
		s.buf = s.pool.word(s.buf, s.rng)
	}
	s.raw(`"`)
	s.end(id)
}

func (s *sessionWriter) label() {
	target := s.past[s.rng.IntN(len(s.past))]
	id := s.begin("label")
	s.raw(`,"targetId":`)
	s.str(target)
	s.raw(`,"label":"`)
	s.buf = s.pool.word(s.buf, s.rng)
	s.raw(`"`)
	s.end(id)
}

func (s *sessionWriter) custom() {
	id := s.begin("custom")
	s.raw(`,"customType":"git-checkpoint","data":{"commit":"`)
	s.raw(s.entryID() + s.entryID())
	s.raw(`","note":`)
	s.text(proseText, 60)
	s.raw(`}`)
	s.end(id)
}

func (s *sessionWriter) customMessage() {
	id := s.begin("custom_message")
	s.raw(`,"customType":"reminder","content":`)
	s.text(proseText, 200)
	s.raw(`,"display":true`)
	s.end(id)
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
		id := s.begin("branch_summary")
		s.raw(`,"fromId":`)
		s.str(from)
		s.raw(`,"summary":`)
		s.text(proseText, 600)
		s.end(id)
	}
}
