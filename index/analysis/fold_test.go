package analysis

import (
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestFolder(t *testing.T) {
	var f Folder
	var a Analyzer
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.StringOf(rapid.RuneFrom(nil, unicode.ASCII_Hex_Digit, unicode.White_Space)), rapid.String(),
			rapid.StringOf(rapid.RuneFrom([]rune("aZ_ \n\t\v\f\r\x00\x1c\x85\x7f,é")))).Draw(rt, "text")
		if got, want := string(f.Fold([]byte(text))), string(a.FoldText([]byte(text)).Text); got != want {
			rt.Fatalf("fold(%q) = %q, want %q", text, got, want)
		}
	})
}
