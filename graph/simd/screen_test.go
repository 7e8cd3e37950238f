package simd

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

// allSizes are slots and codewords down to subnormal numbers.
const allSizes = "of all sizes"

// slotsLike are kinds of slots, n×d, for codewords that they may look at or change.
var slotsLike = map[string]func(rng *rand.Rand, words []float32, n, d int) []float32{
	"anywhere": func(rng *rand.Rand, _ []float32, n, d int) []float32 { return normals(n*d, rng.Uint64()) },
	"near codewords": func(rng *rand.Rand, words []float32, n, d int) []float32 {
		x := normals(n*d, rng.Uint64())
		for i := range n {
			j := rng.IntN(len(words) / d)
			for l := range d {
				x[i*d+l] = words[j*d+l] + 1e-3*x[i*d+l]
			}
		}
		return x
	},
	"between two codewords, some of them equal": func(rng *rand.Rand, words []float32, n, d int) []float32 {
		k := len(words) / d
		copy(words[rng.IntN(k)*d:], words[:d])
		x := make([]float32, n*d)
		for i := range n {
			a, b := rng.IntN(k), rng.IntN(k)
			for l := range d {
				x[i*d+l] = words[a*d+l]/2 + words[b*d+l]/2
			}
		}
		return x
	},
	"after ReLU": func(rng *rand.Rand, words []float32, n, d int) []float32 {
		x := normals(n*d, rng.Uint64())
		for i, v := range x {
			x[i] = max(v, 0)
		}
		copy(words, x)
		return x
	},
	allSizes: func(rng *rand.Rand, words []float32, n, d int) []float32 {
		x := normals(n*d, rng.Uint64())
		scale := math.Pow(10, float64(rng.IntN(45)-22))
		for i := range words {
			words[i] *= float32(scale)
		}
		for i := range n {
			own := math.Pow(10, float64(rng.IntN(79)-40))
			if i%2 == 0 {
				own = scale
			}
			for l := range d {
				x[i*d+l] *= float32(own)
			}
		}
		return x
	},
	"along codewords, to and fro": func(rng *rand.Rand, words []float32, n, d int) []float32 {
		x := make([]float32, n*d)
		for i := range n {
			j, times := rng.IntN(len(words)/d), float32(math.Pow(10, float64(rng.IntN(8)-2)))
			if i%2 == 0 {
				times = -times
			}
			for l := range d {
				x[i*d+l] = times * words[j*d+l]
			}
		}
		return x
	},
	"along one axis": func(rng *rand.Rand, words []float32, n, d int) []float32 {
		x, axis := make([]float32, n*d), rng.IntN(d)
		clear(words)
		for _, all := range [][]float32{words, x} {
			for i := axis; i < len(all); i += d {
				all[i] = float32(rng.NormFloat64())
			}
		}
		return x
	},
	"not numbers": func(rng *rand.Rand, _ []float32, n, d int) []float32 {
		x := normals(n*d, rng.Uint64())
		odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, -math.MaxFloat32, 1e-45, 0}
		for i := range x {
			if rng.IntN(3*d) == 0 {
				x[i] = odd[rng.IntN(len(odd))]
			}
		}
		return x
	},
}

// A screen does not change a code: those of NearestRows and NearestGathered are those of the exact search.
func TestScreenFindsTheSameCodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 38))
	eachInstructionSet(t, func(t *testing.T) {
		rounds := 24
		if testing.Short() || isa != vnni && isa != amx { // no other search there
			rounds = 1
		}
		for name, slots := range slotsLike {
			rounds, most := rounds, 1500
			if name == allSizes { // more of them, of fewer slots: processors take a hundred times as long for subnormal numbers
				rounds, most = 5*rounds, 150
			}
			for range rounds {
				n, k, d := 1+rng.IntN(most), 1+rng.IntN(300), 1+rng.IntN(100)
				if rng.IntN(20) == 0 {
					n, k, d = 1+rng.IntN(50), 1+rng.IntN(1100), 1+rng.IntN(500)
				}
				if rng.IntN(20) == 0 {
					n, k, d = 1+rng.IntN(50), 1+rng.IntN(20), 1+rng.IntN(4100)
				}
				words := normals(k*d, rng.Uint64())
				x := slots(rng, words, n, d)
				runtime.GOMAXPROCS(1 + rng.IntN(3))
				sameCodes(t, fmt.Sprintf("%d slots %s, %d codewords of %d", n, name, k, d), words, x, k, d)
			}
		}
	})
}

func sameCodes(t *testing.T, what string, words, x []float32, k, d int) {
	t.Helper()
	n := len(x) / d
	var c Codebook
	c.Set(words, k, d)
	want, got := make([]int32, n), make([]int32, n)
	c.assign(want, x)
	compare := func() {
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%s: slot %d has %d, by the exact search %d", what, i, got[i], want[i])
			}
		}
	}
	NearestRows(got, x, &c)
	compare()
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	of := []int{32, 7, 1}
	for _, w := range of {
		if n%w == 0 {
			clear(got)
			NearestGathered(got, x, rows[:n/w], w*d, &c)
			compare()
		}
	}
	for _, w := range append(of, 16) {
		if n%w != 0 {
			continue
		}
		centre, z := make([]float64, w*d), make([]float32, n*d)
		for j := range centre {
			centre[j] = (float64(words[j%len(words)]) + 1e-9) / 3
		}
		for i := 0; i < len(x); i += w * d {
			lessKernel(z[i:i+w*d], x[i:i+w*d], centre)
		}
		c.assign(want, z)
		clear(got)
		NearestCentred(got, x, centre, &c)
		compare()
	}
}

// Few slots are searched twice, of features as the benchmark has them and codewords in their midst.
func TestFewSlotsAreSearchedTwice(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		const n, k = 8192, 64
		for _, d := range []int{32, 8} {
			x := normals(n*d, 2)
			for i, v := range x {
				x[i] = max(v, 0)
			}
			var c Codebook
			words := append([]float32(nil), x[:k*d]...)
			codes := make([]int32, n)
			for range 3 {
				c.Set(words, k, d)
				NearestRows(codes, x, &c)
				means(words, x, codes, d)
			}
			c.Set(words, k, d)
			if !c.screen.on {
				if isa == vnni || isa == amx {
					t.Fatal("no screen")
				}
				continue
			}
			m := new(screenMemory)
			m.search(&nearestSearch{codes: codes, x: x, group: n, c: &c}, 0, n)
			share := float64(m.twice) / n
			t.Logf("slots of %d: %.2f %% searched twice", d, 100*share)
			// twice what was counted: with AMX 0.50 % and 0.44 %, with VNNI 1.34 % and 1.38 %
			if most := map[instructionSet]float64{amx: 0.01, vnni: 0.028}[isa]; share > most || m.twice == 0 {
				t.Errorf("slots of %d: %.2f %% searched twice, not some up to %g %%", d, 100*share, 100*most)
			}
		}
	})
}

// means sets each codeword to the mean of its slots.
func means(words, x []float32, codes []int32, d int) {
	count := make([]float32, len(words)/d)
	clear(words)
	for i, k := range codes {
		count[k]++
		axpy(words[int(k)*d:(int(k)+1)*d], 1, x[i*d:(i+1)*d])
	}
	for i := range words {
		words[i] /= max(1, count[i/d])
	}
}

// Whatever bits slots and codewords have, a screen changes no code.
func FuzzScreen(f *testing.F) {
	f.Add([]byte("codewords and slots, both of them whatever these bytes are as numbers"), byte(1), byte(2))
	f.Add(make([]byte, 999), byte(3), byte(7))
	f.Fuzz(func(t *testing.T, data []byte, k, d byte) {
		wide, words := 1+int(d)%100, 1+int(k)
		numbers := make([]float32, words*wide+20*wide)
		for i := range numbers {
			if at := 4 * i; at+4 <= len(data) {
				numbers[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[at:]))
			} else if len(data) > 0 {
				numbers[i] = float32(data[i%len(data)]) - 128
			}
		}
		sameCodes(t, "fuzzed", numbers[:words*wide], numbers[words*wide:], words, wide)
	})
}
