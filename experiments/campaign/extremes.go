package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"calibra/experiments"
)

// extremes fits every method to every problem. A fit may fail, in one sentence; what it
// predicts is sound.
func extremes(c *campaign, n *count, rng *rand.Rand) {
	dir := filepath.Join(c.dir, "extremes")
	must(os.MkdirAll(dir, 0o777))
	type attack struct{ method, problem string }
	var all []attack
	for i, p := range problems {
		p.write(filepath.Join(dir, fmt.Sprintf("%d.npz", i)), rng)
		for _, m := range experiments.Methods {
			all = append(all, attack{m.Name, fmt.Sprint(i)})
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	each(c, n, all, func(worker int, a attack) {
		out := filepath.Join(dir, fmt.Sprintf("out-%d", worker))
		e := c.run(n, []int{0, 1, 2}, "fit", "--in", filepath.Join(dir, a.problem+".npz"), "--method", a.method, "--out", out)
		c.sound(n, filepath.Join(out, "predictions.npz"), e.line)
		if _, err := os.Stat(out); err == nil && e.code > 0 { // not killed, as it hung
			n.failed("leftovers", "%s is there after %s", out, e.line)
		}
		os.RemoveAll(out)
	})
	n.note = fmt.Sprintf("%d methods × %d problems", len(experiments.Methods), len(problems))
}
