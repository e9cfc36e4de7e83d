package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"pigrep/lab/browser"
	"pigrep/ui/cli"
)

// TestWebDocs writes the pictures of docs/web.md and docs/report.md with -update: docs/web.png,
// and for each page a sheet with its four looks. They are not compared with what a browser
// shows now, because the fonts of each machine are different.
func TestWebDocs(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs")
	pages := []struct{ name, address string }{
		{"search", "/?q=file"},
		{"conversation", "/session/0195562e-9a20-7c11-8f3a-5d2b6c7e8f90?q=timeout"},
		{"sessions", "/sessions"},
		{"audit", "/audit"},
		{"usage", "/usage"},
		{"status", "/status"},
		{"report", ""},
	}
	if *updateFiles {
		w := newWebTest(t, samples)
		report := filepath.Join(t.TempDir(), "report.html")
		a, _, errs := newApp(w.home)
		if code := cli.Run(t.Context(), a, []string{"report", "-o", report, "--session-dir", w.root, "--index-dir", filepath.Join(t.TempDir(), "index")}); code != 0 {
			t.Fatalf("report: exit code %d, %s", code, errs)
		}
		for _, p := range pages {
			address := w.host + p.address
			if p.name == "report" {
				address = "file://" + report
			}
			var looks [][]byte
			for _, look := range browser.Looks {
				w.Show(address, look, "main")
				looks = append(looks, w.neutral())
			}
			if p.name == "search" {
				keep(t, filepath.Join(docs, "web.png"), looks[0])
			}
			keep(t, filepath.Join(docs, "web", p.name+".png"), w.sheet(looks))
		}
	}
	const most = 1_000_000
	sum := int64(0)
	for _, p := range pages {
		info, err := os.Stat(filepath.Join(docs, "web", p.name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	if sum > most {
		t.Errorf("the pictures have %d bytes, more than %d", sum, most)
	}
}

// neutral is a picture of the page without what is different on each machine and each time:
// the home directory, the number and the times of the process, and the size and the generation
// of the index.
func (w *webTest) neutral() []byte {
	w.t.Helper()
	browser.Value[bool](w.Browser, fmt.Sprintf(`(() => {
		const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
		for (let node; (node = walk.nextNode());) {
			const text = node.data.replaceAll(%q, "/home/dev").replace(/process \d+ since .*/, "process 4711 since 2026-09-20 08:00:00Z; looked at all files 2026-09-20 12:00:00Z").replace(/^1\d\d kB$/, "170 kB").replace(/generation \d+/, "generation 4")
			if (text != node.data) node.data = text
		}
		return true
	})()`, w.home))
	return w.capture()
}

func (w *webTest) capture() []byte {
	w.t.Helper()
	data, err := chromedp.Run(w, chromedp.CaptureScreenshot())
	if err != nil {
		w.t.Fatal(err)
	}
	return data
}

// sheet is a picture of the looks of a page: light above dark, wide beside narrow.
func (w *webTest) sheet(looks [][]byte) []byte {
	w.t.Helper()
	dir := w.t.TempDir()
	for i, data := range looks {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.png", i)), data, 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	page := filepath.Join(dir, "sheet.html")
	const source = `<!doctype html><style>
		body { margin: 0; padding: 12px; display: grid; grid-template-columns: 768px 234px; gap: 12px; background: #afb8c1 }
		img { height: 540px; display: block }
	</style><img src="0.png"><img src="2.png"><img src="1.png"><img src="3.png">`
	if err := os.WriteFile(page, []byte(source), 0o644); err != nil {
		w.t.Fatal(err)
	}
	w.Run(chromedp.EmulateViewport(1038, 1116), chromedp.Navigate("file://"+page), chromedp.WaitReady("img"))
	w.Until("the pictures", `[...document.images].every(e => e.complete)`)
	return w.capture()
}

// keep writes a picture with at most 256 colours: the most frequent ones, and of others those
// that are like none of them.
func keep(t *testing.T, path string, data []byte) {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	bounds := picture.Bounds()
	counts := make(map[color.Color]int)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[picture.At(x, y)]++
		}
	}
	var colours []color.Color
	for c := range counts {
		colours = append(colours, c)
	}
	slices.SortFunc(colours, func(a, b color.Color) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return slices.Compare(channels(a), channels(b))
	})
	palette := color.Palette{colours[0]}
	for _, c := range colours[1:] {
		often := counts[c] > bounds.Dx()*bounds.Dy()/5000
		if len(palette) < 256 && (often || distance(c, palette.Convert(c)) > 24) {
			palette = append(palette, c)
		}
	}
	nearest := make(map[color.Color]uint8)
	for _, c := range colours {
		nearest[c] = uint8(palette.Index(c))
	}
	reduced := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			reduced.SetColorIndex(x, y, nearest[picture.At(x, y)])
		}
	}
	if sameButCorners(path, reduced) {
		return
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, reduced); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// sameButCorners reports whether a file has this picture, but for a few pixels: Chromium does
// not draw every rounded corner alike each time.
func sameButCorners(path string, picture image.Image) bool {
	data, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	kept, err := png.Decode(bytes.NewReader(data))
	if err != nil || kept.Bounds() != picture.Bounds() {
		return false
	}
	const most = 20
	different, bounds := 0, picture.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			if distance(kept.At(x, y), picture.At(x, y)) > 0 {
				different++
			}
		}
	}
	return different <= most
}

func channels(c color.Color) []int {
	r, g, b, _ := c.RGBA()
	return []int{int(r >> 8), int(g >> 8), int(b >> 8)}
}

// distance is the sum of the differences of two colours in red, green and blue.
func distance(a, b color.Color) (sum int) {
	other := channels(b)
	for i, v := range channels(a) {
		sum += max(v-other[i], other[i]-v)
	}
	return sum
}
