package metrics

import (
	"math/rand/v2"
	"testing"
)

// The workloads of experiments/bench/peer_torch.py: `--only lce10` and `--only lce100`.
func BenchmarkLocal(b *testing.B) {
	for _, size := range []struct {
		name       string
		rows, dims int
		classes    int
	}{
		{"lce10", 20250, 50, 10},
		{"lce100", 5000, 50, 100},
	} {
		b.Run(size.name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			p := generate(size.rows, size.classes, size.dims, 1, rng)
			for i := range size.rows {
				for c := range size.classes {
					p.logProbs.Set(i, c, 3*rng.NormFloat64())
				}
				logSoftmax(p.logProbs.RawRowView(i))
				p.labels[i] = rng.IntN(size.classes)
				for k := range size.dims {
					p.embedding.Set(i, k, rng.NormFloat64()*(12-11*float64(k)/float64(size.dims-1)))
				}
			}
			b.Run("measure", func(b *testing.B) {
				for b.Loop() {
					p.measure(b, Settings{})
				}
			})
			b.Run("evaluate", func(b *testing.B) {
				for b.Loop() {
					p.evaluate(b, Settings{}, Uncertainty{}, 1)
				}
			})
		})
	}
}
