package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tensorboarded is what testdata/board.py reads of a folder.
type tensorboarded struct {
	Scalars  map[string]map[string][][2]float64 // of each run and tag: step, value
	Settings map[string]map[string]any
	Metrics  map[string]map[string]float64
}

func readBoard(t *testing.T, dir string) (b tensorboarded) {
	t.Helper()
	python := os.Getenv("CALIBRA_PYTHON")
	if err := exec.Command(python, "-c", "import tensorboard").Run(); python == "" || err != nil {
		t.Skip("events are read by TensorBoard: set CALIBRA_PYTHON to a Python that has it")
	}
	var stderr bytes.Buffer
	cmd := exec.Command(python, "testdata/board.py", dir)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &b)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	return b
}

// TestTensorboard: TensorBoard's own readers find every number of curves.csv and metrics.json, in single precision,
// every setting of config.json, and nothing more of them; the same seed writes the same scalars; and of a file that a
// kill cut off all that was whole.
func TestTensorboard(t *testing.T) {
	in, dir := write(t, features(300)), t.TempDir()
	board := filepath.Join(dir, "board")
	few := append([]string{"--set", "optim.epochs=3"}, small...)
	for name, args := range map[string][]string{
		"vq": append([]string{"--method", "vq", "--split", "paper"}, few...), "again": append([]string{"--method", "vq", "--split", "paper"}, few...),
		"probed": append([]string{"--method", "vq", "--split", "none"}, few...), "ts": {"--method", "ts"}, "sm": {"--method", "sm"},
	} {
		if code, _, stderr := calibra(t, append([]string{"fit", "--in", in, "--out", filepath.Join(dir, name), "--tensorboard", board}, args...)...); code != 0 {
			t.Fatalf("%s exits %d: %s", name, code, stderr)
		}
	}
	const file = "events.out.tfevents.calibra"
	whole, err := os.ReadFile(filepath.Join(board, "vq", file))
	if err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(board, "killed")
	if err := os.MkdirAll(killed, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(killed, file), whole[:450], 0o666); err != nil { // amid the epochs of divide
		t.Fatal(err)
	}
	b := readBoard(t, board)
	for _, name := range []string{"vq", "probed", "ts", "sm"} {
		got := b.Scalars[name]
		for tag, points := range curvesOf(t, filepath.Join(dir, name)) {
			if !slices.Equal(got[tag], points) {
				t.Errorf("%s: %s is %v, want %v", name, tag, got[tag], points)
			}
		}
		var config struct{ Settings map[string]any }
		readJSONFile(t, filepath.Join(dir, name, "config.json"), &config)
		for key, value := range config.Settings {
			if b.Settings[name][key] != value {
				t.Errorf("%s: %s is %v, want %v", name, key, b.Settings[name][key], value)
			}
		}
		if b.Settings[name]["data"] != filepath.Base(in) || len(b.Settings[name]) != len(config.Settings)+4 { // method, data, split, seed
			t.Errorf("%s: the settings are %v", name, b.Settings[name])
		}
		var said struct {
			Metrics map[string]float64
			Own     map[string]float64 `json:"own_embedding"`
		}
		readJSONFile(t, filepath.Join(dir, name, "metrics.json"), &said)
		for prefix, values := range map[string]map[string]float64{"metrics/": said.Metrics, "metrics/own_embedding/": said.Own} {
			for key, value := range values {
				tag := prefix + key
				if tag == "metrics/nll" || tag == "metrics/lce" {
					tag = strings.ToUpper(key)
				}
				if got, there := b.Metrics[name][tag]; !there || got != single(value) {
					t.Errorf("%s: %s is %v, want %v", name, key, got, value)
				}
			}
		}
	}
	for _, tag := range []string{"divide/gradient_norm", "divide/learning_rate", "divide/codebook_perplexity", "calibrate/gradient_norm", "metrics/codebook_perplexity"} {
		points := b.Scalars["vq"][tag]
		if len(points) == 0 || !(points[0][1] > 0) {
			t.Errorf("%s is %v", tag, points)
		}
	}
	if one, other := tagsOf(b.Scalars["vq"]), tagsOf(b.Scalars["again"]); one != other {
		t.Errorf("of the same seed\n%s\nand\n%s", one, other)
	}
	if n := len(b.Scalars["killed"]["divide/loss"]); n == 0 || n >= len(b.Scalars["vq"]["divide/loss"]) || b.Settings["killed"] != nil {
		t.Errorf("of a file that was cut off there are %d epochs, of %d", n, len(b.Scalars["vq"]["divide/loss"]))
	}
}

// TestTensorboardOfCells: each cell of a comparison has a run, and a classifier's training has one.
func TestTensorboardOfCells(t *testing.T) {
	in, dir := write(t, features(300)), t.TempDir()
	board := filepath.Join(dir, "board")
	for _, args := range [][]string{
		append([]string{"compare", "--in", in, "--methods", "ts,vq", "--seeds", "1,2", "--set", "vq.optim.epochs=2", "--out", filepath.Join(dir, "compare"), "--tensorboard", board}, small...),
		{"pretrain", "--data", "digits", "--encoder", "mlp", "--network", `{"hidden":[8]}`, "--epochs", "2", "--out", filepath.Join(dir, "encoder"), "--tensorboard", board},
	} {
		if code, _, stderr := calibra(t, args...); code != 0 {
			t.Fatalf("%v exits %d: %s", args, code, stderr)
		}
	}
	b := readBoard(t, board)
	if len(b.Settings) != 5 {
		t.Errorf("the runs are %v", b.Settings)
	}
	for name, settings := range b.Settings {
		got := b.Scalars[name]
		switch {
		case name == "encoder":
			if len(got["train/validation_loss"]) != 2 || len(got["train/gradient_norm"]) != 2 || settings["encoder"] != "mlp" || !(b.Metrics[name]["metrics/test_nll"] > 0) {
				t.Errorf("%s: %v", name, got)
			}
		case settings["method"] == "vq":
			if len(got["calibrate/loss"]) != 2 || len(got["divide/codebook_perplexity"]) != 2 {
				t.Errorf("%s: %v", name, got)
			}
		}
		if name != "encoder" && !(b.Metrics[name]["NLL"] > 0 && b.Metrics[name]["LCE"] > 0) {
			t.Errorf("%s: %v", name, b.Metrics[name])
		}
	}
}

// single is a number as TensorBoard keeps scalars.
func single(x float64) float64 { return float64(float32(x)) }

// curvesOf are the losses of a run's curves.csv by their tags.
func curvesOf(t *testing.T, dir string) map[string][][2]float64 {
	t.Helper()
	curves := map[string][][2]float64{}
	path := filepath.Join(dir, "curves.csv")
	if _, err := os.Stat(path); err != nil {
		return curves // no stage runs in epochs
	}
	for _, line := range csvLines(t, path)[1:] {
		epoch, err := strconv.ParseFloat(line[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		for at, name := range map[int]string{2: "/loss", 3: "/validation_loss"} {
			if x, err := strconv.ParseFloat(line[at], 64); err == nil {
				tag := line[0] + name
				curves[tag] = append(curves[tag], [2]float64{epoch, single(x)})
			}
		}
	}
	return curves
}

// tagsOf are scalars in words.
func tagsOf(scalars map[string][][2]float64) string {
	text, _ := json.Marshal(scalars)
	return string(text)
}

func readJSONFile(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
