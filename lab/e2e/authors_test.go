package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"
)

// authored is a line of a file, and who wrote it.
type authored struct {
	Text   string
	Author string // the id of a session; "" for a person
	Was    string // of a line that a person changed a little: its author before
}

// knownRepo is a repository whose every line has a known author, as it is in the end: sessions of
// three agents wrote, edited, patched, renamed, swapped and appended, and people did so without a
// session. Between the sessions people changed lines, formatted files, took files back from git,
// and moved the checkout. Some sessions worked in a worktree. Some calls failed.
type knownRepo struct {
	Root  string // of its checkout, with slashes
	Files map[string][]authored
	Edits int // calls that changed a file
}

// repoOptions say how much happens.
type repoOptions struct {
	Seed     uint64
	Sessions int
	Edits    int // of all sessions together
	Lines    int // of the longest new file; 0: 80
}

// builder is a knownRepo that is being built.
type builder struct {
	*knownRepo
	rng   *rand.Rand
	now   time.Time
	dir   string
	words int
	most  int // lines of a new file

	s        agentWriter // of the session that works
	id       string
	cwd      string
	snapshot map[string][]authored // of an earlier time, as in git
}

// buildRepo writes the session files below dir, in a directory for each agent.
func buildRepo(dir string, o repoOptions) *knownRepo {
	b := &builder{knownRepo: &knownRepo{Root: "/home/dev/src/harbor", Files: map[string][]authored{}}, rng: rand.New(rand.NewPCG(o.Seed, 40)), now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), dir: dir, most: cmp.Or(o.Lines, 80)}
	for n := range o.Sessions {
		if n == o.Sessions*3/5 {
			b.Root = "/srv/checkouts/harbor"
		}
		b.between()
		b.begin(n)
		for range max(1, o.Edits/o.Sessions) {
			b.turn()
		}
		b.s.end()
	}
	b.between()
	return b.knownRepo
}

func (b *builder) begin(n int) {
	b.now = b.now.Add(time.Duration(2+b.rng.IntN(40)) * time.Hour)
	b.cwd = b.Root
	if b.rng.IntN(5) == 0 {
		b.cwd = fmt.Sprintf("%s-wt-%d", b.Root, n) // its changes are merged when it ends
	}
	b.id = fmt.Sprintf("01b%05x-0000-7000-8000-%012x", n, b.rng.Uint64()&0xffffffffffff)
	file := agentFile{id: b.id, cwd: b.cwd, now: &b.now}
	switch n % 3 {
	case 0:
		b.s = newPi(b.dir, file)
	case 1:
		b.s = newClaude(b.dir, file)
	case 2:
		b.s = newCodex(b.dir, file)
	}
}

// between is what people do between two sessions.
func (b *builder) between() {
	for _, name := range b.names() {
		switch b.rng.IntN(9) {
		case 4:
			b.tweak(name)
		case 0: // a person changes lines
			list := b.Files[name]
			at := b.rng.IntN(len(list) + 1)
			b.Files[name] = slices.Concat(list[:at], b.lines(1+b.rng.IntN(4), ""), list[min(len(list), at+b.rng.IntN(3)):])
		case 1: // a formatter runs
			from, to := "\t", "    "
			if b.rng.IntN(2) == 0 {
				from, to = to, from
			}
			list := slices.Clone(b.Files[name])
			for i := range list {
				list[i].Text = strings.ReplaceAll(list[i].Text, from, to)
			}
			b.Files[name] = list
		case 2: // it is taken back from git
			if old := b.snapshot[name]; len(old) > 0 && b.rng.IntN(2) == 0 {
				b.Files[name] = old
			}
		case 3: // a person renames it
			if b.rng.IntN(4) == 0 {
				b.Files[b.name()] = b.Files[name]
				delete(b.Files, name)
			}
		}
	}
	if b.rng.IntN(3) == 0 {
		b.snapshot = maps.Clone(b.Files)
	}
}

// tweak is what a person does to some lines: another number, another name, a word at the end.
func (b *builder) tweak(name string) {
	list := slices.Clone(b.Files[name])
	for range min(len(list), 1+b.rng.IntN(3)) {
		l := &list[b.rng.IntN(len(list))]
		text := l.Text
		switch b.rng.IntN(3) {
		case 0:
			text = digits.ReplaceAllStringFunc(text, func(string) string { return fmt.Sprint(b.rng.IntN(1000)) })
		case 1:
			text = strings.ReplaceAll(text, pick(b.rng, nouns), pick(b.rng, nouns))
		case 2:
			text += " // by hand"
		}
		if text != l.Text {
			*l = authored{Text: text, Was: cmp.Or(l.Author, l.Was)}
		}
	}
	b.Files[name] = list
}

var digits = regexp.MustCompile(`[0-9]+`)

func (b *builder) names() []string { return slices.Sorted(maps.Keys(b.Files)) }

func (b *builder) name() string {
	b.words++
	return fmt.Sprintf("%s/%s_%d.go", pick(b.rng, []string{"store", "server", "cmd/harbor", "internal/lease"}), pick(b.rng, nouns), b.words)
}

var (
	nouns = strings.Fields("anchor buoy cargo dock escrow ferry gantry hull inlet jetty keel ledger mooring nozzle outlet pier quay rudder sail tide")
	verbs = strings.Fields("accept bind collect defer encode flush grant hoist inspect join keep load merge notify open parse queue release seal trim")
)

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }

// lines makes lines as source code has them: most are unique, some stand in every file.
func (b *builder) lines(n int, author string) (list []authored) {
	for range n {
		v, x, y := pick(b.rng, verbs), pick(b.rng, nouns), pick(b.rng, nouns)
		text := ""
		switch b.rng.IntN(12) {
		case 0:
			text = "\tif err != nil {"
		case 1:
			text = "\t\treturn nil, err"
		case 2:
			text = "\t}"
		case 3:
			text = ""
		case 4:
			text = fmt.Sprintf("// %s%s %ss the %s before any %s is gone.", strings.ToUpper(v[:1]), v[1:], v, x, y)
		case 5:
			text = fmt.Sprintf("func %s%s%d(%s int) error {", v, strings.ToUpper(x[:1])+x[1:], b.rng.IntN(1000), y)
		default:
			text = fmt.Sprintf("\t%s%d := %s(%s, %d)", x, b.rng.IntN(100), v, y, b.rng.IntN(10000))
		}
		list = append(list, authored{Text: text, Author: author})
	}
	return list
}

// turn is a prompt, and a call that changes a file.
func (b *builder) turn() {
	b.now = b.now.Add(time.Duration(1+b.rng.IntN(9)) * time.Minute)
	b.s.prompt(fmt.Sprintf("please %s the %s", pick(b.rng, verbs), pick(b.rng, nouns)))
	names := b.names()
	if len(names) < 3 || b.rng.IntN(12) == 0 {
		b.create(b.name())
		return
	}
	name := pick(b.rng, names)
	switch b.rng.IntN(14) {
	case 0:
		b.rewrite(name)
	case 1:
		list := b.lines(2+b.rng.IntN(5), b.id)
		b.s.run(fmt.Sprintf("cat >> %s <<'EOF'\n%s\nEOF\ngo build ./...", name, joined(list)), false)
		b.Files[name] = slices.Concat(b.Files[name], list)
	case 2:
		b.swap(name)
	case 3:
		to := b.name()
		b.s.run("git mv "+name+" "+to, false)
		b.Files[to] = b.Files[name]
		delete(b.Files, name)
	case 4:
		b.s.edit(name, b.Files[name], 0, 0, b.lines(3, b.id), true)
		return
	case 5:
		b.s.run("go test ./... && grep -n 'return nil, err' "+name, b.rng.IntN(2) == 0)
		return
	default:
		b.edit(name)
	}
	b.Edits++
}

func (b *builder) create(name string) {
	list := b.lines(b.most/4+b.rng.IntN(b.most*3/4), b.id)
	if b.rng.IntN(4) == 0 {
		b.s.run(fmt.Sprintf("mkdir -p %s && cat > %s <<'EOF'\n%s\nEOF", name[:strings.LastIndexByte(name, '/')], name, joined(list)), false)
	} else {
		b.s.write(name, nil, list)
	}
	b.Files[name] = list
	b.Edits++
}

// rewrite writes the whole file, most of it as it is.
func (b *builder) rewrite(name string) {
	list := b.Files[name]
	old := list
	for range 1 + b.rng.IntN(4) {
		at := b.rng.IntN(len(list) + 1)
		list = slices.Concat(list[:at], b.lines(b.rng.IntN(6), b.id), list[min(len(list), at+b.rng.IntN(4)):])
	}
	b.s.read(name, old)
	b.s.write(name, old, list)
	b.Files[name] = list
}

func (b *builder) edit(name string) {
	list := b.Files[name]
	at := b.rng.IntN(len(list) + 1)
	to := min(len(list), at+b.rng.IntN(5))
	now := b.lines(b.rng.IntN(8), b.id)
	if len(now) == 0 && to == at {
		now = b.lines(1, b.id)
	}
	b.s.edit(name, list, at, to, now, false)
	b.Files[name] = slices.Concat(list[:at], now, list[to:])
}

// swap renames something in every line.
func (b *builder) swap(name string) {
	old, now := pick(b.rng, verbs)+"(", pick(b.rng, verbs)+"("
	b.s.run(fmt.Sprintf("sed -i 's/%s/%s/g' %s", old, now, name), false)
	list := slices.Clone(b.Files[name])
	for i := range list {
		if changed := strings.ReplaceAll(list[i].Text, old, now); changed != list[i].Text {
			list[i] = authored{Text: changed, Author: b.id}
		}
	}
	b.Files[name] = list
}

func joined(list []authored) string {
	all := make([]string, len(list))
	for i := range list {
		all[i] = list[i].Text
	}
	return strings.Join(all, "\n")
}
