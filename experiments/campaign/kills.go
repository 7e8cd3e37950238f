package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"calibra/data"
	"calibra/data/disk"
	"calibra/layers"

	"github.com/sourcegraph/conc"
)

// victim is a command that is killed, and what is then to be said of what it wrote.
type victim struct {
	name string
	// line is what it is run with, what it writes at the end: DIR is where its files lie, FITTED, OTHER and WIDTH differ
	// from one variant to another.
	line  string
	left  string // of what it wrote, below DIR
	sound func(path string) error
}

// the files of a scene, which commands read.
const (
	features = "features.npz"
	model    = "model"
	encoder  = "encoder"
)

var fitted = []string{"ts", "vector", "nc", "histogram"}

var victims = []victim{
	{name: "fit", line: "fit --in DIR/features.npz --method FITTED --out DIR/run", left: "run", sound: oneRun},
	{name: "apply", line: "apply --model DIR/model --in DIR/features.npz --out DIR/applied.npz", left: "applied.npz", sound: whole(data.ReadPredictions)},
	{name: "compare", line: "compare --in DIR/features.npz --methods nc,OTHER --seeds 42 --jobs 1 --out DIR/compared", left: "compared/metrics.json", sound: held},
	{name: "study", line: "study main --data DIR/features.npz --methods nc,ts --seeds 42 --jobs 1 --out DIR/study", left: "study/results.csv", sound: held},
	{name: "evaluate", line: "evaluate --in DIR/model/predictions.npz --redraws 0 --replicates 0 --plots DIR/plots", left: "plots/reliability-top.svg", sound: held},
	{name: "pretrain", line: `pretrain --data DIR/table.csv --encoder mlp --network {"hidden":[WIDTH]} --epochs 12 --out DIR/trained`, left: "trained/config.json", sound: held},
	{name: "html", line: "evaluate --in DIR/model/predictions.npz --redraws 0 --replicates 0 --html DIR/page.html", left: "page.html", sound: wholePage},
	{name: "diagnose", line: "diagnose --in DIR/model/predictions.npz --features DIR/features.npz --redraws 20 --out DIR/diagnosis", left: "diagnosis/diagnosis.json", sound: held},
	{name: "theory", line: "theory propositions --out DIR/theory", left: "theory/report.html", sound: held},
	{name: "export", line: "export --model DIR/model --onnx DIR/model.onnx", left: "", sound: func(string) error { return nil }},
	{name: "encode", line: "encode --model DIR/encoder --batch 4 --out DIR/encoded.npz", left: "encoded.npz", sound: whole(data.Open)},
}

// args are those of a variant in dir.
func (v victim) args(dir string, variant int) []string {
	words := strings.NewReplacer("DIR", dir, "FITTED", fitted[variant%len(fitted)], "OTHER", fitted[variant%2], "WIDTH", strconv.Itoa(4+variant%3))
	return strings.Fields(words.Replace(v.line))
}

// check returns an error if what the victim wrote in dir is unsound.
func (v victim) check(dir string) error { return v.sound(filepath.Join(dir, v.left)) }

// held returns an error if the folder that path belongs to is of two runs.
func held(path string) error {
	h, err := disk.Hold(path)
	if err == nil {
		h.Release()
	}
	return err
}

// oneRun returns an error unless the model, the metrics and the configuration in dir, as
// far as they are there, are of one method. What a killed process did not put into its place
// is read where it is, as commands read it.
func oneRun(dir string) error {
	h, err := disk.Hold(filepath.Join(dir, "config.json"))
	if err != nil {
		return err
	}
	defer h.Release()
	at := func(name string) string { return h.Path(filepath.Join(dir, name)) }
	methods := map[string]string{}
	if m, err := layers.ReadModel(at("model.safetensors")); err == nil {
		methods["model.safetensors"] = m.Method
	} else if _, gone := os.Stat(at("model.safetensors")); gone == nil {
		return err
	}
	for _, name := range []string{"metrics.json", "config.json"} {
		text, err := data.ReadFile(at(name))
		if err != nil {
			continue
		}
		var what struct{ Method string }
		if err := json.Unmarshal(text, &what); err != nil {
			return err
		}
		methods[name] = what.Method
	}
	for name, method := range methods {
		if method != methods["model.safetensors"] {
			return fmt.Errorf("%s: %s is of %q, the model of %q", dir, name, method, methods["model.safetensors"])
		}
	}
	return nil
}

// whole returns an error if path is there and read cannot read it.
func whole[T any](read func(path string) (T, error)) func(path string) error {
	return func(path string) error {
		_, err := os.Stat(path)
		if err != nil {
			return nil
		}
		_, err = read(path)
		return err
	}
}

// wholePage returns an error if path is there and no whole page.
func wholePage(path string) error {
	text, err := data.ReadFile(path)
	if err == nil && !strings.HasSuffix(strings.TrimSpace(string(text)), "</html>") {
		return fmt.Errorf("%s ends early", path)
	}
	return nil
}

// scene makes a directory with the files that victims read.
func (c *campaign) scene(n *count, name string, rng *rand.Rand) string {
	dir := filepath.Join(c.dir, name)
	must(os.MkdirAll(dir, 0o777))
	plain.write(filepath.Join(dir, features), rng)
	var table bytes.Buffer
	for range 200 {
		fmt.Fprintf(&table, "%.3f,%.3f,%.3f,%d\n", rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.IntN(3))
	}
	must(os.WriteFile(filepath.Join(dir, "table.csv"), table.Bytes(), 0o666))
	done := []int{0}
	c.run(n, done, "fit", "--in", filepath.Join(dir, features), "--method", "ts", "--out", filepath.Join(dir, model))
	c.run(n, done, "pretrain", "--data", filepath.Join(dir, "table.csv"), "--encoder", "mlp", "--network", `{"hidden":[4]}`, "--epochs", "2", "--out", filepath.Join(dir, encoder))
	return dir
}

// inputs are the bytes of the scene's files.
func inputs(dir string) map[string]string {
	texts := map[string]string{}
	for _, name := range []string{features, "table.csv", filepath.Join(model, "model.safetensors"), filepath.Join(model, "predictions.npz"), filepath.Join(encoder, "weights.safetensors"), filepath.Join(encoder, "config.json")} {
		texts[name] = string(read(filepath.Join(dir, name)))
	}
	return texts
}

func (c *campaign) kept(n *count, dir string, before map[string]string, after string) {
	for name, text := range inputs(dir) {
		if text != before[name] {
			n.failed("destroyed inputs", "%s after %s", filepath.Join(dir, name), after)
			before[name] = text
		}
	}
}

// kills kills commands. Half of the moments are drawn from the last third of what the
// command takes, where it writes.
func kills(c *campaign, n *count, rng *rand.Rand) {
	seed := rng.Uint64()
	side(func(worker int) {
		rng := rand.New(rand.NewPCG(seed, uint64(worker)))
		dir := c.scene(n, fmt.Sprintf("kills-%d", worker), rng)
		before := inputs(dir)
		takes, variants := map[string]time.Duration{}, map[string]int{}
		for i := 0; n.more(c); i++ {
			v := victims[(i+worker)%len(victims)]
			if i%3 > 0 { // so that some go on with what a kill left, and others begin anew
				variants[v.name] = i
			}
			if takes[v.name] == 0 { // how long it takes to its end
				began := time.Now()
				c.run(n, []int{0}, v.args(dir, i)...)
				takes[v.name] = time.Since(began)
			}
			moment := rng.Float64() * 1.05
			if rng.IntN(2) == 0 {
				moment = 0.7 + 0.35*rng.Float64()
			}
			args := v.args(dir, variants[v.name])
			cmd := c.command(c.ctx, args...)
			must(cmd.Start())
			time.Sleep(time.Duration(moment * float64(takes[v.name])))
			_ = cmd.Process.Kill() // unless it has ended
			_ = cmd.Wait()
			after := fmt.Sprintf("a kill %.0f %% into calibra %s", 100*moment, strings.Join(args, " "))
			if err := v.check(dir); err != nil {
				n.failed("mixed folders", "%v, after %s", err, after)
			}
			c.kept(n, dir, before, after)
			if i%60 == 59 { // the next runs go on, and clear up
				for _, v := range victims {
					c.run(n, []int{0}, v.args(dir, variants[v.name])...)
					if err := v.check(dir); err != nil {
						n.failed("mixed folders", "%v, after a whole %s", err, v.name)
					}
				}
				c.tidy(n, dir, "all commands ran again")
			}
		}
	})
}

// atOnce runs several commands that write to one place. All succeed, and what is there
// then is one's.
func atOnce(c *campaign, n *count, rng *rand.Rand) {
	dir := c.scene(n, "at-once", rng)
	before := inputs(dir)
	for i := 0; n.more(c); i++ {
		v := victims[i%len(victims)]
		const together = 4
		var wait conc.WaitGroup
		for k := range together {
			wait.Go(func() { c.run(n, []int{0}, v.args(dir, i+k)...) })
		}
		wait.Wait()
		if err := v.check(dir); err != nil {
			n.failed("mixed folders", "%v, after %d of %s at once", err, together, v.name)
		}
		c.kept(n, dir, before, v.name)
		c.tidy(n, dir, v.name+" at once")
	}
}
