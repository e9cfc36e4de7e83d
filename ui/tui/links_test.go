package tui

import (
	"runtime"
	"strings"
	"testing"

	"pigrep/internal/terminal"
)

// Directories lead to their files where the terminal takes links; the screen is the same.
func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the library of sessions has Unix paths, which are not absolute here and so no links")
	}
	for _, size := range [][2]int{{40, 12}, {80, 24}, {200, 60}} {
		without := drive(t, Options{Query: "token"}, size[0], size[1])
		with := drive(t, Options{Query: "token", Links: &terminal.Links{Host: "box"}}, size[0], size[1])
		for range 4 {
			checkScreen(t, with.Model)
			if plainScreen(with.Model) != plainScreen(without.Model) {
				t.Errorf("%v: with links the screen is\n%s\nwithout\n%s", size, plainScreen(with.Model), plainScreen(without.Model))
			}
			with.keys("down")
			without.keys("down")
		}
		lines, _ := drive(t, Options{Links: &terminal.Links{Host: "box"}}, size[0], size[1]).screen()
		if screen := strings.Join(lines, "\n"); size[0] >= 80 && !strings.Contains(screen, "\x1b]8;;file://box/home/u/src/app\x07") {
			t.Errorf("%v: no link to a directory in\n%q", size, screen)
		}
	}
}
