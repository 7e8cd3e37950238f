package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/study"
)

// TestStudySurvivesKill: a study killed with SIGKILL in the middle and started
// again writes the same results.csv as one that ran through, and computes no cell
// twice.
func TestStudySurvivesKill(t *testing.T) {
	if testing.Short() {
		t.Skip("two runs of a study take some seconds")
	}
	in := write(t, features(800))
	study := func(out string) []string {
		return []string{"study", "main", "--methods", "vq,vq-dc,vq-nc,dc,nc", "--data", in, "--seeds", "1,2", "--set", "codebook.codewords=16", "--set", "codebook.slots=4", "--jobs", "2", "--out", out}
	}
	whole := filepath.Join(t.TempDir(), "whole")
	if code, stdout, stderr := calibra(t, study(whole)...); code != 0 {
		t.Fatalf("study exits %d: %s%s", code, stdout, stderr)
	}
	want, err := os.ReadFile(filepath.Join(whole, "results.csv"))
	if err != nil {
		t.Fatal(err)
	}
	cells := bytes.Count(want, []byte("\n")) - 1

	killed := filepath.Join(t.TempDir(), "killed")
	child := exec.Command(os.Args[0], study(killed)...)
	child.Env = append(os.Environ(), asCommand+"=1")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	there := func() []string {
		files, _ := filepath.Glob(filepath.Join(killed, "cells", "*.json"))
		return files
	}
	for deadline := time.Now().Add(2 * time.Minute); len(there()) < 3; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no cell was computed in two minutes")
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil || child.ProcessState.ExitCode() != -1 {
		t.Fatalf("the study was not killed: %v", err)
	}
	before := map[string]time.Time{}
	for _, path := range there() {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		before[path] = info.ModTime()
	}
	if len(before) == cells {
		t.Fatalf("all %d cells were there when the study was killed; the test shows nothing", cells)
	}
	if _, err := os.Stat(filepath.Join(killed, "results.csv")); err == nil {
		t.Fatal("results.csv was there when the study was killed")
	}
	code, _, stderr := calibra(t, study(killed)...)
	if code != 0 || !strings.Contains(stderr, "cells are there already") {
		t.Fatalf("the resumed study exits %d: %s", code, stderr)
	}
	got, err := os.ReadFile(filepath.Join(killed, "results.csv"))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("resumed\n%s\nwhole\n%s\n%v", got, want, err)
	}
	for path, then := range before {
		if info, err := os.Stat(path); err != nil || !info.ModTime().Equal(then) {
			t.Errorf("%s was computed again: %v", filepath.Base(path), err)
		}
	}
	t.Logf("killed after %d of %d cells", len(before), cells)
}

// TestStudyOfLogits: without features there are no local metrics, and figures of the others.
// Five per cent of a handful of calibration rows are none, which that cell alone says.
func TestStudyOfLogits(t *testing.T) {
	var logits []data.Array
	for _, a := range features(15) {
		if !strings.HasSuffix(a.Name, "_features") {
			logits = append(logits, a)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	code, _, stderr := calibra(t, "study", "calsize", "--data", write(t, logits), "--seeds", "1", "--methods", "ts,nc", "--out", out)
	if code != exitFailure || !strings.Contains(stderr, "has 15 calibration rows, and 5 % of them are less than one row") || !strings.Contains(stderr, "4 of 18 cells failed") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if drawn, _ := filepath.Glob(filepath.Join(out, "figures", "calsize-*.svg")); len(drawn) != 1 {
		t.Errorf("%d figures were drawn", len(drawn))
	}
}

func TestStudyList(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	code, stdout, stderr := calibra(t, "study", "ablate-slots", "--data", "letter", "--seeds", "42", "--out", out, "--list")
	if code != 0 || !strings.Contains(stdout, "letter/mlp vq w=16 |C|=32 seed 42") || strings.Count(stdout, "\n") != 8 {
		t.Errorf("exits %d: %s", code, stdout)
	}
	if !strings.Contains(stderr, "256 slots do not divide its 128 features") {
		t.Errorf("what is left out is not said: %s", stderr)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a list wrote something")
	}
}

// TestStudyRefuses: what the user got wrong exits with 2 and a sentence, and makes
// no directory.
func TestStudyRefuses(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"study nosuch --data letter", "choose one of main, ess"},
		{"study main", "a study needs --data"},
		{"study main --data letter", "a study needs --out"},
		{"study main --data nowhere.npz", "does not exist"},
		{"study main --data nowhere/cifar-10-binary.tar.gz", "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"},
		{"study main --data nowhere/tissuemnist.npz", "https://zenodo.org"},
		{"study main --data nowhere/weather", "shifts"},
		{"study main --data whatever", "is not known as data"},
		{"study ood --data letter --shifted x.npz", "only a features file takes one"},
		{"study ood --data digits --shift fog-3", `has no rows shifted by "fog-3"; choose one of region, noise, thin; corruptions are for raw images`},
		{"study main --data letter --seeds x", "seeds"},
		{"study main --data letter --long-tail 0", "--long-tail: "},
		{"fit --in letter --long-tail=-3", "--long-tail: "},
		{"study --data letter", "name the study"},
		{"study ablate-codebook --data letter --set codebook.codewords=16", "study ablate-codebook sets codebook.codewords itself"},
		{"study optimizers --data letter --set optim.rule=adam", "study optimizers sets optim.rule itself"},
		{"fit --in letter --probabilities", "is no features file; --scores says"},
	} {
		out := filepath.Join(t.TempDir(), "out")
		args := strings.Fields(c.args)
		if c.want != "a study needs --out" {
			args = append(args, "--out", out)
		}
		code, _, stderr := calibra(t, args...)
		if code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%s exits %d: %s", c.args, code, stderr)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s made its directory", c.args)
		}
	}
}

// TestStudyShift: the study of shifted rows alone takes a shift.
func TestStudyShift(t *testing.T) {
	for _, name := range append(data.Each(study.Studies, func(s *study.Study) string { return s.Name }), "sweep --method ts --set optim.rule=adam,lion") {
		args := append([]string{"study"}, strings.Fields(name+" --data letter --seeds 1 --shift noise --list")...)
		code, _, stderr := calibra(t, append(args, "--out", filepath.Join(t.TempDir(), "out"))...)
		if shifted := name == "ood"; shifted != (code == 0) || !shifted && (code != exitUsage || !strings.Contains(stderr, "judges on the test rows as they are")) {
			t.Errorf("study %s --shift noise exits %d: %s", name, code, stderr)
		}
	}
}

// TestReportInBrowser opens a report in headless Chromium, which must print the last
// section and no message on its console, and uses it: columns sort, methods come and go
// from tables and figures, tables are copied, points tell their values.
func TestReportInBrowser(t *testing.T) {
	// A page with an error must show one, or the absence of errors shows nothing.
	faulty := filepath.Join(t.TempDir(), "faulty.html")
	if err := os.WriteFile(faulty, []byte(`<script>undefinedFunction()</script>`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, console := browse(t, faulty, desktop); len(console) == 0 {
		t.Fatal("the browser does not report a faulty page's error")
	}
	out := filepath.Join(t.TempDir(), "out")
	code, _, stderr := calibra(t, "study", "main", "--data", write(t, features(300)), "--methods", "vq,ts,nc", "--seeds", "1,2", "--set", "codebook.codewords=8", "--set", "codebook.slots=4", "--out", out)
	if code != 0 {
		t.Fatalf("study exits %d: %s", code, stderr)
	}
	page := filepath.Join(out, "report.html")
	dom, console := browse(t, page, desktop)
	if len(console) > 0 {
		t.Errorf("on the console: %s", strings.Join(console, "\n"))
	}
	for _, want := range []string{"<svg", "Class shares", "Program", "Command", "Machine", "Date"} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, link := range regexp.MustCompile(`(?:src|href)="([^"#][^"]*)"`).FindAllStringSubmatch(dom, -1) {
		if strings.HasPrefix(link[1], "data:") {
			continue
		}
		if _, err := os.Stat(filepath.Join(out, link[1])); err != nil {
			t.Errorf("the page refers to what is not beside it: %s", link[1])
		}
	}

	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	used := filepath.Join(out, "used.html")
	if err := os.WriteFile(used, append(html, useReport...), 0o666); err != nil {
		t.Fatal(err)
	}
	dom, console = browse(t, used, desktop)
	if len(console) > 0 {
		t.Errorf("on the console of the page in use: %s", strings.Join(console, "\n"))
	}
	_, said, _ := strings.Cut(dom, `<pre id="said">`)
	said, _, _ = strings.Cut(said, "</pre>")
	if said != "" {
		t.Errorf("in use: %s", said)
	}
	if !strings.Contains(dom, `<pre id="said">`) {
		t.Error("the page was not used to the end")
	}
}

// useReport is what a reader does with a report, and what must come of it.
const useReport = `<script>
(async () => {
  const wrong = [], check = (ok, what) => { if (!ok) wrong.push(what); };
  const one = s => document.querySelector(s), all = s => [...document.querySelectorAll(s)];
  let copied = "";
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async s => { copied = s; } } });
  const table = one("table"), heads = [...table.tHead.rows[0].cells];
  const nll = heads.findIndex(h => h.textContent.startsWith("NLL"));
  const column = () => [...table.tBodies[0].rows].filter(r => !r.classList.contains("block")).map(r => parseFloat(r.cells[nll].textContent));
  const sorted = (v, sign) => v.every((x, i) => i === 0 || sign * x >= sign * v[i - 1]);
  check(column().length === 3, "three methods are in the table, not " + column().length);
  heads[nll].querySelector("button").click();
  check(sorted(column(), 1) && heads[nll].ariaSort === "ascending", "up: " + column());
  heads[nll].querySelector("button").click();
  check(sorted(column(), -1) && heads[nll].ariaSort === "descending", "down: " + column());
  check(table.tBodies[0].rows[0].classList.contains("block"), "the name of the data has moved");

  const seen = s => all(s).filter(e => e.getClientRects().length > 0 || getComputedStyle(e).display !== "none").length;
  const chips = all("#toggles button");
  check(chips.map(c => c.textContent).sort().join() === "NC,TS,VQ", "methods: " + chips.map(c => c.textContent));
  const ts = chips.find(c => c.textContent === "TS");
  const rows = seen('tr[data-series="TS"]'), lines = seen('g[data-series="TS"]');
  check(rows > 1 && lines > 1, "TS is in " + rows + " tables and " + lines + " figures");
  ts.click();
  check(seen('[data-series="TS"]') === 0 && seen('[data-series="NC"]') > 0, "TS is still seen");
  one('[data-copy="csv"]').click();
  await new Promise(r => setTimeout(r, 50));
  check(copied.startsWith("data,Method,NLL ↓,") && copied.includes(",VQ,") && !copied.includes(",TS,") && copied.trim().split("\n").length === 3, "csv: " + copied);
  ts.click();
  check(seen('tr[data-series="TS"]') === rows && seen('g[data-series="TS"]') === lines, "TS does not come back");
  one('[data-copy="latex"]').click();
  await new Promise(r => setTimeout(r, 50));
  check(copied.startsWith("\\begin{table*}") && copied.trimEnd().endsWith("\\end{table*}") && copied.includes("TS"), "latex: " + copied);

  const point = one('g[data-series="VQ"] .point');
  point.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
  check(!one("#tip").hidden && /^VQ: [+−]?[.\d]/.test(one("#tip").textContent), "hover says " + one("#tip").textContent);
  for (const th of all("th")) check(th.scope !== "", "a head has no scope: " + th.textContent);
  const said = document.createElement("pre");
  said.id = "said";
  said.textContent = wrong.join("; ");
  document.body.append(said);
})();
</script>`

// TestStudyOfOneClass: a class without calibration rows is no reason to lose the
// report of computed cells.
func TestStudyOfOneClass(t *testing.T) {
	arrays := features(300)
	arrays[2].Value = make([]int, 300)
	out := filepath.Join(t.TempDir(), "study")
	code, _, stderr := calibra(t, "study", "main", "--data", write(t, arrays), "--seeds", "1", "--methods", "vq,nc", "--set", "codebook.codewords=16", "--set", "codebook.slots=4", "--out", out)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if _, err := os.Stat(filepath.Join(out, "report.html")); err != nil {
		t.Error(err)
	}
}

func TestStudyRefusesSeeds(t *testing.T) {
	out := filepath.Join(t.TempDir(), "study")
	for seeds, want := range map[string]string{"": "seeds", "42,43,42": "42 twice", "x": "--seeds"} {
		code, _, stderr := calibra(t, "study", "main", "--data", "letter", "--seeds", seeds, "--methods", "nc", "--out", out)
		if code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("--seeds %q: exit code %d, %q does not say %q", seeds, code, stderr, want)
		}
	}
}

// TestStudyStale: cells of an earlier build are computed again where its code was another, or taken where the user says
// so; config.json of a fit names its program as cells do.
func TestStudyStale(t *testing.T) {
	in, out := write(t, features(300)), filepath.Join(t.TempDir(), "study")
	study := func(more ...string) string {
		t.Helper()
		code, _, stderr := calibra(t, append([]string{"study", "main", "--data", in, "--seeds", "1", "--methods", "ts,nc", "--out", out}, more...)...)
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		return stderr
	}
	study()
	paths, _ := filepath.Glob(filepath.Join(out, "cells", "*.json"))
	digest, code := regexp.MustCompile(`"digest": "([0-9a-f]{64})"`), regexp.MustCompile(`"code": "[0-9a-f]{64}"`)
	var program string
	replace := func(what *regexp.Regexp, by string) {
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil || !what.Match(text) {
				t.Fatalf("%s names no %v: %v", path, what, err)
			}
			if named := digest.FindSubmatch(text); named != nil {
				program = string(named[1])
			}
			if err := os.WriteFile(path, what.ReplaceAll(text, []byte(by)), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	replace(digest, `"digest": "earlier"`)
	if stderr := study(); !strings.Contains(stderr, "2 of 2 cells are there already") || strings.Contains(stderr, "other code") {
		t.Errorf("another build of the same code: %s", stderr)
	}
	replace(code, `"code": "other"`)
	if stderr := study("--accept-cells"); !strings.Contains(stderr, "2 cells were computed by other code, and are accepted") {
		t.Errorf("accepted: %s", stderr)
	}
	if page, err := os.ReadFile(filepath.Join(out, "report.html")); err != nil || !strings.Contains(string(page), "2 of the cells, which other code computed") {
		t.Errorf("the page counts no accepted cells: %v", err)
	}
	if stderr := study(); !strings.Contains(stderr, "2 cells were computed by other code") || strings.Contains(stderr, "there already") {
		t.Errorf("computed again: %s", stderr)
	}
	if stderr := study(); !strings.Contains(stderr, "2 of 2 cells are there already") || strings.Contains(stderr, "other code") {
		t.Errorf("the third time: %s", stderr)
	}
	fit := t.TempDir()
	if code, _, stderr := calibra(t, "fit", "--in", in, "--method", "ts", "--out", fit); code != 0 {
		t.Fatal(stderr)
	}
	if text, err := os.ReadFile(filepath.Join(fit, "config.json")); err != nil || !strings.Contains(string(text), program) {
		t.Errorf("config.json does not name %s: %s, %v", program, text, err)
	}
}

// TestStudySettings: the small bin of the metrics and the network of Local Nets, as published
// for other data, can be set in a study, and are other cells than the defaults.
func TestStudySettings(t *testing.T) {
	in := write(t, features(300))
	keys := func(more ...string) string {
		t.Helper()
		code, stdout, stderr := calibra(t, append([]string{"study", "main", "--data", in, "--seeds", "1", "--methods", "ln", "--list", "--out", filepath.Join(t.TempDir(), "out")}, more...)...)
		if code != 0 {
			t.Fatalf("%v: exit code %d: %s", more, code, stderr)
		}
		return regexp.MustCompile(`[0-9a-f]{20}`).FindString(stdout)
	}
	seen := map[string]bool{}
	for _, set := range [][]string{nil, {"--set", "metrics.small_bin=10"}, {"--set", "ln.metrics.small_bin=5"}, {"--set", "net.hidden=256", "--set", "net.dropout=0.3"}} {
		key := keys(set...)
		if key == "" || seen[key] {
			t.Errorf("%v is the cell %q, which others are too", set, key)
		}
		seen[key] = true
	}
}

// TestStudyTimeJSON has seconds and epochs as numbers.
func TestStudyTimeJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cifar10-resnet.npz")
	if err := disk.WriteNPZ(path, features(200)...); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := calibra(t, append([]string{"study", "time", "--data", path, "--seeds", "1-2", "--json", "--out", filepath.Join(t.TempDir(), "out")}, small...)...)
	var printed struct{ Results []map[string]any }
	if err := json.Unmarshal([]byte(stdout), &printed); code != 0 || err != nil || len(printed.Results) != 1 {
		t.Fatalf("exits %d, %v: %s", code, err, stderr)
	}
	for _, key := range []string{"divide_seconds_per_epoch", "divide_seconds_per_epoch_sd", "calibrate_epochs", "fit_seconds", "prediction_seconds"} {
		if v, number := printed.Results[0][key].(float64); !number || v < 0 {
			t.Errorf("%s is %v", key, printed.Results[0][key])
		}
	}
}
