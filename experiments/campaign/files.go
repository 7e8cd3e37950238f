package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments"
)

var digits = regexp.MustCompile(`\d+`)

// spoil changes a file in one of many ways: bytes, ends, pieces, and numbers in its text.
func spoil(text []byte, rng *rand.Rand) []byte {
	out := append([]byte(nil), text...)
	if len(out) == 0 {
		return out
	}
	switch rng.IntN(9) {
	case 0: // some bytes
		for range 1 + rng.IntN(8) {
			out[rng.IntN(len(out))] = byte(rng.IntN(256))
		}
	case 1: // one bit
		out[rng.IntN(len(out))] ^= 1 << rng.IntN(8)
	case 2: // the end
		out = out[:rng.IntN(len(out))]
	case 3: // a piece is missing
		at := rng.IntN(len(out))
		out = append(out[:at], out[min(len(out), at+1+rng.IntN(64)):]...)
	case 4: // a piece is there twice
		at := rng.IntN(len(out))
		piece := append([]byte(nil), out[at:min(len(out), at+1+rng.IntN(512))]...)
		out = append(out[:at], append(piece, out[at:]...)...)
	case 5: // something follows
		for range 1 + rng.IntN(100) {
			out = append(out, byte(rng.IntN(256)))
		}
	case 6, 7: // a number in a text
		places := digits.FindAllIndex(out, -1)
		if len(places) == 0 {
			return out
		}
		at := places[rng.IntN(len(places))]
		number := []string{"-1", "0", "1", "2", "1000000000", "9223372036854775807", "18446744073709551616", "1e308", "NaN", "", "3.5"}[rng.IntN(11)]
		out = append(out[:at[0]:at[0]], append([]byte(number), out[at[1]:]...)...)
	case 8: // eight bytes that are some number
		values := []float64{math.NaN(), math.Inf(1), math.MaxFloat64, -math.MaxFloat64, 1e300, 5e-324, -1}
		if len(out) > 8 {
			binary.LittleEndian.PutUint64(out[8*rng.IntN(len(out)/8):], math.Float64bits(values[rng.IntN(len(values))]))
		}
	}
	return out
}

// answers are the exit codes that a command may give for a file that is damaged, or that is not after all.
var answers = []int{0, 2}

// files gives commands features, predictions and tables that were changed.
func files(c *campaign, n *count, rng *rand.Rand) {
	dir := c.scene(n, "files", rng)
	good := map[string][]byte{"f.npz": read(filepath.Join(dir, features)), "p.npz": read(filepath.Join(dir, model, "predictions.npz")), "t.csv": read(filepath.Join(dir, "table.csv"))}
	p, err := data.ReadPredictions(filepath.Join(dir, model, "predictions.npz"))
	must(err)
	for _, name := range []string{"p.parquet", "p.arrow"} {
		must(disk.WriteArrays(filepath.Join(dir, name), p.Arrays()...))
		good[name] = read(filepath.Join(dir, name))
	}
	seed := rng.Uint64()
	side(func(worker int) {
		rng := rand.New(rand.NewPCG(seed, uint64(worker)))
		for i := 0; n.more(c); i++ {
			name := []string{"f.npz", "f.npz", "p.npz", "p.parquet", "p.arrow", "t.csv"}[rng.IntN(6)]
			path := filepath.Join(dir, fmt.Sprintf("%d-%d-%s", worker, i, name))
			must(os.WriteFile(path, spoil(good[name], rng), 0o666))
			out := filepath.Join(dir, fmt.Sprintf("out-%d", worker))
			var e ended
			switch {
			case name[:2] == "p.":
				e = c.run(n, answers, "evaluate", "--in", path, "--redraws", "0", "--replicates", "0")
			case name == "t.csv":
				e = c.run(n, answers, "pretrain", "--data", path, "--encoder", "mlp", "--network", `{"hidden":[4]}`, "--epochs", "1", "--out", out)
			case i%2 == 0:
				e = c.run(n, answers, "fit", "--in", path, "--method", []string{"ts", "histogram", "nc"}[rng.IntN(3)], "--out", out)
				c.sound(n, filepath.Join(out, "predictions.npz"), e.line)
			default:
				out += ".npz"
				e = c.run(n, answers, "apply", "--model", filepath.Join(dir, model), "--in", path, "--out", out)
				c.sound(n, out, e.line)
			}
			if _, err := os.Stat(out); err == nil && e.code == 2 {
				n.failed("leftovers", "%s is there after %s", out, e.line)
			}
			c.remove(n, path, out)
		}
	})
	n.note = "the peak is that of the worst file"
}

// remove clears the files of an attack, unless something failed, when they show it.
func (c *campaign) remove(n *count, paths ...string) {
	for _, path := range paths {
		if n.wrong() > 0 && path == paths[0] {
			continue
		}
		os.RemoveAll(path)
	}
}

// models gives apply the model files of all methods, changed.
func models(c *campaign, n *count, rng *rand.Rand) {
	dir := filepath.Join(c.dir, "models")
	must(os.MkdirAll(dir, 0o777))
	in := filepath.Join(dir, features)
	plain.write(in, rng)
	var good [][]byte
	for _, m := range experiments.Methods {
		out := filepath.Join(dir, m.Name)
		if e := c.run(n, []int{0}, "fit", "--in", in, "--method", m.Name, "--out", out); e.code == 0 {
			good = append(good, read(filepath.Join(out, "model.safetensors")))
		}
	}
	if len(good) == 0 {
		return
	}
	seed := rng.Uint64()
	side(func(worker int) {
		rng := rand.New(rand.NewPCG(seed, uint64(worker)))
		for i := 0; n.more(c); i++ {
			text := good[i%len(good)]
			if rng.IntN(4) == 0 {
				text = largeWeights(text, rng)
			} else if text = spoil(text, rng); rng.IntN(2) == 0 {
				text = sameLength(text)
			}
			path, out := filepath.Join(dir, fmt.Sprintf("%d-%d.safetensors", worker, i)), filepath.Join(dir, fmt.Sprintf("%d.npz", worker))
			must(os.WriteFile(path, text, 0o666))
			e := c.run(n, answers, "apply", "--model", path, "--in", in, "--out", out)
			c.sound(n, out, e.line)
			c.remove(n, path, out)
		}
	})
	n.note = strconv.Itoa(len(good)) + " methods"
}

// largeWeights makes some weights of a safetensors file huge.
func largeWeights(text []byte, rng *rand.Rand) []byte {
	out := append([]byte(nil), text...)
	body := 8 + int(binary.LittleEndian.Uint64(out))
	if len(out)-body < 8 {
		return out
	}
	for range 1 + rng.IntN(20) {
		at := body + 4*rng.IntN((len(out)-body)/4)
		binary.LittleEndian.PutUint32(out[at:], math.Float32bits(float32(math.Pow(10, 10+28*rng.Float64()))))
	}
	return out
}

// sameLength puts the right length before the header of a safetensors file whose text was
// changed, so that the change is read.
func sameLength(text []byte) []byte {
	for at, depth := 8, 0; at < len(text); at++ {
		switch text[at] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				binary.LittleEndian.PutUint64(text, uint64(at+1-8))
				return text
			}
		}
	}
	return text
}
