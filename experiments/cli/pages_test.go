package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPagesInBrowser opens the pages of compare, study and the quickstart's kind at two widths:
// the verdict stands in the first 700 pixels, every figure has a text in its place, words stand
// out from their ground by 4.5 at least, and no script errs.
func TestPagesInBrowser(t *testing.T) {
	in, dir := write(t, features(300)), t.TempDir()
	small := []string{"--slots", "4", "--codewords", "8", "--seeds", "1,2"}
	pages := map[string][]string{
		"compare": append([]string{"compare", "--in", in, "--methods", "nc,ts,vq", "--out", filepath.Join(dir, "compare")}, small...),
		"study":   append([]string{"study", "main", "--data", in, "--methods", "vq,ts,nc", "--out", filepath.Join(dir, "study")}, small...),
	}
	for name, args := range pages {
		if code, _, stderr := calibra(t, args...); code != 0 {
			t.Fatalf("%s exits %d: %s", name, code, stderr)
		}
		html, err := os.ReadFile(filepath.Join(dir, name, "report.html"))
		if err != nil {
			t.Fatal(err)
		}
		page := filepath.Join(dir, name, "looked-at.html")
		if err := os.WriteFile(page, append(html, lookAtPage...), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, size := range []string{"1400,900", "500,900"} { // 500 is the narrowest that Chromium opens; the test frames 400
			dom, console := browse(t, page, "--window-size="+size)
			if len(console) > 0 {
				t.Errorf("%s at %s: on the console: %s", name, size, strings.Join(console, "\n"))
			}
			_, said, found := strings.Cut(dom, `<pre id="said">`)
			said, _, _ = strings.Cut(said, "</pre>")
			if !found || said != "" {
				t.Errorf("%s at %s: %s", name, size, said)
			}
		}
	}
}

// lookAtPage is what must hold of a page; in a narrow window it is looked at 400 pixels wide.
const lookAtPage = `<script>
(() => {
  const wrong = [], check = (ok, what) => { if (!ok) wrong.push(what); };
  const all = s => [...document.querySelectorAll(s)];
  if (innerWidth < 900) document.body.style.width = "400px";
  const verdict = document.querySelector(".verdict");
  check(verdict && /best|Nothing improves/.test(verdict.textContent), "there is no verdict");
  if (verdict) check(verdict.getBoundingClientRect().bottom <= 700, "the verdict ends at " + verdict.getBoundingClientRect().bottom);
  check(verdict?.querySelector("pre")?.textContent.includes("calibra fit"), "the verdict has no command");
  check(all("tr.winner").length > 0, "no winner is marked");
  for (const svg of all("figure svg")) {
    check(svg.closest('[role="img"]')?.getAttribute("aria-label"), "a figure has no text in its place");
    check(svg.getBoundingClientRect().width <= document.body.clientWidth, "a figure is wider than the page");
  }
  const light = c => { const [r, g, b] = c.match(/[\d.]+/g).map(x => { x /= 255; return x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\)$|transparent/.test(c)) return c; } return "rgb(255, 255, 255)"; };
  for (const e of all("h1, h2, p, td, th, a, dt, dd, pre, button, figcaption")) {
    if (!e.textContent.trim() || !e.offsetParent) continue;
    const a = light(getComputedStyle(e).color), b = light(ground(e)), contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    check(contrast >= 4.5, e.tagName + " has contrast " + contrast.toFixed(2));
  }
  const said = document.createElement("pre");
  said.id = "said";
  said.textContent = [...new Set(wrong)].join("; ");
  document.body.append(said);
})();
</script>`
