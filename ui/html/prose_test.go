package html

import "testing"

// Margins become lists and quotes: what belongs to an item is within it, and a line stays a line.
func TestProse(t *testing.T) {
	for source, want := range map[string]string{
		"one\ntwo\n\nthree":                "<p>one<br>\ntwo</p>\n<p>three</p>\n",
		"- a\n  - b\n    c\n- d":           "<ul>\n<li>a<ul>\n<li>b<br>\nc</li>\n</ul>\n</li>\n<li>d</li>\n</ul>\n",
		"- a\n\n  b\n\nc":                  "<ul>\n<li>a<p>b</p>\n</li>\n</ul>\n<p>c</p>\n",
		"2. a\n3. b\n- c":                  "<ol start=\"2\">\n<li>a</li>\n<li>b</li>\n</ol>\n<ul>\n<li>c</li>\n</ul>\n",
		"- [x] a\n# b":                     "<ul>\n<li>[x] a</li>\n</ul>\n<h4>b</h4>\n",
		"> a\n> - b\n>\n> c\n\nd":          "<blockquote>\n<p>a</p>\n<ul>\n<li>b</li>\n</ul>\n<p>c</p>\n</blockquote>\n<p>d</p>\n",
		"1. a\n   ```\n   b\n   ```\n2. c": "<ol>\n<li>a<pre><code>b</code></pre>\n</li>\n<li>c</li>\n</ol>\n",
		"```\n<b>\n\n```\n---":             "<pre><code>&lt;b&gt;</code></pre>\n<hr>\n",
		"|a|b|\n|:-:|-:|\n|*c*|d|":         "<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr><th align=\"center\">a</th><th align=\"right\">b</th></tr>\n</thead>\n<tbody><tr><td align=\"center\"><em>c</em></td><td align=\"right\">d</td></tr>\n</tbody>\n</table></div>\n",
		"**a `b`** ~~c~~ <i>":              "<p><strong>a </strong><strong><code>b</code></strong> <del>c</del> &lt;i&gt;</p>\n",
		"f() {\n        x\n}":              "<p>f() {<br>\n\u00a0\u00a0\u00a0\u00a0\u00a0\u00a0\u00a0\u00a0x<br>\n}</p>\n",
		"[a *b*](http://x)":                `<p><a rel="noopener noreferrer nofollow" href="http://x">a <em>b</em></a></p>` + "\n",
		"":                                 "",
	} {
		if got := string((&writer{}).prose([]byte(source))); got != want {
			t.Errorf("%q:\n got %q\nwant %q", source, got, want)
		}
	}
}
