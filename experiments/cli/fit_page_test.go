package cli

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A fit leaves a page with its verdict and figures that say what they show, and how its losses went.
func TestFitPage(t *testing.T) {
	in, out := write(t, features(300)), filepath.Join(t.TempDir(), "run")
	if code, _, stderr := calibra(t, append([]string{"fit", "--method", "vq", "--in", in, "--out", out}, small...)...); code != 0 {
		t.Fatal(stderr)
	}
	text, err := os.ReadFile(filepath.Join(out, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	page, _, _ := strings.Cut(string(text), "<script>")
	for _, part := range []string{
		`class="verdict"`, "calibra apply", `aria-label="How often the top class is right`, `confusions of vq: rows of a class`,
		`aria-label="The loss of each stage`, `href="curves.csv"`, "codebook.slots",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("the page has no %s", part)
		}
	}
	if at := strings.Index(page, "NaN"); at >= 0 {
		t.Errorf("the page has a NaN: …%s", page[max(0, at-80):at+3])
	}
	lines := csvLines(t, filepath.Join(out, "curves.csv"))
	if strings.Join(lines[0], ",") != "stage,epoch,loss,validation_loss,kept" {
		t.Fatal(lines[0])
	}
	kept, least, best := map[string]int{}, map[string]float64{}, map[string]string{}
	for _, line := range lines[1:] {
		loss, err := strconv.ParseFloat(line[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := least[line[0]]; !ok || loss < before {
			least[line[0]], best[line[0]] = loss, line[1]
		}
		if line[4] == "1" {
			kept[line[0]]++
		}
	}
	if len(kept) != 2 || kept["divide"] != 1 || kept["calibrate"] != 1 {
		t.Errorf("of each stage one epoch is kept, not %v", kept)
	}
	for _, line := range lines[1:] {
		if line[4] == "1" && best[line[0]] != line[1] {
			t.Errorf("%s keeps epoch %s, and %s has the least validation loss", line[0], line[1], best[line[0]])
		}
	}
}

// Test rows that the model was fitted to are told by fit, in metrics.json, and by evaluate.
func TestRepeatedRowsAreTold(t *testing.T) {
	arrays := features(100)
	for i := range 3 {
		arrays[3+i].Value = arrays[i].Value
	}
	in, out := write(t, arrays), filepath.Join(t.TempDir(), "run")
	code, _, stderr := calibra(t, "fit", "--in", in, "--method", "ts", "--out", out)
	if code != 0 || !strings.Contains(stderr, "100 of the 100 test rows are calibration rows too") {
		t.Errorf("fit exits %d: %s", code, stderr)
	}
	if _, _, stderr := calibra(t, "evaluate", "--in", filepath.Join(out, "predictions.npz"), "--replicates", "0", "--redraws", "0"); !strings.Contains(stderr, "100 of the 100 test rows") {
		t.Errorf("evaluate says nothing of them: %s", stderr)
	}
}

// csvLines are the lines of a csv file, the head among them.
func csvLines(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return lines
}
