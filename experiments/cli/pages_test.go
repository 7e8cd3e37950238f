package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments"
)

// looks are how a page is looked at: wide and light, and as narrow as a telephone and dark.
var looks = []window{
	{width: 1400, height: 900, patience: 3000},
	{width: 400, height: 900, dark: true, patience: 3000},
}

// seen is what a page must show.
type seen struct {
	Verdict string `json:"verdict"` // a pattern
	Command string `json:"command"` // in the verdict, "" for none
	Winner  bool   `json:"winner"`  // a row is marked
	Figures int    `json:"figures"` // at least
}

// lookAt looks at a page in all ways.
func lookAt(t *testing.T, name, address string) {
	t.Helper()
	for _, l := range looks {
		dom, console := browse(t, address, l)
		if len(console) > 0 {
			t.Errorf("%s, %d wide: on the console: %s", name, l.width, strings.Join(console, "\n"))
		}
		_, said, found := strings.Cut(dom, `<pre id="said">`)
		said, _, _ = strings.Cut(said, "</pre>")
		if !found || said != "" {
			t.Errorf("%s, %d wide: %s", name, l.width, html.UnescapeString(said))
		}
	}
}

// looked is the script that looks at a page for what must be seen.
func looked(want seen) string {
	text, _ := json.Marshal(want)
	return "const want = " + string(text) + ";" + lookAtPage
}

// TestPagesInBrowser opens every page that a command writes: the verdict stands in the first 700 pixels, every figure
// has a text in its place and fits the page, words stand out from their ground by 4.5 at least, and no script errs. It
// takes more than 5 s, as commands write the pages and a browser draws each.
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
		{"finished fits", []string{"compare", "--runs", at("fit") + "," + at("vq"), "--out", at("finished")}, "finished/report.html", seen{better, "", true, 3}},
		{"evaluate", []string{"evaluate", "--in", filepath.Join(at("fit"), "predictions.npz"), "--html", at("evaluate.html")}, "evaluate.html",
			seen{"(Use |Leave it as it is|Cannot tell yet).*alibrated", "", false, 3}},
		{"evaluate what is wrong", []string{"evaluate", "--in", wrongEverywhere(t), "--html", at("wrong.html")}, "wrong.html", seen{"Not calibrated", "calibra fit", false, 2}},
		{"diagnosis", []string{"diagnose", "--in", wrongEverywhere(t), "--redraws", "99", "--out", at("diagnosis")}, "diagnosis/diagnosis.html", seen{"Wrong", "calibra fit", false, 0}},
	} {
		if code, _, stderr := calibra(t, page.args...); code != 0 {
			t.Fatalf("%s exits %d: %s", page.name, code, stderr)
		}
		text, err := os.ReadFile(at(page.file))
		if err != nil {
			t.Fatal(err)
		}
		file := at(page.file + ".looked-at.html")
		if err := os.WriteFile(file, fmt.Appendf(text, "<script>%s</script>", looked(page.want)), 0o666); err != nil {
			t.Fatal(err)
		}
		lookAt(t, page.name, file)
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
		run, err := experiments.Spec{Method: method.name, Data: "letter", Split: data.NoValidation}.Fit(t.Context(), src, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.add(t.Context(), run, run); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.judge(len(q.runs)); err != nil {
		t.Fatal(err)
	}
	q.verdict.Commands = []string{"calibra fit --in runs/quickstart/features.npz --method ts --out runs/ts"}
	var page bytes.Buffer
	if err := (&quickstartCmd{Out: "runs/quickstart"}).page(&page, q); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&page, "<script>%s</script>", looked(seen{"Use |Leave it as it is|Do not use|Cannot tell yet", "calibra fit", true, 1}))
	file := filepath.Join(t.TempDir(), "quickstart.html")
	if err := os.WriteFile(file, page.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	lookAt(t, "quickstart", file)
}

// lookAtPage is what must hold of a page.
const lookAtPage = `
(async () => {
  await new Promise(ready => document.addEventListener("DOMContentLoaded", ready));
  const wrong = [], check = (ok, what) => { if (!ok) wrong.push(what); };
  const all = s => [...document.querySelectorAll(s)], narrow = innerWidth < 900;
  check(matchMedia("(prefers-color-scheme: dark)").matches === narrow, "the colour scheme is not the one that was asked for");
  const verdict = document.querySelector(".verdict");
  check(verdict && new RegExp(want.verdict).test(verdict.textContent.replace(/\s+/g, " ")), "the verdict is " + verdict?.textContent);
  if (verdict) check(verdict.getBoundingClientRect().bottom <= 700, "the verdict ends at " + verdict.getBoundingClientRect().bottom);
  check(!want.command || verdict?.querySelector("pre")?.textContent.includes(want.command), "the verdict has no command " + want.command);
  check(!want.winner || all("tr.winner").length > 0, "no winner is marked");
  check(all("figure svg").length >= want.figures, all("figure svg").length + " figures, not " + want.figures);
  for (const svg of all("svg")) {
    if (svg.closest('[aria-hidden="true"]')) continue;
    check(svg.closest('[role="img"], [role="group"]')?.getAttribute("aria-label"), "a figure has no text in its place");
    check(svg.getBoundingClientRect().width <= document.body.clientWidth, "a figure is wider than the page");
  }
  for (const e of all("h1, h2, p, nav, figure, .verdict, form > p")) check(e.getBoundingClientRect().right <= document.body.getBoundingClientRect().right + 1, e.tagName + " is wider than the page");
  const light = c => { const [r, g, b] = c.match(/[\d.]+/g).map(x => { x /= 255; return x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\)$|transparent/.test(c)) return c; } return "rgb(255, 255, 255)"; };
  const own = e => [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.textContent.trim());
  let words = 0;
  for (const e of all("body *")) { // the letters of figures are images to a page: their own tests hold their colours
    if (!own(e) || e.closest("figure svg, script, style, noscript") || e.getClientRects().length === 0) continue;
    words++;
    const style = getComputedStyle(e), a = light(e.closest("svg") ? style.fill : style.color), b = light(ground(e)), contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    check(contrast >= 4.5, e.tagName + "." + e.className + " has contrast " + contrast.toFixed(2) + ": " + e.textContent.slice(0, 40));
  }
  check(words > 4, "only " + words + " elements have words");
  const said = document.createElement("pre");
  said.id = "said";
  said.textContent = [...new Set(wrong)].join("; ");
  document.body.append(said);
})();
`

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
	// what is printed, on a screen as wide as the paper between its margins: 277 mm
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("@media print {"), []byte("@media all {"), 1)
	text = append(text, `<script>
const wide = [...document.querySelectorAll("table, figure, pre, dl")].filter(e => e.getBoundingClientRect().right > 1047).map(e => e.tagName + " " + e.getBoundingClientRect().right);
document.body.insertAdjacentHTML("beforeend", '<pre id="said">' + document.querySelectorAll("table.many").length + " tables of many columns;" + wide.join("; ") + "</pre>");
</script>`...)
	file := filepath.Join(dir, "paper.html")
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	dom, _ := browse(t, file, window{width: 1047, height: 740, noScrollbars: true, patience: 3000})
	said, _, _ := strings.Cut(dom[strings.LastIndex(dom, `<pre id="said">`)+len(`<pre id="said">`):], "</pre>")
	if many, wide, _ := strings.Cut(said, ";"); many == "" || strings.HasPrefix(many, "0") || wide != "" {
		t.Errorf("on paper: %s", said)
	}
}
