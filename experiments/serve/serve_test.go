package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/study"

	"gonum.org/v1/gonum/mat"
)

// folder is a folder of runs in the making.
type folder struct {
	*testing.T
	dir string
}

func newFolder(t *testing.T) folder { return folder{t, filepath.Join(t.TempDir(), "runs")} }

func (f folder) write(name, text string) {
	f.Helper()
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		f.Fatal(err)
	}
}

// fit writes what calibra fit leaves of rows whose probability of the first of two classes is p.
func (f folder) fit(name, method, digest string, p float64) {
	f.Helper()
	const rows = 200
	labels, probs := make([]int, rows), mat.NewDense(rows, 2, nil)
	for i := range rows {
		probs.SetRow(i, []float64{p, 1 - p})
		if i%4 == 0 {
			labels[i] = 1
		}
	}
	config, _ := json.Marshal(map[string]any{"method": method, "data": "rows.npz", "seed": 3, "test_rows": rows, "test_digest": digest})
	f.write(name+"/config.json", string(config))
	f.write(name+"/metrics.json", fmt.Sprintf(`{"metrics": {"nll": %v, "accuracy": 0.75}}`, -.75*math.Log(p)-.25*math.Log(1-p)))
	f.write(name+"/manifest.json", `{"format": "calibra folder 1", "groups": {"fit": {"config.json": "", "metrics.json": "", "predictions.npz": ""}}}`)
	if err := disk.WriteNPZ(filepath.Join(f.dir, name, "predictions.npz"), data.Array{Name: "probs", Value: probs}, data.Array{Name: "labels", Value: labels}); err != nil {
		f.Fatal(err)
	}
}

func (f folder) server() *Server {
	f.Helper()
	s, err := New(f.dir, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	return s
}

// get asks for an address below the root under the host's own name.
func (f folder) get(s *Server, address string) (code int, body string) {
	f.Helper()
	r := httptest.NewRequest("GET", "http://127.0.0.1:8321"+address, nil)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// TestRefusesOthers: requests that name this machine as it does not call itself are refused, be it by an
// address of its network or by a name that was made to lead here; so are other addresses to listen at.
func TestRefusesOthers(t *testing.T) {
	f := newFolder(t)
	f.fit("a", "ts", "x", .7)
	h := f.server().Handler()
	for host, want := range map[string]int{
		"127.0.0.1:8321": 200, "localhost:8321": 200, "LOCALHOST": 200, "[::1]:8321": 200, "[::1]": 200, "127.8.9.1:1": 200,
		"evil.example": 403, "evil.example:8321": 403, "127.0.0.1.evil.example:8321": 403, "localhost.evil.example": 403,
		"0.0.0.0:8321": 403, "[::]:8321": 403, "192.168.1.7:8321": 403, "": 403, "2130706433": 403, "[::ffff:192.168.1.7]:8321": 403,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want || want != 200 && strings.Contains(w.Body.String(), "rows.npz") {
			t.Errorf("host %q: %d: %.100s", host, w.Code, w.Body)
		}
		if p := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'none'") || strings.Contains(p, "script-src 'unsafe") {
			t.Errorf("host %q: policy %q", host, p)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "http://localhost/", strings.NewReader("x")))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s is answered by %d", method, w.Code)
		}
	}
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:80", "example.com:80", "127.0.0.1", "127.0.0.1:99999", "localhost.example:0"} {
		l, err := Listen(address)
		if err == nil {
			l.Close()
			t.Errorf("it listens at %s", address)
		} else if input := new(data.InputError); !asInput(err, &input) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func asInput(err error, to **data.InputError) bool {
	e, ok := err.(*data.InputError)
	*to = e
	return ok
}

// TestOpensNothingElse: no path leads out of the folder, to what is no file or to what is no page.
func TestOpensNothingElse(t *testing.T) {
	f := newFolder(t)
	f.fit("a", "ts", "x", .7)
	f.write("a/report.html", "<p>the report</p>")
	f.write("../secret.html", "secret")
	f.write("../elsewhere/config.json", `{"method": "secret", "test_rows": 5}`)
	for name, to := range map[string]string{"a/out.html": "../../secret.html", "a/in.html": "report.html", "linked": "../elsewhere"} {
		if err := os.Symlink(to, filepath.Join(f.dir, name)); err != nil {
			t.Skip("no links here")
		}
	}
	s := f.server()
	for address, want := range map[string]int{
		"/files/a/report.html": 200, "/files/a/in.html": 200, "/files/a/config.json": 200,
		"/files/a/out.html": 404, "/files/linked/config.json": 404, "/files/a/predictions.npz": 404, "/files/a": 404, "/files/a.html": 404,
		"/files/%2e%2e/secret.html": 404, "/files/a/%2e%2e/%2e%2e/secret.html": 404, "/files//etc/passwd.html": 404, "/files/a%00.html": 404,
		"/beside?run=../elsewhere": 404, "/beside?run=linked": 404, "/beside?run=": 404, "/beside": 404, "/beside?run=%00": 404, "/study?run=..": 404,
		"/study?run=a": 404, "/study": 404, "/nowhere": 404,
		"/beside?" + strings.Repeat("run=a&", mostBeside+1): 404,
	} {
		code, body := f.get(s, address)
		if code == http.StatusMovedPermanently || code == http.StatusTemporaryRedirect { // the mux cleans paths
			code = 404
		}
		if code != want || strings.Contains(body, "secret") && !strings.Contains(address, "secret") {
			t.Errorf("%s: %d: %.200s", address, code, body)
		}
	}
}

// TestHostileNames: what names say is shown and not obeyed, in lists, side by side and in addresses.
func TestHostileNames(t *testing.T) {
	f := newFolder(t)
	const evil = `<script>alert(1)<`
	name, other := evil+`"'&`, "b\x1b[31m\u202egnp.exe"
	f.fit(name, `<img src=x onerror=alert(2)>`, "x", .7)
	f.fit(other, "ts", "x", .6)
	f.write("d/diagnosis.json", `{"verdict": "</script><script>alert(3)</script>"}`)
	f.write("d/diagnosis.html", "")
	f.write("d/manifest.json", `{"groups": {"diagnose": {"diagnosis.json": "", "diagnosis.html": ""}, "<b>x</b>": {"../../../etc/passwd.html": ""}}}`)
	f.write("study/cells/0123456789abcdef0123.json", `{"spec": {"method": "<i>m</i>", "data": "<u>d</u>"}, "metrics": {"nll": 1}, "test_rows": 1}`)
	f.write("study/cells/x.grid", `{"cells": [{"key": "0123456789abcdef0124", "name": "<u>d</u> <i>n</i> seed 1", "data": "<u>d</u>"}, {"key": "../../a", "name": "z"}]}`)
	s := f.server()
	for _, address := range []string{"/", "/study?run=study", "/beside?" + query(name, other), "/beside?" + query(name), "/beside?run=" + url.QueryEscape(`<script>alert(4)</script>`)} {
		code, body := f.get(s, address)
		if code != 200 && !strings.Contains(address, "alert%284") {
			t.Errorf("%s: %d: %s", address, code, body)
		}
		body = regexp.MustCompile(`value="[^"]*"`).ReplaceAllString(body, "") // what is sent back, as it is
		for _, wrong := range []string{evil, "<img", "<script>alert", "<b>x", "<i>", "<u>", "\x1b", "\u202e", "passwd"} {
			if strings.Contains(body, wrong) {
				at := strings.Index(body, wrong)
				t.Errorf("%s has %q: %s", address, wrong, body[max(0, at-60):min(len(body), at+60)])
			}
		}
	}
	if _, body := f.get(s, "/"); !strings.Contains(body, "&lt;script&gt;alert(1)&lt;&#34;") || !strings.Contains(body, `b\u001b[31m\u202egnp.exe`) {
		t.Errorf("the names are not in the list: %s", body[strings.Index(body, "<table"):])
	}
}

// TestBeside: runs on the same rows are weighed, others are said to differ.
func TestBeside(t *testing.T) {
	f := newFolder(t)
	f.fit("good", "ts", "x", .75)
	f.fit("bad", "vq", "x", .97)
	f.fit("as-it-is", "nc", "x", .9)
	f.fit("elsewhere", "ts", "y", .75)
	f.fit("earlier", "ts", "", .75)
	s := f.server()
	code, body := f.get(s, "/beside?"+query("bad", "good", "as-it-is"))
	// −¾ log p − ¼ log (1 − p) at .75 and .9
	for _, want := range []string{"good is best: NLL .6547 → .5623", "Harm: bad", "<svg", "200 test rows of rows.npz"} {
		if code != 200 || !strings.Contains(body, want) {
			t.Errorf("%d, without %q: %s", code, want, body[strings.Index(body, "<body"):])
		}
	}
	for _, other := range []string{"elsewhere", "earlier"} {
		_, body := f.get(s, "/beside?"+query("good", other))
		if !strings.Contains(body, "Different rows") || strings.Contains(body, "is best") || strings.Contains(body, `class="winner"`) {
			t.Errorf("good and %s: %s", other, body[strings.Index(body, "<body"):])
		}
	}
	if _, body := f.get(s, "/"); !strings.Contains(body, "Of 3 runs on the same 200 rows (rows.npz) ts in good is best: NLL 0.5623") {
		t.Errorf("the list does not say what is best: %s", body[strings.Index(body, "<body"):])
	}
	if err := os.Remove(filepath.Join(f.dir, "bad", "predictions.npz")); err != nil {
		t.Fatal(err)
	}
	if code, body := f.get(s, "/beside?"+query("bad", "good")); code != 404 || !strings.Contains(body, "bad has no predictions") {
		t.Errorf("%d: %s", code, body[strings.Index(body, "<body"):])
	}
}

// cellFile writes a cell of a study that was computed at a time.
func (f folder) cellFile(dir, key, method string, seed int, nll float64, at time.Time) {
	f.Helper()
	name := dir + "/" + key + ".json"
	f.write(name, fmt.Sprintf(`{"spec": {"method": %q, "data": "some data", "seed": %d}, "metrics": {"nll": %v, "accuracy": 0.5}, "test_rows": 2, "test_digest": "z", "losses": [%v, %v], "misses": [1]}`, method, seed, nll, nll, nll))
	if err := os.Chtimes(filepath.Join(f.dir, filepath.FromSlash(name)), at, at); err != nil {
		f.Fatal(err)
	}
}

// TestFollows: a study's page says how many of its cells are there, counts those that are to be computed again as
// open, and has what came since when it is asked again.
func TestFollows(t *testing.T) {
	f := newFolder(t)
	key := func(k int) string { return fmt.Sprintf("%06x%014x", k, k) }
	begun := time.Now().Add(-time.Minute).Truncate(time.Second)
	grid := study.Grid{}
	for k := range 4 {
		grid.Cells = append(grid.Cells, study.Wanted{Key: key(k), Data: "some data", Name: fmt.Sprintf("some data %s seed %d", []string{"ts", "vq"}[k/2], k%2), Cost: 10, Done: k == 0})
	}
	text, _ := json.Marshal(grid)
	f.write("s/cells/x.grid", string(text))
	if err := os.Chtimes(filepath.Join(f.dir, "s/cells/x.grid"), begun, begun); err != nil {
		t.Fatal(err)
	}
	f.cellFile("s/cells", key(0), "ts", 0, .5, begun.Add(-time.Hour))
	f.cellFile("s/cells", key(1), "ts", 1, .25, begun.Add(-time.Hour)) // stale: it is asked for again
	s := f.server()
	says := func(want ...string) {
		t.Helper()
		for _, w := range want {
			if code, body := f.get(s, "/study?run=s"); code != 200 || !strings.Contains(body, w) {
				t.Errorf("%d, without %q: %s", code, w, body[strings.Index(body, "<body"):])
			}
		}
	}
	says("1 of 4 cells", `data-running="true"`, "So far ts is best on some data: NLL 0.5000", "1 of 2")
	f.cellFile("s/cells", key(1), "ts", 1, .75, begun.Add(10*time.Second))
	// 2 are left of 10 s each, and one took 10 s
	says("2 of 4 cells", "about 20s left", "NLL 0.6250")
	f.cellFile("s/cells", key(2), "vq", 0, .125, begun.Add(20*time.Second))
	f.cellFile("s/cells", key(3), "vq", 1, .375, begun.Add(30*time.Second))
	says("All 4 cells", `data-running="false"`, "So far vq is best on some data: NLL 0.2500")
	if _, body := f.get(s, "/"); !strings.Contains(body, "4 of 4 cells") {
		t.Error("the list does not count cells")
	}
	if code, body := f.get(s, "/beside?"+query("s/cells/"+key(0), "s/cells/"+key(2))); code != 200 || !strings.Contains(body, "vq seed 0 (000002) is best: NLL .1250") {
		t.Errorf("cells side by side: %d %s", code, body[strings.Index(body, "<body"):])
	}
}

// TestFollowsTruth: cells of a study that tests no method are counted by the names that its grid gives them.
func TestFollowsTruth(t *testing.T) {
	f := newFolder(t)
	f.write("s/cells/x.grid", `{"cells": [{"key": "a-seed-1", "data": "a", "name": "a 500 rows seed 1", "seconds": 1}, {"key": "b", "data": "b", "name": "b", "seconds": 1}]}`)
	f.write("s/cells/unasked.json", "{}")
	f.write("s/cells/b.json", "{")
	s := f.server()
	for _, c := range []struct{ add, says, best string }{{"", "0 of 2 cells", "No cell is computed yet"}, {"a-seed-1", "1 of 2 cells", "These cells test no method"}, {"b", "All 2 cells", "These cells test no method"}} {
		if c.add != "" {
			f.write("s/cells/"+c.add+".json", "{}")
		}
		code, body := f.get(s, "/study?run=s")
		if code != 200 || !strings.Contains(body, c.says) || !strings.Contains(body, c.best) || strings.Contains(body, "unasked") {
			t.Errorf("with %q: %d, without %q: %s", c.add, code, c.says, body[strings.Index(body, "<body"):])
		}
	}
}

// TestDamage: files that are none, too large or not to be read are left out, and nothing panics.
func TestDamage(t *testing.T) {
	f := newFolder(t)
	f.fit("good", "ts", "x", .75)
	for name, text := range map[string]string{
		"a/manifest.json": "{", "b/manifest.json": `{"groups": null}`, "b/config.json": "[]", "c/manifest.json": `{"groups": {"fit": {"config.json": ""}}}`, "c/config.json": `{"method": 3}`,
		"d/manifest.json": `{"groups": {"fit": {}}}`, "d/config.json": strings.Repeat(" ", 17<<20), "e/cells/0123456789abcdef0123.json": "{", "e/cells/y.grid": "[",
		"g/cells/0123456789abcdef0123.json": `{"spec": {"method": "ts"}, "metrics": {"nll": null}}`, "h/report.html": "\xff\x00",
	} {
		f.write(name, text)
	}
	s := f.server()
	for _, address := range []string{"/", "/study?run=e", "/study?run=g", "/study?run=e/cells", "/beside?run=c", "/beside?run=d", "/beside?run=g/cells/0123456789abcdef0123"} {
		if code, body := f.get(s, address); code != 200 && code != 404 || strings.Contains(body, "panic") {
			t.Errorf("%s: %d %s", address, code, body[strings.Index(body, "<body"):])
		}
	}
	if _, body := f.get(s, "/"); !strings.Contains(body, ">good<") {
		t.Error("the run that is whole is not listed")
	}
	f.write("t/manifest.json", `{"groups": {"theory": {"results.csv": ""}}}`)
	f.write("t/results.csv", "quantity,verdict\na,pass\nb,FAIL\nc,\n")
	if _, body := f.get(s, "/"); !strings.Contains(body, "1 of 2 bands hold") {
		t.Error("the list does not say how many bands hold")
	}
}

// TestEnds: the server ends with its context, and answers until then.
func TestEnds(t *testing.T) {
	f := newFolder(t)
	f.fit("a", "ts", "x", .7)
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.server().Serve(ctx, l) }()
	r, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil || !bytes.Contains(text, []byte("rows.npz")) {
		t.Errorf("%v: %s", err, text)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		c.Close()
		t.Error("it listens still")
	}
}
