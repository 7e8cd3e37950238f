package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"calibra/experiments"
)

// extremes fits every method to every problem. A fit may fail, in one sentence; what it
// predicts is sound.
func extremes(c *campaign, n *count, rng *rand.Rand) {
	dir := filepath.Join(c.dir, "extremes")
	must(os.MkdirAll(dir, 0o777))
	type attack struct {
		method  string
		problem string
	}
	var all []attack
	for i, p := range problems {
		p.write(filepath.Join(dir, fmt.Sprintf("%d.npz", i)), rng)
		for _, m := range experiments.Methods {
			all = append(all, attack{m.Name, fmt.Sprint(i)})
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if n.Goal == 0 || n.Goal > len(all) {
		n.Goal = len(all)
	}
	next := make(chan attack)
	go func() {
		defer close(next)
		for _, a := range all {
			if !n.more(c) {
				return
			}
			next <- a
		}
	}()
	side(func(worker int) {
		for a := range next {
			out := filepath.Join(dir, fmt.Sprintf("out-%d", worker))
			e := c.run(n, []int{0, 1, 2}, "fit", "--in", filepath.Join(dir, a.problem+".npz"), "--method", a.method, "--out", out)
			c.sound(n, filepath.Join(out, "predictions.npz"), e.line)
			if _, err := os.Stat(out); err == nil && e.code != 0 {
				n.failed("leftovers", "%s is there after %s", out, e.line)
			}
			os.RemoveAll(out)
		}
	})
	n.note = fmt.Sprintf("%d methods × %d problems", len(experiments.Methods), len(problems))
}

var fuzzTest = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// fuzzers runs every fuzz test of the repository, all for the same time.
func fuzzers(c *campaign, n *count, _ *rand.Rand) {
	type test struct{ pkg, name string }
	var tests []test
	found, err := filepath.Glob("*/*_test.go")
	must(err)
	for _, pattern := range []string{"*/*/*_test.go", "*/*/*/*_test.go"} {
		more, err := filepath.Glob(pattern)
		must(err)
		found = append(found, more...)
	}
	for _, path := range found {
		for _, m := range fuzzTest.FindAllSubmatch(read(path), -1) {
			tests = append(tests, test{"./" + filepath.Dir(path), string(m[1])})
		}
	}
	n.Goal = len(tests)
	each := time.Until(n.until) / time.Duration(max(1, len(tests)))
	each = max(each, time.Second).Round(time.Second)
	for _, t := range tests {
		if c.ctx.Err() != nil {
			return
		}
		n.Done++
		cmd := exec.CommandContext(c.ctx, "go", "test", "-run", "xxx", "-fuzz", "^"+t.name+"$", "-fuzztime", each.String(), "-fuzzminimizetime", "10x", t.pkg)
		out, err := cmd.CombinedOutput()
		if err != nil && c.ctx.Err() == nil {
			n.failed("traces", "%s: %s", strings.Join(cmd.Args, " "), first(string(out)))
		}
	}
	n.note = fmt.Sprintf("%d tests, %v each", len(tests), each)
}
