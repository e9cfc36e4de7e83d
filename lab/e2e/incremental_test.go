package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pigrep/indexer"
	"pigrep/lab/testkit"
)

// After each step of every story in which pi changed a file, an index that was updated
// at every step equals one built from the file as it is then.
func TestLifecyclesOfRealPi(t *testing.T) {
	t.Parallel()
	for _, story := range testkit.Stories(t) {
		t.Run(story.Name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			ix := filepath.Join(t.TempDir(), "index")
			file := filepath.Join(root, "live.jsonl")
			for i, step := range story.Steps {
				if step.Data != nil {
					writeInPlace(t, file, step.Data)
					letTimesSettle()
				} else if err := os.RemoveAll(file); err != nil {
					t.Fatal(err)
				}
				res := update(t, ix, root)
				if i < len(story.Steps)-1 {
					compareStates(t, step.Name, res.Reader, root)
				} else {
					compareWithFresh(t, step.Name, res.Reader, root)
				}
				again := update(t, ix, root)
				if again.BytesRead != 0 {
					t.Errorf("%s: nothing changed, and %d bytes were read again", step.Name, again.BytesRead)
				}
			}
		})
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// writeInPlace gives the file these bytes as pi does: the same inode, truncated
// and written.
func writeInPlace(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// What is read is only what is new.
func TestOnlyNewBytesAreRead(t *testing.T) {
	t.Parallel()
	root, ix := t.TempDir(), filepath.Join(t.TempDir(), "index")
	file := filepath.Join(root, "a.jsonl")
	data := []byte(header("a") + message(1, "", "alpha") + message(2, "1", "beta"))
	writeOld(t, file, data)
	if got := update(t, ix, root).BytesRead; got != int64(len(data)) {
		t.Errorf("first run read %d bytes of %d", got, len(data))
	}
	if got := update(t, ix, root).BytesRead; got != 0 {
		t.Errorf("a run with nothing new read %d bytes", got)
	}
	more := message(3, "2", "gamma")
	writeOld(t, file, append(data, more...))
	res := update(t, ix, root)
	if res.BytesRead != int64(len(more)) || res.Changes[indexer.Grown] != 1 {
		t.Errorf("after an append of %d bytes %d were read, changes %v", len(more), res.BytesRead, res.Changes)
	}
	compareWithFresh(t, "append", res.Reader, root)
}

// writeOld writes the file so that its times prove it unchanged: it sets the modification
// time to an hour ago, and waits for the change time, which cannot be set.
func writeOld(t testing.TB, path string, data []byte) {
	t.Helper()
	writeInPlace(t, path, data)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	letTimesSettle()
}

// letTimesSettle waits until a file that was just written is older than settle in indexer,
// so that its times prove it unchanged. Only time brings that about: there is nothing to poll.
func letTimesSettle() { time.Sleep(15 * time.Millisecond) }

func header(id string) string {
	return fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-01-02T03:04:05.678Z","cwd":"/home/dev/%s"}`+"\n", id, id)
}

func message(id int, parent, text string) string {
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	b, _ := json.Marshal(text)
	return fmt.Sprintf(`{"type":"message","id":"%d","parentId":%s,"timestamp":"2026-01-02T03:05:%02d.000Z","message":{"role":"user","content":[{"type":"text","text":%s}]}}`+"\n", id, p, id%60, b)
}

// A header without its newline is indexed, but the next update does not continue from it.
func TestUnterminatedHeaderIsReplaced(t *testing.T) {
	t.Parallel()
	root, ix := t.TempDir(), filepath.Join(t.TempDir(), "index")
	file := filepath.Join(root, "a.jsonl")
	torn := []byte(strings.TrimSuffix(header("a"), "\n"))
	writeOld(t, file, torn)
	if got := update(t, ix, root).Reader.Summaries()[0].Header.ID; got != "a" {
		t.Fatalf("the session id is %q", got)
	}
	writeOld(t, file, append(torn[:0:0], message(1, "", "no header any more, and longer than the header was")...))
	res := update(t, ix, root)
	if got := res.Reader.Summaries()[0].Header.ID; got != "" {
		t.Errorf("the session id is still %q", got)
	}
	compareWithFresh(t, "header replaced", res.Reader, root)
}

// A model of a directory of session files, changed at random as pi and people
// change them. After each update the index must equal a rebuilt one.
func TestAnySequenceOfChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		base, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		root, ix := filepath.Join(base, "root"), filepath.Join(base, "index")
		if err := os.Mkdir(root, 0o755); err != nil {
			rt.Fatal(err)
		}
		names := []string{"a.jsonl", "b.jsonl", "sub/c.jsonl"}
		next := 0
		line := func(label string) string {
			next++
			text := rapid.SampledFrom([]string{"getUserName fails", "数据库连接", "src/auth/login.ts", "exit code 137", "naïve café", "x"}).Draw(rt, label)
			id := func() int { return rapid.IntRange(0, 3).Draw(rt, "call") }
			switch rapid.IntRange(0, 12).Draw(rt, "kind") {
			case 0:
				return fmt.Sprintf(`{"type":"session_info","id":"%d","parentId":null,"timestamp":"2026-01-02T03:06:00.000Z","name":"name %d"}`+"\n", next, next)
			case 1:
				return fmt.Sprintf(`{"type":"label","id":"%d","parentId":null,"timestamp":"2026-01-02T03:06:00.000Z","targetId":"%d","label":"l%d"}`+"\n", next, rapid.IntRange(1, next).Draw(rt, "target"), next)
			case 2:
				return "{broken\n"
			case 3:
				return "\r\n"
			case 4:
				return fmt.Sprintf(`{"type":"message","id":"%d","parentId":null,"timestamp":"2026-01-02T03:07:%02d.000Z","message":{"role":"assistant","provider":"p","model":"m%d","content":[{"type":"toolCall","id":"c%d","name":"bash","arguments":{"command":"git push -f # %s"}},{"type":"toolCall","id":"c%d","name":"read","arguments":{"path":"%s"}}],"usage":{"input":%d,"output":2,"cost":{"total":0.01}}}}`+"\n", next, next%60, next%3, id(), text, id(), text, next)
			case 5:
				return fmt.Sprintf(`{"type":"message","id":"%d","parentId":null,"timestamp":"2026-01-02T03:08:%02d.000Z","message":{"role":"toolResult","toolCallId":"c%d","toolName":"bash","content":[{"type":"text","text":"%s"}],"isError":%t,"nestedCalls":{"calls":[{"name":"bash","arguments":{"command":"sudo ls"},"status":"ok","durationMs":%d}]}}}`+"\n", next, next%60, id(), text, next%2 == 0, next)
			case 6:
				return fmt.Sprintf(`{"type":"compaction","id":"%d","parentId":null,"timestamp":"2026-01-02T03:09:00.000Z","summary":"%s","usage":{"output":%d},"details":{"readFiles":["%s"],"modifiedFiles":["b"]}}`+"\n", next, text, next, text)
			default:
				return message(next, fmt.Sprint(rapid.IntRange(0, next).Draw(rt, "parent")), text)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				edit(rt, root, names, func(old []byte) []byte { return append(old, line("text")...) })
			},
			"append torn": func(rt *rapid.T) {
				l := line("text")
				edit(rt, root, names, func(old []byte) []byte {
					return append(old, l[:rapid.IntRange(0, len(l)).Draw(rt, "cut")]...)
				})
			},
			"append without newline": func(rt *rapid.T) {
				l := line("text")
				edit(rt, root, names, func(old []byte) []byte { return append(old, l[:len(l)-1]...) })
			},
			"finish the last line": func(rt *rapid.T) {
				edit(rt, root, names, func(old []byte) []byte { return append(old, '\n') })
			},
			"start": func(rt *rapid.T) {
				edit(rt, root, names, func(old []byte) []byte {
					if len(old) > 0 {
						return old
					}
					return []byte(header("s") + line("text"))
				})
			},
			"rewrite with the same size": func(rt *rapid.T) {
				edit(rt, root, names, func(old []byte) []byte {
					return bytes.ReplaceAll(bytes.ReplaceAll(old, []byte("fails"), []byte("works")), []byte("exit"), []byte("tixe"))
				})
			},
			"rewrite with the same size, and append": func(rt *rapid.T) {
				edit(rt, root, names, func(old []byte) []byte {
					old = bytes.ReplaceAll(bytes.ReplaceAll(old, []byte("fails"), []byte("works")), []byte("code"), []byte("doce"))
					return append(old, line("text")...)
				})
			},
			"save as an editor does": func(rt *rapid.T) {
				path := filepath.Join(root, rapid.SampledFrom(names[:2]).Draw(rt, "name"))
				old, err := os.ReadFile(path)
				if err != nil {
					return
				}
				old = append(bytes.ReplaceAll(old, []byte("works"), []byte("fails")), line("text")...)
				if err := os.WriteFile(path+".tmp", old, 0o644); err != nil {
					rt.Fatal(err)
				}
				if err := os.Rename(path+".tmp", path); err != nil {
					rt.Fatal(err)
				}
			},
			"rewrite": func(rt *rapid.T) {
				edit(rt, root, names, func(old []byte) []byte { return []byte(header("r") + line("text") + line("text")) })
			},
			"truncate": func(rt *rapid.T) {
				edit(rt, root, names, func(old []byte) []byte { return old[:rapid.IntRange(0, len(old)).Draw(rt, "to")] })
			},
			"delete": func(rt *rapid.T) {
				os.Remove(filepath.Join(root, rapid.SampledFrom(names).Draw(rt, "name")))
			},
			"replace by another file": func(rt *rapid.T) {
				name := filepath.Join(root, rapid.SampledFrom(names[:2]).Draw(rt, "name"))
				os.WriteFile(name+".tmp", []byte(header("n")+line("text")), 0o644)
				if err := os.Rename(name+".tmp", name); err != nil {
					rt.Fatal(err)
				}
			},
			"touch": func(rt *rapid.T) {
				name := filepath.Join(root, rapid.SampledFrom(names).Draw(rt, "name"))
				at := time.Unix(int64(1700000000+rapid.IntRange(0, 1000).Draw(rt, "at")), 0)
				os.Chtimes(name, at, at)
			},
			"answer from memory": func(rt *rapid.T) { compareInMemory(t, "in memory", ix, root) },
			"update":             func(rt *rapid.T) { update(t, ix, root) },
			"rebuild what is there": func(rt *rapid.T) {
				compareStates(t, "sequence", update(t, ix, root).Reader, root)
			},
		})
		compareWithFresh(t, "end of the sequence", update(t, ix, root).Reader, root)
		for _, f := range deepFindings(t, ix, root) {
			rt.Errorf("doctor --deep after the sequence: %s: %s", f.Path, f.What)
		}
	})
}

// A deep check has no findings in the samples, broken ones included.
func TestDeepCheckOfSamples(t *testing.T) {
	t.Parallel()
	testdata := filepath.Join("..", "..", "testdata")
	roots := []string{filepath.Join(testdata, "sessions"), filepath.Join(testdata, "pi"), filepath.Join(testdata, "realpi")}
	if testkit.Fixtures() != "" {
		roots = append(roots, filepath.Join(testkit.Fixtures(), "pi"), filepath.Join(testkit.Fixtures(), "real"))
	}
	for _, root := range roots {
		ix := filepath.Join(t.TempDir(), "index")
		if n := len(update(t, ix, root).Found.Files); n == 0 {
			t.Errorf("%s has no session files", root)
		}
		for _, f := range deepFindings(t, ix, root) {
			t.Errorf("%s: %s", f.Path, f.What)
		}
	}
}

func deepFindings(t *testing.T, ix, root string) []indexer.Finding {
	t.Helper()
	report, err := indexer.Check(t.Context(), options(ix, root), true)
	if err != nil {
		t.Fatal(err)
	}
	return report.Findings
}

// edit replaces the content of one of the files in place.
func edit(rt *rapid.T, root string, names []string, f func(old []byte) []byte) {
	path := filepath.Join(root, rapid.SampledFrom(names).Draw(rt, "name"))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		rt.Fatal(err)
	}
	old, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		rt.Fatal(err)
	}
	data := f(bytes.Clone(old))
	if bytes.Equal(data, old) {
		return
	}
	if len(data) > len(old) && bytes.Equal(data[:len(old)], old) {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			rt.Fatal(err)
		}
		defer file.Close()
		if _, err := file.Write(data[len(old):]); err != nil {
			rt.Fatal(err)
		}
		return
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		rt.Fatal(err)
	}
}
