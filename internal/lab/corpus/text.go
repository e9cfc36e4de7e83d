package corpus

import (
	"compress/gzip"
	"fmt"
	"go/build"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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

// pool is the text that sessions are made of. Its lines are kept as they stand
// in a JSON string, escapes included and with an escaped newline at the end, so
// that a long text is one copy.
type pool struct {
	code, prose arena
	files       []poolFile
	words       []string
	base        []byte
	earlier     [textKinds][]block
	next        [textKinds]int
}

// arena is a sequence of escaped lines.
type arena struct {
	data  []byte
	lines []uint32 // where each begins
}

// poolFile is a source file whose lines begin at line in the code arena.
type poolFile struct {
	name string
	line int
}

// block is all that a text was made from: the same block gives the same text.
type block struct {
	seed uint64
	size int
	cjk  bool
}

const maxEarlier = 4096

func newPool(rng *rand.Rand, opts Options) *pool {
	p := &pool{}
	if !opts.Builtin {
		// A small corpus needs no large pool.
		limit := int(min(56<<20, 2<<20+opts.Bytes/3))
		p.loadSource(rng, filepath.Join(build.Default.GOROOT, "src"), limit)
		p.loadManuals(rng, "/usr/share/man", limit/6)
	}
	if len(p.code.lines) < 200 || len(p.prose.lines) < 200 {
		p.loadBuiltin(rng)
	}
	p.base = make([]byte, 1<<20)
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range p.base {
		p.base[i] = alphabet[rng.IntN(64)]
	}
	for len(p.words) < 2000 {
		line := p.code.line(rng.IntN(len(p.code.lines)))
		for _, w := range strings.FieldsFunc(line, func(r rune) bool { return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') }) {
			if len(w) > 2 {
				p.words = append(p.words, w)
			}
		}
	}
	return p
}

// add appends one line of plain text, without its newline.
func (a *arena) add(line string) {
	a.lines = append(a.lines, uint32(len(a.data)))
	for _, r := range line {
		switch {
		case r == '"' || r == '\\':
			a.data = append(a.data, '\\', byte(r))
		case r == '\t':
			a.data = append(a.data, '\\', 't')
		case r < ' ':
			a.data = append(a.data, `\u00`...)
			a.data = append(a.data, hexDigits[r>>4], hexDigits[r&15])
		default: // an invalid byte comes as U+FFFD
			a.data = utf8.AppendRune(a.data, r)
		}
	}
	a.data = append(a.data, '\\', 'n')
}

// line returns one line without the escaped newline.
func (a *arena) line(i int) string {
	end := len(a.data)
	if i+1 < len(a.lines) {
		end = int(a.lines[i+1])
	}
	return string(a.data[a.lines[i] : end-2])
}

// slice appends lines from the first on, until about size bytes are there.
func (a *arena) slice(buf []byte, first, size int) []byte {
	for size > 0 {
		start := int(a.lines[first])
		end := min(start+size, len(a.data))
		// The line boundary at or after end.
		i, _ := slices.BinarySearch(a.lines, uint32(end))
		if i < len(a.lines) {
			end = int(a.lines[i])
		} else {
			end = len(a.data)
		}
		if over := end - start - size; over > 200 && i-1 > first {
			end = int(a.lines[i-1])
		}
		buf = append(buf, a.data[start:end]...)
		size -= end - start
		first = 0
		if end < len(a.data) {
			break
		}
	}
	return buf
}

func (p *pool) loadSource(rng *rand.Rand, root string, limit int) {
	var paths []string
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".go") {
			paths = append(paths, path)
		}
		return nil // a tree that cannot be read is no text, and no error
	})
	rng.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	for _, path := range paths {
		if len(p.code.data) >= limit {
			break
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) > 1<<20 {
			continue
		}
		name, _ := filepath.Rel(root, path)
		p.files = append(p.files, poolFile{filepath.ToSlash(name), len(p.code.lines)})
		for line := range strings.Lines(string(data)) {
			line = strings.TrimRight(line, "\r\n")
			if len(line) > 1000 {
				continue
			}
			p.code.add(line)
			if comment := strings.TrimLeft(line, "\t /"); len(comment) > 40 && strings.HasPrefix(strings.TrimLeft(line, "\t "), "// ") {
				p.prose.add(comment)
			}
		}
	}
}

func (p *pool) loadManuals(rng *rand.Rand, root string, limit int) {
	paths, _ := filepath.Glob(filepath.Join(root, "man[1-8]", "*.gz"))
	rng.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	limit += len(p.prose.data)
	for _, path := range paths {
		if len(p.prose.data) >= limit {
			break
		}
		if text, err := readGzip(path); err == nil {
			p.addManual(text)
		}
	}
}

func readGzip(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(z, 1<<20))
	return string(data), err
}

var roff = strings.NewReplacer(`\-`, "-", `\fB`, "", `\fI`, "", `\fR`, "", `\fP`, "", `\&`, "", `\(aq`, "'", `\(bu`, "-", `\e`, `\`)

// addManual adds the running text of a manual page, its macros left out.
func (p *pool) addManual(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if len(line) < 20 || len(line) > 1000 || line[0] == '.' || line[0] == '\'' {
			continue
		}
		p.prose.add(roff.Replace(line))
	}
}

// loadBuiltin makes lines of invented words.
func (p *pool) loadBuiltin(rng *rand.Rand) {
	const first, second = "bcdfghjklmnprstvwz", "aeiou"
	words := make([]string, 3000)
	for i := range words {
		var b strings.Builder
		for range 1 + rng.IntN(4) {
			b.WriteByte(first[rng.IntN(len(first))])
			b.WriteByte(second[rng.IntN(len(second))])
		}
		words[i] = b.String()
	}
	zipf := rand.NewZipf(rng, 1.1, 4, uint64(len(words)-1))
	word := func() string { return words[zipf.Uint64()] }
	for i := range 20000 {
		if i%250 == 0 {
			p.files = append(p.files, poolFile{"src/" + word() + "/" + word() + ".go", len(p.code.lines)})
		}
		switch rng.IntN(3) {
		case 0:
			p.code.add("\t" + word() + "_" + word() + " := " + word() + "(\"" + word() + "\", " + word() + ")")
		case 1:
			p.code.add("func (" + word()[:1] + ") " + word() + strings.ToUpper(word()[:1]) + word() + "() error {")
		default:
			p.code.add("// " + word() + " " + word() + " " + word() + " " + word())
		}
		var b strings.Builder
		for range 6 + rng.IntN(10) {
			b.WriteString(word())
			b.WriteByte(' ')
		}
		p.prose.add(strings.TrimSpace(b.String()) + ".")
	}
}

// file draws a source file.
func (p *pool) file(rng *rand.Rand) (int, string) {
	i := rng.IntN(len(p.files))
	return i, p.files[i].name
}

func (p *pool) word(buf []byte, rng *rand.Rand) []byte {
	return append(buf, p.words[rng.IntN(len(p.words))]...)
}

// base64 appends n characters that look like encoded binary data.
func (p *pool) base64(buf []byte, rng *rand.Rand, n int) []byte {
	for n > 0 {
		at := rng.IntN(len(p.base) / 2)
		take := min(n, len(p.base)-at)
		buf = append(buf, p.base[at:at+take]...)
		n -= take
	}
	return buf
}

// from appends the text of a file from its beginning.
func (p *pool) from(buf []byte, rng *rand.Rand, file, size int) []byte {
	line := p.files[file].line
	if rng.IntN(2) == 0 {
		line = min(line+rng.IntN(200), len(p.code.lines)-1)
	}
	return p.code.slice(buf, line, size)
}

// text appends about size bytes of the kind. Some texts repeat an earlier one.
func (p *pool) text(buf []byte, rng *rand.Rand, kind, size int) []byte {
	b := block{rng.Uint64(), max(size, 8), rng.Float64() < cjkShare}
	if old := p.earlier[kind]; len(old) > 0 && size > 60 && rng.Float64() < repeatShare {
		b = old[rng.IntN(len(old))]
	} else if size <= 256<<10 { // a giant that comes twice would bend the shares
		if len(old) < maxEarlier {
			p.earlier[kind] = append(old, b)
		} else {
			old[p.next[kind]%maxEarlier] = b
			p.next[kind]++
		}
	}
	return p.render(buf, kind, b)
}

func (p *pool) render(buf []byte, kind int, b block) []byte {
	rng := rand.New(rand.NewPCG(b.seed, uint64(b.size)))
	switch {
	case b.cjk && kind != codeText:
		return p.cjk(buf, rng, b.size)
	case kind == proseText && b.size < 120:
		return p.short(buf, rng, b.size)
	case kind == proseText:
		return p.prose.slice(buf, rng.IntN(len(p.prose.lines)), b.size)
	case kind == codeText:
		return p.code.slice(buf, rng.IntN(len(p.code.lines)), b.size)
	default:
		return p.output(buf, rng, b.size)
	}
}

func (p *pool) short(buf []byte, rng *rand.Rand, size int) []byte {
	for end := len(buf) + size; len(buf) < end; {
		buf = p.word(buf, rng)
		buf = append(buf, ' ')
	}
	return buf[:len(buf)-1]
}

// output appends what a command printed: listings, log lines, matches of a
// search, commits. Their numbers and hashes are words that come once.
func (p *pool) output(buf []byte, rng *rand.Rand, size int) []byte {
	end := len(buf) + size
	style := rng.IntN(10)
	for len(buf) < end {
		i := rng.IntN(len(p.code.lines))
		switch style {
		case 0: // matches
			_, name := p.file(rng)
			buf = fmt.Appendf(buf, "%s:%d:", name, 1+rng.IntN(2000))
			buf = append(buf, p.code.line(i)...)
		case 1: // log
			buf = fmt.Appendf(buf, "2026-%02d-%02dT%02d:%02d:%02d.%03dZ level=info req=%08x ", 1+rng.IntN(12), 1+rng.IntN(28),
				rng.IntN(24), rng.IntN(60), rng.IntN(60), rng.IntN(1000), rng.Uint32())
			buf = append(buf, p.prose.line(rng.IntN(len(p.prose.lines)))...)
		case 2: // listing
			_, name := p.file(rng)
			buf = fmt.Appendf(buf, "-rw-r--r-- 1 dev dev %7d Oct %2d %02d:%02d %s", rng.IntN(1<<20), 1+rng.IntN(31), rng.IntN(24), rng.IntN(60), name)
		case 3: // commits
			buf = fmt.Appendf(buf, "%07x ", rng.Uint32()>>4)
			buf = append(buf, p.prose.line(rng.IntN(len(p.prose.lines)))...)
		case 4: // tests
			buf = append(buf, "ok  \\t"...)
			_, name := p.file(rng)
			buf = append(buf, name...)
			buf = fmt.Appendf(buf, "\\t%d.%03ds", rng.IntN(20), rng.IntN(1000))
		case 5, 6:
			return p.prose.slice(buf, rng.IntN(len(p.prose.lines)), end-len(buf))
		default:
			return p.code.slice(buf, i, end-len(buf))
		}
		buf = append(buf, '\\', 'n')
	}
	return buf
}

// command appends a shell command with the path in it.
func (p *pool) command(buf []byte, rng *rand.Rand, path string, size int) []byte {
	dir := path[:max(strings.LastIndexByte(path, '/'), 1)]
	switch rng.IntN(6) {
	case 0:
		buf = fmt.Appendf(buf, `go test -race -count=1 ./%s/... 2>&1 | tail -%d`, dir, 5+rng.IntN(60))
	case 1:
		buf = append(buf, `grep -rn \"`...)
		buf = p.word(buf, rng)
		buf = fmt.Appendf(buf, `\" %s | head -%d`, dir, 5+rng.IntN(60))
	case 2:
		buf = fmt.Appendf(buf, `git diff HEAD~%d -- %s`, 1+rng.IntN(9), path)
	case 3:
		buf = fmt.Appendf(buf, `sed -n '%d,%dp' %s`, 1+rng.IntN(400), 401+rng.IntN(200), path)
	case 4:
		buf = fmt.Appendf(buf, `cd /tmp/build-%06x && make -j%d %s`, rng.Uint32()>>8, 1+rng.IntN(16), dir)
	default:
		buf = fmt.Appendf(buf, `ls -la %s && wc -l %s`, dir, path)
	}
	if size > 600 {
		buf = append(buf, ` && cat > /tmp/patch.txt <<'EOF'\n`...)
		buf = p.code.slice(buf, rng.IntN(len(p.code.lines)), size-200)
		buf = append(buf, `EOF`...)
	}
	return buf
}

// failure appends the message of a tool that failed.
func (p *pool) failure(buf []byte, rng *rand.Rand, path string, size int) []byte {
	switch rng.IntN(4) {
	case 0:
		return fmt.Appendf(buf, "ENOENT: no such file or directory, open '%s'", path)
	case 1:
		buf = fmt.Appendf(buf, "%s:%d:%d: undefined: ", path, 1+rng.IntN(900), 1+rng.IntN(60))
		return p.word(buf, rng)
	case 2:
		return fmt.Appendf(buf, "Could not find the exact text in %s. The old text must match exactly including all whitespace and newlines.", path)
	default:
		buf = p.output(buf, rng, size)
		return fmt.Appendf(buf, `\n\nCommand exited with code %d`, 1+rng.IntN(3))
	}
}

var cjkWords = strings.Fields(`检索 会话 文件 索引 错误 修复 测试 函数 变量 数据 用户 登录 缓存 性能 内存 磁盘 网络 请求 响应 超时 配置 路径 目录 分支 提交 合并 冲突 编译 运行 部署
 服务器 客户端 数据库 事务 线程 进程 信号 日志 调试 断点 堆栈 返回 参数 类型 接口 结构 模块 依赖 版本 发布
 検索 設定 更新 削除 追加 確認 ファイル エラー テスト サーバー クライアント データ メモリ キャッシュ ログ 修正 実装 関数 変数 型 です ました ください を に が は の
 검색 파일 오류 수정 함수 변수 서버 설정 메모리 로그 확인 실행 데이터 요청 응답`)

// cjk appends text of scripts that are written without spaces, with Latin
// words glued to some of it, and runs of rarer characters.
func (p *pool) cjk(buf []byte, rng *rand.Rand, size int) []byte {
	for end := len(buf) + size; len(buf) < end; {
		for range 3 + rng.IntN(9) {
			buf = append(buf, cjkWords[rng.IntN(len(cjkWords))]...)
			switch v := rng.IntN(20); {
			case v < 2:
				buf = p.word(buf, rng)
			case v < 6:
				buf = utf8.AppendRune(buf, rune(0x4e00+rng.IntN(0x1200)))
			}
		}
		buf = append(buf, []string{"。", "、", `。\n`}[rng.IntN(3)]...)
	}
	return buf
}
