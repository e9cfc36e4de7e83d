package corpus

import (
	_ "embed"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The kinds of text that a pool makes.
const (
	proseText = iota
	codeText
	outputText
	textKinds
)

// pool is the text that sessions are made of, as it stands in a JSON string,
// escapes included.
type pool struct {
	vocabulary
	rng     *rand.Rand
	base    []byte
	sources map[string][]*source // by working directory
	earlier [textKinds][]block
	next    [textKinds]int
	topic   uint64 // of the session being written
}

// block is all that a text was made from: the same block gives the same text, and
// a smaller size the beginning of it.
type block struct {
	seed  uint64
	size  int
	topic uint64
	span  span
	cjk   bool
}

// source is a file of a project. Its text is made as far as it is read.
type source struct {
	name   string
	chunks []block
}

const maxEarlier = 4096

func newPool(rng *rand.Rand) *pool {
	p := &pool{vocabulary: *newVocabulary(), rng: rng, sources: map[string][]*source{}}
	p.base = make([]byte, 1<<20)
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range p.base {
		p.base[i] = alphabet[rng.IntN(64)]
	}
	return p
}

// source draws a file of the project in this directory: mostly one of those that
// were added last.
func (p *pool) source(cwd string) *source {
	files, rng := p.sources[cwd], p.rng
	if len(files) == 0 || rng.IntN(6) == 0 {
		name := ""
		for range 1 + rng.IntN(3) {
			name += p.plain[rng.IntN(200)] + "/"
		}
		name += p.plain[rng.IntN(len(p.plain))] + []string{"-", "_"}[rng.IntN(2)] + p.plain[rng.IntN(len(p.plain))]
		name += []string{".go", ".ts", ".ts", ".py", ".md", ".rs", ".json", ".test.ts"}[rng.IntN(8)]
		files = append(files, &source{name: name})
		p.sources[cwd] = files
	}
	return files[len(files)-1-int(min(rng.ExpFloat64()*6, float64(len(files)-1)))]
}

// from draws about size bytes of a file, half of the time from its beginning.
func (p *pool) from(f *source, size int) (text []byte) {
	i := 0
	if p.rng.IntN(2) == 0 {
		i = p.rng.IntN(len(f.chunks) + 1)
	}
	for ; len(text) < size; i++ {
		if i == len(f.chunks) {
			n := 1500 + p.rng.IntN(3000)
			f.chunks = append(f.chunks, p.newBlock(n))
		}
		b := f.chunks[i]
		b.size = min(b.size, size-len(text))
		text = p.render(text, codeText, b)
	}
	return text
}

func (p *pool) newBlock(size int) block {
	return block{seed: p.rng.Uint64(), size: size, topic: p.topic, span: p.invent(size)}
}

func (p *pool) word() string { return p.frequent(p.rng) }

// base64 draws n characters that look like encoded binary data.
func (p *pool) base64(n int) (text []byte) {
	for n > 0 {
		at := p.rng.IntN(len(p.base) / 2)
		take := min(n, len(p.base)-at)
		text = append(text, p.base[at:at+take]...)
		n -= take
	}
	return text
}

// text draws about size bytes of the kind. Some texts repeat an earlier one.
func (p *pool) text(kind, size int) []byte {
	size = max(size, 8)
	if old := p.earlier[kind]; len(old) > 0 && size > 60 && p.rng.Float64() < repeatShare {
		return p.render(nil, kind, old[p.rng.IntN(len(old))])
	}
	b := p.newBlock(size)
	b.cjk = p.rng.Float64() < cjkShare
	if size <= 256<<10 { // a giant that comes twice would bend the shares
		if old := p.earlier[kind]; len(old) < maxEarlier {
			p.earlier[kind] = append(old, b)
		} else {
			old[p.next[kind]%maxEarlier] = b
			p.next[kind]++
		}
	}
	return p.render(make([]byte, 0, size+200), kind, b)
}

// render appends the text that a block stands for.
func (p *pool) render(buf []byte, kind int, b block) []byte {
	w := &writer{pool: p, rng: rand.New(rand.NewPCG(b.seed, 1)), topic: b.topic, span: b.span}
	end := len(buf) + b.size
	switch {
	case b.cjk && kind != codeText:
		return w.cjk(buf, end)
	case kind == proseText:
		return w.prose(buf, end)
	case kind == codeText:
		return w.code(buf, end)
	default:
		return w.output(buf, end)
	}
}

// writer writes one text.
type writer struct {
	*pool
	rng    *rand.Rand
	topic  uint64
	span   span
	recent [24]int32 // words of the list, and names by the complement of their number
	said   int
}

// word appends a word or a name. Like people and programs, a writer says again what it
// said just now.
func (w *writer) word(buf []byte) []byte {
	r := w.rng.Uint64()
	var t int32
	switch {
	case w.said > 4 && r&15 < 7:
		t = w.recent[r>>8%uint64(min(w.said, len(w.recent)))]
	case r>>4&63 < 2:
		t = ^int32(w.span.names.draw(w.rng))
	default:
		t = int32(w.about(int(w.table[r>>32&0xffff]), w.topic))
	}
	if w.said < len(w.recent) {
		w.recent[w.said] = t
	} else {
		w.recent[r>>16%uint64(len(w.recent))] = t
	}
	w.said++
	if t < 0 {
		return w.vocabulary.name(buf, int(^t))
	}
	return append(buf, w.words[t]...)
}

func (w *writer) name(buf []byte) []byte { return w.vocabulary.name(buf, w.span.names.draw(w.rng)) }
func (w *writer) figure(buf []byte) []byte {
	return w.vocabulary.figure(buf, w.span.figures.draw(w.rng))
}

// small appends a number below 2000, the smaller the likelier.
func (w *writer) small(buf []byte) []byte {
	return strconv.AppendInt(buf, w.rng.Int64N(1+w.rng.Int64N(1+w.rng.Int64N(2000))), 10)
}

func (w *writer) sentence(buf []byte, words, end int) []byte {
	for i := range words {
		if i > 0 {
			buf = append(buf, ' ')
		}
		switch w.rng.IntN(60) {
		case 0, 1:
			buf = append(buf, '`')
			buf = w.name(buf)
			buf = append(buf, '`')
		case 2:
			buf = w.small(buf)
		case 3:
			buf = w.word(append(w.word(buf), '/'))
		default:
			buf = w.word(buf)
		}
		if len(buf) >= end {
			break
		}
	}
	return buf
}

func (w *writer) prose(buf []byte, end int) []byte {
	for len(buf) < end {
		buf = w.sentence(buf, 5+w.rng.IntN(14), end)
		if len(buf) < end {
			buf = append(buf, [...]string{". ", ". ", ", and ", `.\n`, `.\n\n`, `:\n- `, "; ", "? "}[w.rng.IntN(8)]...)
		}
	}
	return buf
}

// lines are what code looks like: %w is a word, %W one with a capital, %n a name, %d
// a small number, %f a figure, %s a few words.
var lines = strings.Split(strings.TrimSuffix(lineList, "\n"), "\n")

//go:embed lines.txt
var lineList string

func (w *writer) code(buf []byte, end int) []byte {
	for len(buf) < end {
		buf = append(buf, "          "[:2*w.rng.IntN(6)]...)
		buf = w.line(buf, lines[w.rng.IntN(len(lines))])
		buf = append(buf, `\n`...)
	}
	return buf
}

func (w *writer) line(buf []byte, form string) []byte {
	for i := 0; i < len(form); i++ {
		c := form[i]
		if c != '%' {
			switch c {
			case '\t':
				buf = append(buf, `\t`...)
			case '"':
				buf = append(buf, `\"`...)
			default:
				buf = append(buf, c)
			}
			continue
		}
		i++
		switch form[i] {
		case 'w':
			buf = w.word(buf)
		case 'W':
			at := len(buf)
			buf = w.word(buf)
			if c := buf[at]; 'a' <= c && c <= 'z' {
				buf[at] -= 'a' - 'A'
			}
		case 'n':
			buf = w.name(buf)
		case 'd':
			buf = w.small(buf)
		case 'f':
			buf = w.figure(buf)
		case 's':
			buf = w.sentence(buf, 2+w.rng.IntN(6), len(buf)+120)
		}
	}
	return buf
}

// output appends what a command printed: matches, a log, a listing, commits, tests.
func (w *writer) output(buf []byte, end int) []byte {
	rng := w.rng
	style := rng.IntN(10)
	for len(buf) < end {
		switch style {
		case 0: // matches
			buf = w.line(buf, "%w/%w-%w.ts:%d:")
			buf = w.line(buf, lines[rng.IntN(len(lines))])
		case 1: // log
			buf = fmt.Appendf(buf, "2026-%02d-%02dT%02d:%02d:%02dZ level=info req=", 1+rng.IntN(12), 1+rng.IntN(28),
				rng.IntN(24), rng.IntN(60), rng.IntN(60))
			buf = w.line(buf, "%f %s %s")
		case 2: // listing
			buf = w.line(buf, "-rw-r--r-- 1 dev dev ")
			if rng.IntN(4) == 0 {
				buf = w.figure(buf)
			} else {
				buf = w.small(buf)
			}
			buf = fmt.Appendf(buf, " Oct %2d %02d:%02d ", 1+rng.IntN(31), rng.IntN(24), rng.IntN(60))
			buf = w.line(buf, "%w-%w.ts")
		case 3: // commits
			buf = w.line(buf, "%f %s")
		case 4: // tests
			buf = w.line(buf, "ok  \t%w/%w/%w\t0.")
			buf = fmt.Appendf(buf, "%02ds", rng.IntN(100))
		case 5, 6:
			return w.prose(buf, end)
		default:
			return w.code(buf, end)
		}
		buf = append(buf, '\\', 'n')
	}
	return buf
}

// command draws a shell command with the path in it.
func (p *pool) command(path string, size int) (text []byte) {
	rng := p.rng
	dir := path[:max(strings.LastIndexByte(path, '/'), 1)]
	switch rng.IntN(6) {
	case 0:
		text = fmt.Appendf(nil, `go test -race -count=1 ./%s/... 2>&1 | tail -%d`, dir, 5+rng.IntN(60))
	case 1:
		text = fmt.Appendf(nil, `grep -rn \"%s\" %s | head -%d`, p.word(), dir, 5+rng.IntN(60))
	case 2:
		text = fmt.Appendf(nil, `git diff HEAD~%d -- %s`, 1+rng.IntN(9), path)
	case 3:
		text = fmt.Appendf(nil, `sed -n '%d,%dp' %s`, 1+rng.IntN(400), 401+rng.IntN(200), path)
	case 4:
		text = p.figure([]byte(`cd /tmp/build-`), known(rng, max(1, p.latest.figures.end)))
		text = fmt.Appendf(text, ` && make -j%d %s`, 1+rng.IntN(16), dir)
	default:
		text = fmt.Appendf(nil, `ls -la %s && wc -l %s`, dir, path)
	}
	if size > 600 {
		text = append(text, ` && cat > /tmp/patch.txt <<'EOF'\n`...)
		text = append(p.render(text, codeText, p.newBlock(size-200)), "EOF"...)
	}
	return text
}

// failure draws the message of a tool that failed.
func (p *pool) failure(path string, size int) []byte {
	rng := p.rng
	switch rng.IntN(4) {
	case 0:
		return fmt.Appendf(nil, "ENOENT: no such file or directory, open '%s'", path)
	case 1:
		return fmt.Appendf(nil, "%s:%d:%d: undefined: %s", path, 1+rng.IntN(900), 1+rng.IntN(60), p.word())
	case 2:
		return fmt.Appendf(nil, "Could not find the exact text in %s. The old text must match exactly including all whitespace and newlines.", path)
	default:
		return fmt.Appendf(p.text(outputText, size), `\n\nCommand exited with code %d`, 1+rng.IntN(3))
	}
}

var cjkWords = strings.Fields(`检索 会话 文件 索引 错误 修复 测试 函数 变量 数据 用户 登录 缓存 性能 内存 磁盘 网络 请求 响应 超时 配置 路径 目录 分支 提交 合并 冲突 编译 运行 部署
 服务器 客户端 数据库 事务 线程 进程 信号 日志 调试 断点 堆栈 返回 参数 类型 接口 结构 模块 依赖 版本 发布
 検索 設定 更新 削除 追加 確認 ファイル エラー テスト サーバー クライアント データ メモリ キャッシュ ログ 修正 実装 関数 変数 型 です ました ください を に が は の
 검색 파일 오류 수정 함수 변수 서버 설정 메모리 로그 확인 실행 데이터 요청 응답`)

// cjk appends text of scripts that are written without spaces, with Latin
// words glued to some of it. Rarer characters stand in quotes.
func (w *writer) cjk(buf []byte, end int) []byte {
	for len(buf) < end {
		for range 3 + w.rng.IntN(9) {
			buf = append(buf, cjkWords[w.rng.IntN(1+w.rng.IntN(len(cjkWords)))]...)
			switch v := w.rng.IntN(20); {
			case v < 2:
				buf = append(buf, w.frequent(w.rng)...)
			case v < 4:
				buf = append(buf, "「"...)
				buf = w.name(buf)
				buf = append(buf, "」"...)
			}
		}
		buf = append(buf, [...]string{"。", "、", `。\n`}[w.rng.IntN(3)]...)
	}
	return buf
}

// wordList is the words and identifiers that at least two of this project's sources
// and pages have, the most frequent first, without what tests made up to find it
// again. It is not renewed when they change: the bytes of every corpus depend on it.
//
//go:embed words.txt
var wordList string

// vocabulary is the words that texts are made of: those of the list, and names and
// figures that are invented while a corpus grows. An invented one is known by its
// number alone, so that a text can be written again from the numbers.
type vocabulary struct {
	words  []string
	plain  []string // words without capitals, which compounds are made of
	table  [1 << 16]uint16
	grown  int64 // bytes of session files so far
	latest span  // the names and figures that the latest text brought
}

// span is the names and figures that a text may use.
type span struct{ names, figures numbers }

// numbers are the first that no text had before, and the first that this one does not know.
type numbers struct{ next, end int }

// draw returns a number: one that is new, as long as the text brings some, or one that is known.
func (n *numbers) draw(rng *rand.Rand) int {
	if n.next < n.end && rng.IntN(2) == 0 {
		n.next++
		return n.next - 1
	}
	return known(rng, max(1, n.end))
}

// Real sessions have about HeapsK·n^HeapsBeta distinct terms in n megabytes, by
// Heaps' law; docs/BENCHMARKS.md says of which files that is.
const (
	HeapsK    = 4370
	HeapsBeta = 0.58
)

func newVocabulary() *vocabulary {
	v := &vocabulary{words: strings.Fields(wordList)}
	for _, w := range v.words {
		if len(w) > 2 && len(w) < 10 && strings.ToLower(w) == w {
			v.plain = append(v.plain, w)
		}
	}
	// Zipf's law, with a head as flat as that of real sessions.
	weights, sum := make([]float64, len(v.words)), 0.0
	for i := range weights {
		weights[i] = math.Pow(float64(i+12), -1.1)
		sum += weights[i]
	}
	at, until := 0, 0.0
	for i, w := range weights {
		until += w / sum * float64(len(v.table))
		for ; at < len(v.table) && float64(at) < until; at++ {
			v.table[at] = uint16(i)
		}
	}
	return v
}

// frequent draws a word of the list, each as often as texts have it.
func (v *vocabulary) frequent(rng *rand.Rand) string { return v.words[v.table[rng.Uint64()&0xffff]] }

// about returns the word that a text about the topic has in place of one of the list:
// beyond the most frequent ones, a topic has one of eight.
func (v *vocabulary) about(word int, topic uint64) int {
	const common, group = 256, 8
	if word < common {
		return word
	}
	return min(word-word%group+int(mix(word/group, topic)%group), len(v.words)-1)
}

// invented is how many names and figures there are in so many bytes of session
// files: what Heaps' law leaves beside the list and small numbers, and a little more,
// because some are never drawn.
func invented(size int64) float64 {
	mb := float64(size) / 1e6
	return max(0, 1.16*(HeapsK*math.Pow(mb, HeapsBeta)-13500*mb/(mb+2.2)))
}

// invent returns the span of a new text of this size.
func (v *vocabulary) invent(size int) span {
	s := span{numbers{v.latest.names.end, v.latest.names.end}, numbers{v.latest.figures.end, v.latest.figures.end}}
	if size >= 100 {
		const nameShare = 0.68
		n := invented(v.grown + int64(size))
		s.names.end = max(s.names.end, int(n*nameShare))
		s.figures.end = max(s.figures.end, int(n*(1-nameShare)))
		v.latest = s
	}
	return s
}

// mix makes a number random.
func mix(i int, salt uint64) uint64 {
	z := uint64(i)*0x9e3779b97f4a7c15 + salt
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// name appends the name of this number: an identifier, a new word, or one of a
// script written without spaces.
func (v *vocabulary) name(buf []byte, i int) []byte {
	h := mix(i, 1)
	pick := func() string {
		h = mix(int(h>>1), 2)
		return v.plain[h%uint64(len(v.plain))]
	}
	switch k := h % 100; {
	case k < 34: // the head of a word and the tail of another
		a, b := pick(), pick()
		buf = append(buf, a[:min(len(a), 2+int(h>>20%4))]...)
		return append(buf, b[max(0, len(b)-2-int(h>>24%5)):]...)
	case k < 44:
		buf = append(buf, pick()...)
		return strconv.AppendUint(buf, h>>20%200, 10)
	case k < 80:
		buf = append(buf, pick()...)
		for range 1 + h>>20%2 {
			buf = title(buf, pick())
		}
		return buf
	case k < 97:
		buf = append(buf, pick()...)
		for range 1 + h>>20%2 {
			buf = append(append(buf, '_'), pick()...)
		}
		return buf
	default:
		buf = utf8.AppendRune(buf, rune(0x4e00+h>>8%0x1200))
		return utf8.AppendRune(buf, rune(0x4e00+h>>32%0x400))
	}
}

// figure appends the figure of this number: a hash, or a number with many digits.
func (v *vocabulary) figure(buf []byte, i int) []byte {
	h := mix(i, 3)
	switch h % 5 {
	case 0, 1:
		n := [...]int{7, 8, 12, 40}[h>>8%4]
		for j := range n {
			buf = append(buf, hexDigits[mix(j, h)&15])
		}
		return buf
	default:
		return strconv.AppendUint(buf, h>>16%[...]uint64{1e4, 1e5, 1e6, 1e7}[h>>8%4], 10)
	}
}

// title appends a word with a capital.
func title(buf []byte, w string) []byte {
	buf = append(buf, w...)
	if c := &buf[len(buf)-len(w)]; 'a' <= *c && *c <= 'z' {
		*c -= 'a' - 'A'
	}
	return buf
}

// known draws one of the first n. Most draws fall on the earliest, which everybody
// uses; of the others few are used again, and that soon.
func known(rng *rand.Rand, n int) int {
	const settled, near = 1500, 60
	r := rng.Uint64()
	switch k := r & 31; {
	case k == 0 && n > near:
		return n - 1 - int(r>>8%near)
	case k > 4:
		n = min(n, settled)
	}
	// By Zipf's law, but for the first ones.
	const head = 6
	shift := r >> 5 & 31 % uint64(max(1, bits.Len(uint(n))-head))
	return int(r >> 10 % uint64(max(1, n>>shift)))
}
