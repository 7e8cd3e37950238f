//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"calibra/data"
	"calibra/data/disk"
	"calibra/layers"
)

// killed is a command that is killed while it writes.
type killed struct {
	line  string // DIR is where its files lie; FITTED and OTHER are other methods from one run to the next
	wrote string // below DIR
	sound func(path string) error
}

var killedCommands = []killed{
	{"fit --in DIR/features.npz --method FITTED --out DIR/run", "run/config.json", oneRun},
	{"apply --model DIR/model --in DIR/features.npz --out DIR/applied.npz", "applied.npz", whole(data.ReadPredictions)},
	{"compare --in DIR/features.npz --methods nc,OTHER --seeds 42 --jobs 1 --out DIR/compared", "compared/metrics.json", held},
	{"study main --data DIR/features.npz --methods nc,ts --seeds 42 --jobs 1 --out DIR/study", "study/results.csv", held},
	{"evaluate --in DIR/model/predictions.npz --redraws 0 --replicates 0 --figures DIR/figures", "figures/reliability-top.svg", held},
	{`pretrain --data DIR/table.csv --encoder mlp --network {"hidden":[4]} --epochs 12 --out DIR/trained`, "trained/config.json", held},
	{"evaluate --in DIR/model/predictions.npz --redraws 0 --replicates 0 --html DIR/page.html", "page.html", wholePage},
	{"diagnose --in DIR/model/predictions.npz --features DIR/features.npz --redraws 20 --out DIR/diagnosis", "diagnosis/diagnosis.json", held},
	{"theory propositions --out DIR/theory", "theory/report.html", held},
	{"encode --model DIR/encoder --out DIR/encoded.npz", "encoded.npz", whole(data.Open)},
}

// held is an error if the folder of path holds files of two runs.
func held(path string) error {
	h, err := disk.Hold(path)
	if err == nil {
		h.Release()
	}
	return err
}

// oneRun is an error if the model, the metrics and the configuration beside path are of different methods.
func oneRun(path string) error {
	h, err := disk.Hold(path)
	if err != nil {
		return err
	}
	defer h.Release()
	methods := map[string]bool{}
	for _, name := range []string{"model.safetensors", "metrics.json", "config.json"} {
		at := h.Path(filepath.Join(filepath.Dir(path), name))
		var what struct{ Method string }
		if _, err := os.Stat(at); err != nil {
			continue
		} else if name == "model.safetensors" {
			m, err := layers.ReadModel(at)
			if err != nil {
				return err
			}
			what.Method = m.Method
		} else if text, err := os.ReadFile(at); err != nil {
			return err
		} else if err := json.Unmarshal(text, &what); err != nil {
			return err
		}
		methods[what.Method] = true
	}
	if len(methods) > 1 {
		return fmt.Errorf("%s holds files of %v", filepath.Dir(path), methods)
	}
	return nil
}

// whole is an error if the file at path is there and read cannot read it.
func whole[T any](read func(path string) (T, error)) func(path string) error {
	return func(path string) error {
		if _, err := os.Stat(path); err != nil {
			return nil
		}
		_, err := read(path)
		return err
	}
}

// wholePage is an error if the page at path is there and ends early.
func wholePage(path string) error {
	text, err := os.ReadFile(path)
	if err == nil && !strings.HasSuffix(strings.TrimSpace(string(text)), "</html>") {
		return fmt.Errorf("%s ends early", path)
	}
	return nil
}

// unfinished matches the names of files that are there only while a command writes.
var unfinished = regexp.MustCompile(`^\..+\.\d+@[^.]*\.\d+$|^\.calibra\.pending$`)

// TestKills: a command that is killed at any moment leaves its inputs as they were and the old
// result or the new one, never a mixture. The next run ends well and clears what was left. One command
// of each way to write, a folder, a file, a study's cells and a file in parts, is killed once, and each
// command 30 times with CALIBRA_CHECK=all. It takes more than 5 s, as each command runs three times.
func TestKills(t *testing.T) {
	kills := 1
	if os.Getenv("CALIBRA_CHECK") == "all" {
		kills = 30
	}
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(1, 0))
	in := filepath.Join(dir, "features.npz")
	if err := disk.WriteNPZ(in, features(120)...); err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	for range 200 {
		fmt.Fprintf(&table, "%.3f,%.3f,%.3f,%d\n", rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.IntN(3))
	}
	if err := os.WriteFile(filepath.Join(dir, "table.csv"), table.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	command := func(line string, i int) *exec.Cmd {
		fitted := []string{"ts", "vector", "nc", "histogram"}
		line = strings.NewReplacer("DIR", dir, "FITTED", fitted[i%4], "OTHER", fitted[i%2]).Replace(line)
		c := exec.Command(os.Args[0], strings.Fields(line)...)
		c.Env = append(os.Environ(), asCommand+"=1", "GOMAXPROCS=1", "CALIBRA_DEVICE=cpu")
		return c
	}
	ends := func(line string, i int) time.Duration {
		t.Helper()
		began := time.Now()
		if out, err := command(line, i).CombinedOutput(); err != nil {
			t.Fatalf("calibra %s: %v: %s", line, err, out)
		}
		return time.Since(began)
	}
	ends("fit --in DIR/features.npz --method ts --out DIR/model", 0)
	ends(`pretrain --data DIR/table.csv --encoder mlp --network {"hidden":[4]} --epochs 2 --out DIR/encoder`, 0)
	inputs := []string{"features.npz", "table.csv", "model", "encoder"}
	before := map[string]map[string]string{}
	for _, name := range inputs {
		before[name] = snapshot(t, filepath.Join(dir, name))
	}
	for _, v := range killedCommands {
		if kills == 1 && !slices.Contains([]string{"fit", "apply", "study", "encode"}, strings.Fields(v.line)[0]) {
			continue
		}
		takes := ends(v.line, 0)
		for i := range kills {
			moment := 1.05 * rng.Float64() // of the time that it takes, half of them near its end, where it writes
			if i%2 == 0 {
				moment = 0.7 + 0.35*rng.Float64()
			}
			c := command(v.line, i/3) // some go on with what a kill left, and some begin anew
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(moment * float64(takes)))
			_ = c.Process.Kill() // unless it has ended
			_ = c.Wait()
			if err := v.sound(filepath.Join(dir, v.wrote)); err != nil {
				t.Errorf("after a kill %.0f %% into calibra %s: %v", 100*moment, v.line, err)
			}
		}
		ends(v.line, 1)
		if err := v.sound(filepath.Join(dir, v.wrote)); err != nil {
			t.Errorf("after a whole calibra %s: %v", v.line, err)
		}
	}
	for _, name := range inputs {
		if after := snapshot(t, filepath.Join(dir, name)); !maps.Equal(after, before[name]) {
			t.Errorf("%s was changed", name)
		}
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && unfinished.MatchString(e.Name()) {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
