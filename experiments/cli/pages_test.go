package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/run"

	"gonum.org/v1/gonum/mat"
)

// looks are all ways that a page is looked at: as narrow as a telephone, a tablet, a laptop, and a wide screen, each
// light, dark and as it is printed.
var looks = func() (all []window) {
	for _, width := range []int{360, 820, 1440, 2560} {
		w := window{width: width, height: 900, noScrollbars: true, patience: 3000}
		dark, print := w, w
		dark.dark, print.print = true, true
		all = append(all, w, dark, print)
	}
	return all
}()

// seen is what a page must show.
type seen struct {
	Verdict string `json:"verdict"` // a pattern
	Command string `json:"command"` // in the verdict, "" for none
	Winner  bool   `json:"winner"`  // a row is marked
	Figures int    `json:"figures"` // at least
}

// lookAt looks at a page in all ways, with its scripts and at last without them, and returns what is wrong.
func lookAt(t *testing.T, file string, want seen) (wrong []string) {
	t.Helper()
	ask, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	mute := looks[0]
	mute.noScripts = true
	for _, ways := range [][]window{looks, {mute}} {
		browse(t, file, ways[0])
		for _, w := range ways {
			if err := opened.look(w); err != nil {
				t.Fatal(err)
			}
			said, err := opened.evaluate(lookAtPage + "(" + string(ask) + ")")
			if err != nil {
				t.Fatal(err)
			}
			if said != "" {
				wrong = append(wrong, fmt.Sprintf("%+v: %s", w, said))
			}
		}
		for _, line := range opened.console() {
			wrong = append(wrong, "on the console: "+line)
		}
		for _, address := range opened.requests() {
			wrong = append(wrong, "it asks for "+address)
		}
	}
	return wrong
}

// TestLooksFindWhatIsWrong: a page with every fault shows each of them, or the absence of faults in other pages shows
// nothing.
func TestLooksFindWhatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "faulty.html")
	page := `<p style="color:#aaa">pale</p><pre style="overflow:auto;width:50px">a line that scrolls</pre>
<svg width="50" height="20"><text y="15">beyond its figure</text><rect width="50" height="20" fill="#333"/><text x="2" y="16">dark</text></svg>
<button style="outline:none" id="twice">unseen</button><i id="twice"></i>
<p style="white-space:nowrap">` + strings.Repeat("far beyond the window ", 99) + `</p><img src="https://example.invalid/a.png"><script>undefinedFunction()</script>`
	if err := os.WriteFile(file, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
	wrong := strings.Join(lookAt(t, file, seen{Figures: 2}), "\n")
	for _, want := range []string{"the verdict is undefined", "an id is there twice", "BUTTON takes no focus that is seen: unseen", "0 figures, not 2", "no text in its place", "'beyond its figure' lies on 'dark'", "P. has contrast 2.32: pale", "text. has contrast 1.66: dark",
		"PRE. scrolls sideways", "cut by its figure: beyond", "cut by the window: far", "the page is ", "it asks for https://example.invalid/a.png", "undefinedFunction"} {
		if !strings.Contains(wrong, want) {
			t.Errorf("nothing says %q in %s", want, wrong)
		}
	}
}

// TestPagesInBrowser opens every page that a command writes, in all looks: the verdict stands in the first 700 pixels,
// every figure has a text in its place and fits the page, the keyboard reaches all that can be pressed, no text lies on
// another or is cut, words stand out from their ground by 4.5 at least, nothing but a table scrolls sideways, no script
// errs, and nothing is asked for. It takes more than 5 s, as commands write the pages and a browser draws each.
func TestPagesInBrowser(t *testing.T) {
	in, dir := write(t, features(300)), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	better := "Use |Leave it as it is|Do not use|Cannot tell yet"
	for _, page := range []struct {
		name string
		args []string
		file string
		want seen
	}{
		{"compare", slices.Concat([]string{"compare", "--in", in, "--methods", "nc,ts,vq", "--seeds", "1,2", "--out", at("compare")}, small), "compare/report.html",
			seen{better, "", true, 3}},
		{"study", slices.Concat([]string{"study", "main", "--data", in, "--methods", "vq,ts,nc", "--seeds", "1,2", "--out", at("study")}, small), "study/report.html",
			seen{better, "", true, 5}},
		{"theory", []string{"theory", "fast", "rate", "propositions", "--out", at("theory")}, "theory/report.html", seen{"All \\d+ bands hold", "", false, 1}},
		{"fit", []string{"fit", "--in", in, "--method", "ts", "--out", at("fit")}, "fit/report.html", seen{better, "calibra", true, 1}},
		{"fit of vq", slices.Concat([]string{"fit", "--in", in, "--method", "vq", "--out", at("vq")}, small), "vq/report.html", seen{better, "calibra", true, 1}},
		{"finished fits", []string{"compare", "--runs", at("fit") + "," + at("vq"), "--out", at("finished")}, "finished/report.html", seen{better, "", false, 3}},
		{"evaluate", []string{"evaluate", "--in", filepath.Join(at("fit"), "predictions.npz"), "--html", at("evaluate.html")}, "evaluate.html",
			seen{"(Use |Leave it as it is|Cannot tell yet).*alibrated", "", false, 3}},
		{"evaluate what is wrong", []string{"evaluate", "--in", wrongEverywhere(t), "--html", at("wrong.html")}, "wrong.html", seen{"Not calibrated", "calibra fit", false, 2}},
		{"diagnosis", []string{"diagnose", "--in", wrongEverywhere(t), "--redraws", "99", "--out", at("diagnosis")}, "diagnosis/diagnosis.html", seen{"Wrong", "calibra fit", false, 0}},
	} {
		if code, _, stderr := calibra(t, page.args...); code != 0 {
			t.Fatalf("%s exits %d: %s", page.name, code, stderr)
		}
		for _, wrong := range lookAt(t, at(page.file), page.want) {
			t.Errorf("%s, %s", page.name, wrong)
		}
	}
}

// TestPageOfManyClasses: the page of 100 classes, each of which is taken for each, has at most 1.5 MB.
func TestPageOfManyClasses(t *testing.T) {
	const classes = 100
	rng, page := rand.New(rand.NewPCG(3, 100)), filepath.Join(t.TempDir(), "evaluate.html")
	logits, labels := mat.NewDense(classes*classes, classes, nil), make([]int, classes*classes)
	for i := range labels {
		labels[i] = i / classes
		for c := range classes {
			logits.Set(i, c, rng.NormFloat64())
		}
		logits.Set(i, i%classes, 4+rng.Float64())
	}
	in := write(t, []data.Array{{Name: "logits", Value: logits}, {Name: "labels", Value: labels}})
	if code, _, stderr := calibra(t, "evaluate", "--in", in, "--replicates", "0", "--redraws", "0", "--folds", "0", "--html", page); code != 0 {
		t.Fatal(stderr)
	}
	file, err := os.Stat(page)
	if err != nil {
		t.Fatal(err)
	}
	if file.Size() > 1.5e6 {
		t.Errorf("%s has %d bytes", page, file.Size())
	}
}

// wrongEverywhere is a file of predictions whose confidence is too high by far, with an embedding.
func wrongEverywhere(t *testing.T) string {
	t.Helper()
	arrays := features(400)
	return write(t, []data.Array{{Name: "logits", Value: arrays[4].Value}, {Name: "labels", Value: arrays[5].Value}, {Name: "embedding", Value: arrays[3].Value}})
}

// TestQuickstartPageInBrowser looks at the quickstart's page, of runs that take less time than its own.
func TestQuickstartPageInBrowser(t *testing.T) {
	in := write(t, features(300))
	src, err := data.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	q := &quick{source: src}
	for _, method := range quickMethods[:2] {
		run, err := run.Spec{Method: method.name, Data: "letter", Split: data.NoValidation}.Fit(t.Context(), src, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.add(t.Context(), run, run); err != nil {
			t.Fatal(err)
		}
	}
	q.judge()
	q.verdict.Commands = []string{"calibra fit --in runs/quickstart/features.npz --method ts --out runs/ts"}
	document, err := q.document()
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := document.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "quickstart.html")
	if err := os.WriteFile(file, page.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range lookAt(t, file, seen{"Use |Leave it as it is|Do not use|Cannot tell yet", "calibra fit", true, 1}) {
		t.Error(wrong)
	}
}

// lookAtPage is what must hold of a page; it returns what does not.
const lookAtPage = `(want => {
  const wrong = [], check = (ok, what) => { if (!ok) wrong.push(what); };
  const all = s => [...document.querySelectorAll(s)], printed = matchMedia("print").matches, dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const verdict = document.querySelector(".verdict"), said = e => e.textContent.trim().replace(/\s+/g, " ").slice(0, 40);
  check(verdict && new RegExp(want.verdict).test(verdict.textContent.replace(/\s+/g, " ")), "the verdict is " + verdict?.textContent);
  if (verdict) check(verdict.getBoundingClientRect().bottom <= 700, "the verdict ends at " + verdict.getBoundingClientRect().bottom);
  check(!want.command || verdict?.querySelector("pre")?.textContent.includes(want.command), "the verdict has no command " + want.command);
  check(!want.winner || all("tr.winner").length > 0, "no winner is marked");
  check(all("figure svg").length >= want.figures, all("figure svg").length + " figures, not " + want.figures);
  for (const svg of all("svg")) check(svg.closest('[role="img"], [role="group"], [aria-hidden="true"], .legend')?.matches("[aria-label], [aria-hidden], .legend"), "a figure has no text in its place");

  // What can be pressed or scrolled takes the keyboard's focus and shows it, and no anchor is there twice.
  const ids = all("[id]").map(e => e.id);
  check(new Set(ids).size === ids.length, "an id is there twice: " + ids);
  if (!printed) for (const e of all("button, a[href], summary, pre[tabindex]")) if (e.checkVisibility()) {
    e.focus();
    check(document.activeElement === e && getComputedStyle(e).outlineStyle !== "none", e.tagName + " takes no focus that is seen: " + said(e));
  }
  document.activeElement.blur();
  scrollTo(0, 0);
  for (const e of all(".wide")) e.scrollLeft = 0;

  // Only tables scroll sideways. A printed page is as wide as its paper: the test of prints holds that.
  const paper = 718, scrolls = e => /auto|scroll|hidden|clip/.test(getComputedStyle(e).overflowX);
  if (!printed || innerWidth > paper) check(document.scrollingElement.scrollWidth <= innerWidth, "the page is " + document.scrollingElement.scrollWidth + " wide");
  for (const e of all("body *")) if (!(e instanceof SVGElement) && e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 && scrolls(e) && e.clientWidth > 0) check(e.matches(".wide") && !printed, e.tagName + "." + e.className + " scrolls sideways");

  // The boxes of all texts, line by line.
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), boxes = [], range = document.createRange();
  while (walk.nextNode()) {
    const node = walk.currentNode, e = node.parentElement;
    if (!node.textContent.trim() || e.closest("title, script, style, noscript") || !e.checkVisibility({checkVisibilityCSS: true, checkOpacity: true})) continue;
    range.selectNodeContents(node);
    for (const r of e.closest("svg") ? [e.getBoundingClientRect()] : range.getClientRects()) { // a range knows nothing of textLength
      if (r.width < 1 || r.height < 1) continue;
      const turned = e instanceof SVGElement && /rotate/.test(e.getAttribute("transform") || e.parentElement.getAttribute("transform") || "");
      const trim = .12 * (turned ? r.width : r.height), box = {e, node, left: r.left, right: r.right, top: r.top, bottom: r.bottom, letters: turned ? r.width : r.height}; // what lies above and below letters is white
      if (turned) { box.left += trim; box.right -= trim; } else { box.top += trim; box.bottom -= trim; }
      const wide = e.closest(".wide"), svg = e.closest("svg");
      if (wide && !printed) { const w = wide.getBoundingClientRect(); if (box.left >= w.right - 1) continue; box.right = Math.min(box.right, w.right); }
      else if (!printed || innerWidth > paper) check(box.left >= -1 && box.right <= innerWidth + 1, "cut by the window: " + said(e));
      if (svg) { const s = svg.getBoundingClientRect(); check(box.left >= s.left - 1 && box.right <= s.right + 1 && box.top >= s.top - 1 && box.bottom <= s.bottom + 1, "cut by its figure: " + said(e)); }
      boxes.push(box);
    }
  }
  check(boxes.length > 10, "only " + boxes.length + " texts");
  boxes.sort((a, b) => a.top - b.top);
  for (let i = 0; i < boxes.length; i++)
    for (let j = i + 1; j < boxes.length && boxes[j].top < boxes[i].bottom - 1; j++) {
      const a = boxes[i], b = boxes[j];
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1) check(false, "'" + said(a.e) + "' lies on '" + said(b.e) + "'");
    }

  // The contrast of words to what is painted below them.
  const channels = c => (c.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number), over = (c, ground, a) => ground.map((g, k) => a * c[k] + (1 - a) * g);
  const light = c => { const [r, g, b] = c.map(x => { x /= 255; return x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = channels(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
  const seen = new Set();
  for (const {e} of boxes) {
    if (seen.has(e)) continue;
    seen.add(e);
    const style = getComputedStyle(e), svg = e.closest("svg");
    let below = ground(svg || e), own = channels(svg ? style.fill : style.color);
    if (svg) {
      const r = e.getBoundingClientRect();
      const middle = new DOMPoint((r.left + r.right) / 2, (r.top + r.bottom) / 2);
      for (const shape of svg.querySelectorAll("path, circle, rect, polygon")) {
        if (shape.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_PRECEDING) break;
        const look = getComputedStyle(shape), box = shape.getBoundingClientRect();
        if (look.fill === "none" || middle.x < box.left || middle.x > box.right || middle.y < box.top || middle.y > box.bottom) continue;
        const c = channels(look.fill), a = (c[3] ?? 1) * look.fillOpacity * look.opacity;
        if (a > 0 && shape.isPointInFill(middle.matrixTransform(shape.getScreenCTM().inverse()))) below = over(c, below, a);
      }
      if (style.paintOrder.startsWith("stroke") && parseFloat(style.strokeWidth) >= 2) below = channels(style.stroke); // a rim around each letter
    }
    const a = light(own), b = light(below), contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    check(contrast >= 4.5, e.tagName + "." + (e.className.baseVal ?? e.className) + " has contrast " + contrast.toFixed(2) + ": " + said(e));
  }
  return [...new Set(wrong)].slice(0, 12).join("; ");
})`

// TestPrintedStudy: a study of three sources prints on fewer than eight pages, and no column is wider than they are.
func TestPrintedStudy(t *testing.T) {
	dir := t.TempDir()
	args := []string{"study", "main", "--data", "", "--methods", "nc,ts,vq,dc,sm", "--seeds", "1,2", "--out", filepath.Join(dir, "study")}
	var files []string
	for _, name := range []string{"one", "two", "three"} {
		files = append(files, filepath.Join(dir, name+".npz"))
		if err := os.Rename(write(t, features(300)), files[len(files)-1]); err != nil {
			t.Fatal(err)
		}
	}
	args[3] = strings.Join(files, ",")
	if code, _, stderr := calibra(t, append(args, small...)...); code != 0 {
		t.Fatal(stderr)
	}
	report := filepath.Join(dir, "study", "report.html")
	browse(t, report, desktop)
	// each page is an object of its own; those of the tree above them are /Pages
	pages := len(regexp.MustCompile(`/Type\s*/Page\b[^s]`).FindAll(printed(t), -1))
	t.Logf("%d pages", pages)
	if pages == 0 || pages >= 8 {
		t.Errorf("the study prints on %d pages", pages)
	}
	// what is printed, on a screen as wide as the paper between its margins: 190 mm
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("@media print {"), []byte("@media all {"), 1)
	text = append(text, `<script>
const wide = [...document.querySelectorAll("table, figure, pre, dl")].filter(e => e.getBoundingClientRect().right > 718).map(e => e.tagName + " " + e.getBoundingClientRect().right);
document.body.insertAdjacentHTML("beforeend", '<pre id="said">' + document.querySelectorAll("table.many").length + " tables of many columns;" + wide.join("; ") + "</pre>");
</script>`...)
	file := filepath.Join(dir, "paper.html")
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	dom, _ := browse(t, file, window{width: 718, height: 1047, noScrollbars: true, patience: 3000})
	said, _, _ := strings.Cut(dom[strings.LastIndex(dom, `<pre id="said">`)+len(`<pre id="said">`):], "</pre>")
	if many, wide, _ := strings.Cut(said, ";"); many == "" || strings.HasPrefix(many, "0") || wide != "" {
		t.Errorf("on paper: %s", said)
	}
}
