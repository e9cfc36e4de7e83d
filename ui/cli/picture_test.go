package cli

import (
	"fmt"
	"html"
	"image/color"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

// TestScreensPicture keeps docs/tui.svg, the picture in the README, equal to what the TUI
// shows for testdata/sessions.
func TestScreensPicture(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the picture shows Unix paths")
	}
	const width, height = 100, 22
	checkPicture(t, "tui.svg", svg(screenOf(t, "tui token", width, height, false), width, height))
}

// TestScreensPackage keeps docs/pi.svg equal to a capture of the package in pi, which
// `make pi` makes.
func TestScreensPackage(t *testing.T) {
	const width, height = 116, 24
	capture, err := os.ReadFile(filepath.Join("..", "..", "extensions", "pi", "test", "drive", "search.ansi"))
	if err != nil {
		t.Fatal(err)
	}
	checkPicture(t, "pi.svg", svg(string(capture), width, height))
}

// checkPicture compares a picture with the one in docs.
func checkPicture(t *testing.T, name, picture string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", name)
	if *updateFiles {
		if err := os.WriteFile(path, []byte(picture), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(kept), picture); diff != "" {
		t.Errorf("%s (-is +shows), `make docs` writes it again:\n%s", path, diff)
	}
}

// Sizes of a picture, in pixels.
const (
	cellWidth, cellHeight = 8.4, 18
	margin                = 14
	fontSize              = 14
)

// palette is what the 16 colours of a terminal look like in a picture, on background.
var palette = [16]string{
	"#484f58", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#c9d1d9",
	"#6e7681", "#ffa198", "#aff5b4", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff",
}

const background, foreground = "#0d1117", "#c9d1d9"

// svg draws what a terminal of width by height cells shows for a text with escape
// sequences.
func svg(text string, width, height int) string {
	screen := uv.NewScreenBuffer(width, height)
	uv.NewStyledString(text).Draw(screen, uv.Rect(0, 0, width, height))
	var b strings.Builder
	w, h := float64(width)*cellWidth+2*margin, height*cellHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="%d">`+"\n", w, h, fontSize)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", background)
	for y := range height {
		for x := 0; x < width; {
			first := screen.CellAt(x, y)
			run, end := "", x
			for end < width {
				c := screen.CellAt(end, y)
				if c == nil || first == nil || !c.Style.Equal(&first.Style) {
					break
				}
				run += c.Content
				end += max(c.Width, 1)
			}
			if end == x {
				x++
				continue
			}
			drawRun(&b, run, x, y, end-x, &first.Style)
			x = end
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// drawRun draws cells of one style, from column x of row y on.
func drawRun(b *strings.Builder, text string, x, y, cells int, style *uv.Style) {
	fg, bg := hex(style.Fg, foreground), hex(style.Bg, background)
	if style.Attrs&uv.AttrReverse != 0 {
		fg, bg = bg, fg
	}
	left, width := margin+float64(x)*cellWidth, float64(cells)*cellWidth
	if bg != background {
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", left, margin+y*cellHeight, width, cellHeight, bg)
	}
	if trimmed := strings.TrimRight(text, " "); trimmed != "" {
		width -= float64(len(text)-len(trimmed)) * cellWidth
		text = trimmed
	} else {
		return
	}
	more := ""
	if style.Attrs&uv.AttrBold != 0 {
		more += ` font-weight="bold"`
	}
	if style.Attrs&uv.AttrFaint != 0 {
		more += ` opacity=".6"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f" xml:space="preserve" fill="%s"%s>%s</text>`+"\n",
		left, margin+y*cellHeight+cellHeight-4, width, fg, more, html.EscapeString(text))
}

// hex returns a colour as SVG writes it.
func hex(c color.Color, none string) string {
	switch c := c.(type) {
	case nil:
		return none
	case ansi.BasicColor:
		return palette[c]
	case ansi.IndexedColor:
		if int(c) < len(palette) {
			return palette[c]
		}
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
