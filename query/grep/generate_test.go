package grep

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// grepWords is what random texts are made of: words that have something in
// common, and every kind of character that is decoded, folded or cut in a way of
// its own.
var grepWords = []string{
	"token", "Token", "TOKEN", "tokens", "time", "timeout", "timedOut", "getUserName", "get_user_name", "getusername", "HTTPServer", "_x", "x_", "__init__",
	"a", "I", "kiss", "KISS", "\u212aiss", "ki\u017fs", "stra\u00dfe", "STRASSE", "caf\u00e9", "cafe\u0301", "na\u00efve", "\u0130stanbul", "\u0131", "α\u0345", "αι", "ΑΙ",
	"日本語", "日本", "語", "かき", "か\u3099", "が", "ｶﾞ", "한국어", "한", "ᄒ\u1161\u11ab", "ภาษาไทย", "中", "\U00020000",
	"™", "foo™", "½", "①", "ﬁle", "file", "Ⅷ", "㍿", "😀", "👨\u200d👩\u200d👧", "✓", "क\u093f", "\u0301", "\u3099",
	"e+1", "1", "42", "137", "0.0", "edits", "exit code 137", "a->b", "src/auth/login.ts", "--no-cache", "C++", "x=1;", "[{", "}]", "\\", `"`, "'", "/", `\n`, `\u0041`,
	strings.Repeat("long", 20), strings.Repeat("q", 63) + "z", strings.Repeat("q", 64) + "z", "deadbeef0123456789", "_" + strings.Repeat("A1", 40), strings.Repeat("é", 40) + "zz",
	"\ufffd", "\x00", "\x1b[31m", "\u007f", "\u0085", "\u2028", "\u00a0", "\t", "\r\n", "\n", "\n\n", " ", "  ", ".", ": ", ", ", "-", "_", "(", ")",
}

func randomText(rng *rand.Rand) string {
	var b strings.Builder
	for range rng.IntN(14) {
		b.WriteString(grepWords[rng.IntN(len(grepWords))])
		switch rng.IntN(4) {
		case 0, 1:
			b.WriteByte(' ')
		case 2:
			b.WriteString([]string{"\n", "-", ".", ", "}[rng.IntN(4)])
		}
	}
	return b.String()
}

// randomString writes a JSON string in one of its many spellings.
func randomString(rng *rand.Rand, s string) string {
	var b strings.Builder
	b.WriteByte('"')
	style := rng.IntN(4)
	for _, r := range s {
		switch {
		case r == '"' || r == '\\' || r < ' ' || style == 0 && rng.IntN(4) == 0 || style == 1 && r >= utf8.RuneSelf:
			quoted, _ := json.Marshal(string(r))
			if short := string(quoted[1 : len(quoted)-1]); len(short) == 2 && rng.IntN(2) == 0 {
				b.WriteString(short)
			} else if r >= 0x10000 {
				r -= 0x10000
				fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			} else {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		case r == '/' && rng.IntN(2) == 0:
			b.WriteString(`\/`)
		case r == utf8.RuneError && rng.IntN(2) == 0:
			b.WriteString([]string{"\xff", `\ud800`, "\xc3"}[rng.IntN(3)])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// manyWords is a session with so many different words that the index knows where
// in its dictionary the pieces of them are.
func manyWords(rng *rand.Rand) []byte {
	var b strings.Builder
	for range 2700 {
		for range 8 {
			fmt.Fprintf(&b, "%s%x ", grepWords[rng.IntN(10)], rng.IntN(1<<28))
		}
		b.WriteByte('\n')
	}
	return fmt.Appendf(nil, `{"type":"session","version":3,"id":"many","timestamp":"2026-01-15T10:30:00.000Z","cwd":"/w"}
{"type":"message","id":"many","timestamp":"2026-01-15T10:30:01.000Z","message":{"role":"user","content":%s}}
`, randomString(rng, b.String()))
}

func randomSession(rng *rand.Rand, entries int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"type":"session","version":3,"id":"s%d","timestamp":"2026-01-15T10:30:00.000Z","cwd":"/w"}`+"\n", rng.IntN(1000))
	text := func() string { return randomString(rng, randomText(rng)) }
	for i := range entries {
		stamp := `"timestamp":"2026-01-15T10:30:03.000Z",`
		if rng.IntN(6) == 0 {
			stamp = ""
		}
		fmt.Fprintf(&b, `{%s"id":"%08x",`, stamp, i)
		switch rng.IntN(9) {
		case 0:
			fmt.Fprintf(&b, `"type":"session_info","name":%s}`, text())
		case 1:
			fmt.Fprintf(&b, `"type":"label","targetId":"x","label":%s}`, text())
		case 2:
			fmt.Fprintf(&b, `"type":"message","message":{"role":"user","content":%s}}`, text())
		case 3, 4:
			fmt.Fprintf(&b, `"type":"message","message":{"role":"toolResult","toolName":"bash","content":[{"type":"text","text":%s},{"type":"text","text":%s}]}}`, text(), text())
		case 5:
			fmt.Fprintf(&b, `"type":"message","message":{"role":"assistant","content":[{"type":"thinking","thinking":%s},{"type":"toolCall","id":"c","name":"edit","arguments":{"path":%s,%s:[{"old text":%s,"n":137},true]}}]}}`,
				text(), text(), randomString(rng, "k"+grepWords[rng.IntN(len(grepWords))]), text())
		case 6:
			fmt.Fprintf(&b, `"type":"message","message":{"role":"bashExecution","command":%s,"output":%s}}`,
				randomString(rng, "x"+randomText(rng)), randomString(rng, "y"+randomText(rng)))
		case 7:
			fmt.Fprintf(&b, `"type":"message","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":%s}}`, text())
		case 8:
			fmt.Fprintf(&b, `"type":"branch_summary","summary":%s}`, text())
		}
		b.WriteByte('\n')
		if rng.IntN(20) == 0 {
			b.WriteString("{broken " + grepWords[0] + "\n")
		}
	}
	return b.Bytes()
}

// oddSession is a session with entries whose parts depend on one another, and with long
// strings, which are not decoded unless they are wanted.
func oddSession(rng *rand.Rand, entries int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"type":"session","version":3,"id":"odd","timestamp":"2026-01-15T10:30:00.000Z","cwd":"/w"}`+"\n")
	long := func() string {
		var text strings.Builder
		for range rng.IntN(8) {
			text.WriteString(randomText(rng))
		}
		return text.String()
	}
	text := func() string { return randomString(rng, long()) }
	for i := range entries {
		fmt.Fprintf(&b, `{"id":"%08x","timestamp":"2026-01-15T10:30:03.000Z",`, i)
		held := long()
		details := fmt.Sprintf(`"details":{"diff":%s,"held":%s,"type":%s,"rest":[%s,{}]}`, text(), randomString(rng, held), text(), randomString(rng, held[:len(held)/2]))
		switch rng.IntN(8) {
		case 0:
			fmt.Fprintf(&b, `"type":"message","message":{"role":"toolResult","toolName":%s,"content":[{"type":"text","text":%s},%s],%s,"unknown":%s}}`,
				text(), randomString(rng, held), text(), details, text())
		case 1:
			fmt.Fprintf(&b, `"type":"compaction","summary":%s,%s,"systemMessage":{"role":"system","content":%s,"sections":[%s]},"other":%s}`,
				randomString(rng, held), details, text(), text(), text())
		case 2:
			fmt.Fprintf(&b, `"type":"custom","customType":%s,"data":{"a":%s,"b":[%s]},"unknown":{"c":%s}}`, text(), text(), text(), text())
		case 3:
			fmt.Fprintf(&b, `"type":"custom_message","customType":"c","content":[{"type":"text","te\u0078t":%s},{"type":"odd","id":"x","rest":%s}],%s}`, text(), text(), details)
		case 4:
			fmt.Fprintf(&b, `"type":"message","message":{"role":"user","content":%s,"content":%s,"attachments":[{"fileName":%s,"extractedText":%s,"x":%s}]}}`,
				text(), text(), text(), text(), text())
		case 5:
			fmt.Fprintf(&b, `"type":"message","message":{"role":"assistant","content":[{"type":"text","text":%s},{"type":"toolCall","id":"c","name":%s,"arguments":{%s:%s,"n":[1.50,true,null,{}]},"x":%s},`+
				`{"type":"toolCall","arguments":{"data":%s,"type":"image"}},{"type":"toolCall","name":%s,"arguments":null}],"model":%s,"errorMessage":%s}}`,
				text(), randomString(rng, randomText(rng)), text(), text(), text(), text(), text(), text(), text())
		case 6:
			fmt.Fprintf(&b, `"type":"message","message":{"role":"toolResult","content":%s,"nestedCalls":{"calls":[{"name":%s,"arguments":%s,"x":%s},%s]},%s}}`,
				randomString(rng, held), text(), text(), text(), text(), details)
		case 7:
			fmt.Fprintf(&b, `"type":%s,"unknown":[%s,{"image":{"type":"image","data":%s}}]}`, randomString(rng, randomText(rng)), text(), text())
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}
