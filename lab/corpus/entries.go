package corpus

import (
	"fmt"
	"math"
	"strings"
	"time"
)

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
