package cli

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"calibra/experiments/serve"
)

// TestServeEndsByCtrlC: the command prints its address, answers there, and Ctrl-C ends it with code 0.
func TestServeEndsByCtrlC(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "serve", "--runs", t.TempDir(), "--listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), asCommand+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, found := strings.Cut(line, "http://")
	address, _, _ = strings.Cut(address, "/ ")
	if err != nil || !found {
		t.Fatalf("it prints %q: %v", line, err)
	}
	r, err := http.Get("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(r.Body)
	r.Body.Close()
	if r.StatusCode != http.StatusOK || !strings.Contains(string(text), "There is no run in this folder yet") {
		t.Errorf("%d: %s", r.StatusCode, text)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Skip("no Ctrl-C can be sent here")
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C it ends with %v", err)
	}
}

// TestServeRefuses: what is wrong with its flags is said in a sentence.
func TestServeRefuses(t *testing.T) {
	dir := t.TempDir()
	for want, args := range map[string][]string{
		"others could reach": {"--runs", dir, "--listen", "0.0.0.0:0"},
		"such as 127.0.0.1":  {"--runs", dir, "--listen", "8321"},
		"name a folder":      {"--runs", filepath.Join(dir, "nowhere"), "--listen", "127.0.0.1:0"},
	} {
		code, stdout, stderr := calibra(t, append([]string{"serve"}, args...)...)
		if code != exitUsage || !strings.Contains(stderr, want) || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v exits %d: %s%s", args, code, stdout, stderr)
		}
	}
}

// served is a folder of runs as serve shows it, to a browser that does something on each page: a script is added
// to the pages and to their policy, and all else is as it is. Before an answer to /study meanwhile is called, with
// how often that was asked for.
func served(t *testing.T, dir, script string, meanwhile func(asked int)) *httptest.Server {
	t.Helper()
	s, err := serve.New(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(script))
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/study" && meanwhile != nil {
			meanwhile(int(asked.Add(1)))
		}
		got := httptest.NewRecorder()
		s.Handler().ServeHTTP(got, r)
		for key, values := range got.Header() {
			w.Header()[key] = values
		}
		if strings.HasPrefix(got.Header().Get("Content-Type"), "text/html") {
			w.Header().Set("Content-Security-Policy", got.Header().Get("Content-Security-Policy")+" 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
			w.Header().Del("Content-Length")
			fmt.Fprintf(got.Body, "<script>%s</script>", script)
		}
		w.WriteHeader(got.Code)
		_, _ = io.Copy(w, got.Body)
	}))
	t.Cleanup(func() { server.Close(); s.Close() })
	return server
}

// TestServeInBrowser uses the pages of serve as a reader does: the list sorts and filters, runs on the same rows
// come side by side, a diagnosis links map and table, and no script errs or is refused.
func TestServeInBrowser(t *testing.T) {
	in, dir := write(t, features(300)), t.TempDir()
	small := []string{"--slots", "4", "--codewords", "8"}
	hostile := "<script>document.title='obeyed'<"
	for _, args := range [][]string{
		{"fit", "--in", in, "--method", "ts", "--out", filepath.Join(dir, "ts")},
		{"fit", "--in", in, "--method", "nc", "--out", filepath.Join(dir, hostile)},
		append([]string{"fit", "--in", in, "--method", "vq", "--split", "none", "--out", filepath.Join(dir, "vq")}, small...),
		{"fit", "--in", write(t, features(310)), "--method", "ts", "--out", filepath.Join(dir, "other")},
		{"diagnose", "--in", filepath.Join(dir, "ts", "predictions.npz"), "--rows", "20", "--redraws", "99", "--out", filepath.Join(dir, "ts", "diagnosis")},
		{"study", "main", "--data", in, "--methods", "nc,ts", "--seeds", "1,2", "--out", filepath.Join(dir, "study")},
	} {
		if code, _, stderr := calibra(t, args...); code != 0 {
			t.Fatalf("%v exits %d: %s", args, code, stderr)
		}
	}
	server := served(t, dir, useServed, nil)
	for address, want := range map[string]string{
		"/":                                  "list",
		"/beside?run=ts&run=vq":              "beside",
		"/beside?run=ts&run=other":           "different",
		"/study?run=study":                   "study",
		"/files/ts/diagnosis/diagnosis.html": "diagnosis",
		"/files/study/report.html":           "report",
	} {
		dom, console := browse(t, server.URL+address+"#"+want, desktop)
		if len(console) > 0 {
			t.Errorf("%s: on the console: %s", address, strings.Join(console, "\n"))
		}
		_, said, found := strings.Cut(dom, `<pre id="said">`)
		said, _, _ = strings.Cut(said, "</pre>")
		if !found || said != "" {
			t.Errorf("%s: %s", address, said)
		}
		if strings.Contains(dom, "<title>obeyed") {
			t.Errorf("%s obeys the name of a folder", address)
		}
	}
}

// useServed is what a reader does on each page, whose name is in its address, and what must come of it.
const useServed = `
(async () => {
  const wrong = [], check = (ok, what) => { if (!ok) wrong.push(what); };
  const one = s => document.querySelector(s), all = s => [...document.querySelectorAll(s)];
  const seen = () => all("#runs tbody tr").filter(row => row.getClientRects().length > 0);
  const pages = {
    list() {
      check(seen().length === 6, "runs: " + seen().map(r => r.cells[0].textContent));
      const filter = one("#filter");
      const type = text => { filter.value = text; filter.dispatchEvent(new Event("input")); };
      type("FIT ts");
      check(seen().length === 2 && one("#shown").textContent === "2 of 6 shown", "filtered: " + seen().length + ", " + one("#shown").textContent);
      type("script");
      check(seen().length === 1 && seen()[0].textContent.includes("<script>document"), "hostile: " + seen().length);
      type("");
      check(seen().length === 6, "not filtered: " + seen().length);
      const heads = [...one("#runs thead tr").cells], nll = heads.findIndex(h => h.textContent.startsWith("NLL"));
      const column = () => seen().map(r => parseFloat(r.cells[nll].textContent)).filter(x => !isNaN(x));
      heads[nll].querySelector("button").click();
      const up = column();
      check(up.length === 4 && up.every((x, i) => !i || x >= up[i - 1]) && heads[nll].ariaSort === "ascending", "up: " + up);
      check(isNaN(parseFloat(seen().at(-1).cells[nll].textContent)), "dashes are not the last");
      heads[nll].querySelector("button").click();
      check(column().every((x, i, v) => !i || x <= v[i - 1]), "down: " + column());
      check(one(".verdict").textContent.includes("on the same 300 rows"), "verdict: " + one(".verdict").textContent);
      for (const box of all('input[name="run"]')) box.checked = ["ts", "vq"].includes(box.value);
      check(new URLSearchParams(new FormData(one("form"))).toString().split("&").sort().join() === "run=ts,run=vq", "chosen: " + new URLSearchParams(new FormData(one("form"))));
    },
    beside() {
      check(/is best|Nothing improves/.test(one(".verdict").textContent), "verdict: " + one(".verdict").textContent);
      check(all("tbody tr").length === 2 && all("tr.winner").length === 1, "rows: " + all("tbody tr").length);
      check(all("figure .broad svg").length === 1, "no figure of differences");
    },
    different() {
      check(one(".verdict").textContent.includes("Different rows") && all("figure").length === 0, "verdict: " + one(".verdict").textContent);
    },
    study() {
      check(one("#live").textContent.includes("All 4 cells") && one("progress").value === 4, "progress: " + one("#live").textContent);
      check(all("#runs tbody tr").length === 4, "cells: " + all("#runs tbody tr").length);
      check(all("figure").length === 1 && one("figure svg"), "no figure");
    },
    diagnosis() {
      const table = one('table[aria-label="Regions of the latent space"]'), row = table.tBodies[0].rows[0];
      row.querySelector("th button").click();
      check(row.classList.contains("chosen") && one("#place h3").textContent.startsWith("Region 1"), "a row chooses no region: " + one("#place").textContent);
      const place = one(".map .place");
      place.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      check(!row.classList.contains("chosen") && place.classList.contains("chosen") && one("#place h3").textContent.startsWith("Place"), "the map does not choose");
    },
    report() {
      check(all("table thead button").length > 0 && !one("#toggles").hidden, "the report's script did not run");
    },
  };
  await new Promise(ready => document.addEventListener("DOMContentLoaded", ready));
  try { await pages[location.hash.slice(1)](); } catch (e) { wrong.push(e.stack); }
  const said = document.createElement("pre");
  said.id = "said";
  said.textContent = wrong.join("; ");
  document.body.append(said);
})();
`

// TestServeFollowsAStudy: the page of a study that runs tells of new cells without being asked again, and says so
// when all are there.
func TestServeFollowsAStudy(t *testing.T) {
	in, dir := write(t, features(300)), t.TempDir()
	out := filepath.Join(dir, "study")
	if code, _, stderr := calibra(t, "study", "main", "--data", in, "--methods", "nc,ts", "--seeds", "1,2", "--out", out); code != 0 {
		t.Fatal(stderr)
	}
	cells, _ := filepath.Glob(filepath.Join(out, "cells", "*.json"))
	if len(cells) != 4 {
		t.Fatalf("%d cells", len(cells))
	}
	aside := t.TempDir()
	for _, path := range cells[1:] { // as if they were computed later
		if err := os.Rename(path, filepath.Join(aside, filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
	}
	server := served(t, dir, `
const tell = () => { sessionStorage.said = (sessionStorage.said ?? "") + document.querySelector("#live p").textContent.slice(0, 14) + ";"; };
tell();
new MutationObserver(tell).observe(document.body, { childList: true, subtree: true });
const said = document.createElement("pre");
said.id = "said";
said.textContent = sessionStorage.said;
if (document.querySelector("#live").dataset.running === "false") document.body.append(said);
`, func(asked int) {
		if asked > 1 && asked <= len(cells) {
			name := filepath.Base(cells[asked-1])
			if err := os.Rename(filepath.Join(aside, name), filepath.Join(out, "cells", name)); err != nil {
				t.Error(err)
			}
		}
	})
	dom, console := browse(t, server.URL+"/study?run=study", window{width: 800, height: 600, patience: 12000})
	if len(console) > 0 {
		t.Errorf("on the console: %s", strings.Join(console, "\n"))
	}
	_, said, _ := strings.Cut(dom, `<pre id="said">`)
	said, _, _ = strings.Cut(said, "</pre>")
	for _, want := range []string{"1 of 4 cells a", "2 of 4 cells a", "3 of 4 cells a", "All 4 cells ar"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q but %q", want, said)
		}
	}
}
