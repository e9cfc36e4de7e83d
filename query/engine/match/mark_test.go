package match

import (
	"slices"
	"strings"
	"testing"
)

// What is marked in a whole entry is what its fragment marks: words as words, parts of words as parts, any script.
func TestMarks(t *testing.T) {
	for _, c := range []struct {
		fragment, text string // marks and places are in brackets
	}{
		{"good: [go] [htmx]", "good goats [go] [Go], [htmx] and htmx2 ([go]-getter)"},
		{"get[User]Name", "a [User], [user]s and new[User](); [User]Name"},
		{"user_[name]", "re[name] name_of [name]"},
		{"[getUserName]", "[getUserName] and forgetUserName"},
		{"如何实现[登录]功能", "[登录]한국[登录]x"},
		{"[café]", "[CAFÉ] cafés"},
		{"[exit code]; [exit]", "an [exit code] of an [exit], exited"},
		{"the [C++] and [a]", "[C++]17 has [a] [A]-Z? an"},
	} {
		f, places := bracketed(c.fragment)
		marks := Fragment{Text: f, Spans: places}.Marks()
		text, want := bracketed(c.text)
		var got [][2]int
		lower := strings.ToLower(text)
		for at := 0; at < len(text); at++ {
			for _, m := range marks {
				if end := at + len(m.Text); end <= len(text) && lower[at:end] == strings.ToLower(m.Text) && m.Fits(text, at, end) {
					got, at = append(got, [2]int{at, end}), end-1
					break
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q in %q: %v, want %v", c.fragment, text, got, want)
		}
	}
	if m := (Fragment{Text: "ab", Spans: [][2]int{{-1, 1}, {1, 1}, {1, 3}}}).Marks(); m != nil {
		t.Errorf("marks of spans outside of the text: %v", m)
	}
}

// bracketed returns a text without its brackets, and what is in them.
func bracketed(s string) (text string, spans [][2]int) {
	for _, r := range s {
		switch r {
		case '[':
			spans = append(spans, [2]int{len(text)})
		case ']':
			spans[len(spans)-1][1] = len(text)
		default:
			text += string(r)
		}
	}
	return text, spans
}
