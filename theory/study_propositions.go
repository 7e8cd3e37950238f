package theory

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"
)

func runPropositions(ctx context.Context, s Settings, r *Report) error {
	differences := 0
	rng := newRand(s.Seed, 35)
	for range 2000 {
		if !slotwiseIsGlobal(rng) {
			differences++
		}
	}
	r.judge("Proposition 1: differences from brute force over K^w sequences, of 2000", exact(float64(differences)), "0", between(0, 0))
	r.judge("Voronoi cells that hold the midpoint of two codewords in every slot, w = 3", exact(float64(midpointCells())), "2^w: closed cells overlap on ties", between(8, 8))

	gap, err := posteriorGap(s)
	if err != nil {
		return err
	}
	r.judge("Proposition 2: score against a Dirichlet density, largest gap in q", exact(gap), "0", bandZero)
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, identity := range []float64{0, 1} {
		value := calibrationChi2(identity, newRand(s.Seed, 36))
		name := fmt.Sprintf("χ²/df of the posterior at the true α with δ = %g, p̂ truly Dirichlet", identity)
		if identity == 0 {
			// 20 bins of each of 3 classes, whose hits sum to one: 0.997 of 3,000 seeds of
			// such a problem lie below 1.66, against 0.999 of a χ² of 60 degrees of freedom.
			r.judge(name, exact(value), "1: Proposition 2", atMost(1.66))
		} else {
			r.judge(name, exact(value), "≫ 1: '+ I' is not Proposition 2", between(10, math.Inf(1)))
		}
	}
	equal, generic := distinctMaps(newRand(s.Seed, 37))
	r.judge("distinct maps of 6⁴ = 1296 index sequences, σ² = 1", exact(float64(equal)), "126 multisets", between(126, 126))
	r.judge("distinct maps of 1296 index sequences, generic σ²", exact(float64(generic)), "1296", between(1296, 1296))
	return nil
}

// slotwiseIsGlobal draws one quantization problem and compares the slots' nearest
// codewords with the best of all K^w sequences.
func slotwiseIsGlobal(rng *rand.Rand) bool {
	w, K, width := 1+rng.IntN(4), 2+rng.IntN(4), 1+rng.IntN(4)
	normal := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	codebook, z := normal(K*width), normal(w*width)
	distance := func(slot, k int) float64 {
		var sum float64
		for i := range width {
			d := z[slot*width+i] - codebook[k*width+i]
			sum += d * d
		}
		return sum
	}
	slotwise := make([]int, w)
	for slot := range slotwise {
		for k := range K {
			if distance(slot, k) < distance(slot, slotwise[slot]) {
				slotwise[slot] = k
			}
		}
	}
	best, least := []int(nil), math.Inf(1)
	for _, codes := range sequences(K, w) {
		var sum float64
		for slot, k := range codes {
			sum += distance(slot, k)
		}
		if sum < least {
			best, least = codes, sum
		}
	}
	return slices.Equal(best, slotwise)
}

// sequences lists all K^w index sequences.
func sequences(codewords, slots int) [][]int {
	all := [][]int{nil}
	for range slots {
		var longer [][]int
		for _, codes := range all {
			for k := range codewords {
				longer = append(longer, append(slices.Clone(codes), k))
			}
		}
		all = longer
	}
	return all
}

// midpointCells counts the q of {−1, 1}^3 nearest to the origin.
func midpointCells() int {
	var distances []float64
	for _, codes := range sequences(2, 3) {
		var sum float64
		for _, k := range codes {
			c := float64(2*k - 1)
			sum += c * c
		}
		distances = append(distances, sum)
	}
	least, count := slices.Min(distances), 0
	for _, d := range distances {
		if d == least {
			count++
		}
	}
	return count
}

// posteriorGap compares the calibrator's q with Bayes' rule on gonum's Dirichlet
// density, over problems of several sizes.
func posteriorGap(s Settings) (float64, error) {
	var gap float64
	for C := 2; C <= 5; C++ {
		d := Design{Classes: C, Slots: 3, Codewords: 4, Atoms: 8}
		truth, err := NewTruth(d, newRand(s.Seed, 38, uint64(C)))
		if err != nil {
			return 0, err
		}
		logq := make([]float64, len(truth.Label))
		model, err := trained(truth.Table, d.Identity)
		if err != nil {
			return 0, err
		}
		if err := model.LogProbs(logq, truth.Theta); err != nil {
			return 0, err
		}
		for i, l := range logq {
			gap = math.Max(gap, math.Abs(math.Exp(l)-truth.Label[i]))
		}
	}
	return gap, nil
}

// calibrationChi2 draws labels uniformly and p̂ | y = j from Dir(α_{·j}), and tests the
// score's posterior with the true α: 20 bins of equal count for each class, χ² of the
// label count against Σ q with variance Σ q(1 − q).
func calibrationChi2(identity float64, rng *rand.Rand) float64 {
	const C, draws, bins = 3, 200_000, 20
	law := make([]*distmv.Dirichlet, C)
	for j := range law {
		alpha := make([]float64, C)
		for i := range alpha {
			alpha[i] = distuv.Uniform{Min: 0.5, Max: 3, Src: rng}.Rand()
		}
		law[j] = distmv.NewDirichlet(alpha, rng)
	}
	type prediction struct {
		q   float64
		hit bool
	}
	predictions := make([][]prediction, C)
	phat, q := make([]float64, C), make([]float64, C)
	for range draws {
		y := rng.IntN(C)
		law[y].Rand(phat)
		for j := range q {
			q[j] = law[j].LogProb(phat) + identity*math.Log(phat[j])
		}
		normalizer := floats.LogSumExp(q)
		for j := range q {
			predictions[j] = append(predictions[j], prediction{math.Exp(q[j] - normalizer), j == y})
		}
	}
	var chi2 float64
	for _, class := range predictions {
		slices.SortStableFunc(class, func(a, b prediction) int { return cmp.Compare(a.q, b.q) })
		for bin := range slices.Chunk(class, draws/bins) {
			var expected, variance, hits float64
			for _, p := range bin {
				expected += p.q
				variance += p.q * (1 - p.q)
				if p.hit {
					hits++
				}
			}
			chi2 += (hits - expected) * (hits - expected) / variance
		}
	}
	return chi2 / (C * bins)
}

// distinctMaps counts the different matrices A of all sequences of w = 4 codewords
// out of K = 6, with equal slot scales and with generic ones.
func distinctMaps(rng *rand.Rand) (equal, generic int) {
	const K, w = 6, 4
	d := Design{Classes: 3, Slots: w, Codewords: K}
	theta := drawFactors(d, rng)
	generically := make([]float64, w)
	for i := range generically {
		generically[i] = distuv.Uniform{Min: 0.5, Max: 1.5, Src: rng}.Rand()
	}
	count := func(scales []float64) int {
		var seen [][]float64
		for _, codes := range sequences(K, w) {
			A := make([]float64, d.Classes*d.Classes)
			for slot, k := range codes {
				for i := range d.Classes {
					for j := range d.Classes {
						A[i*d.Classes+j] += scales[slot] * theta[k*d.Classes+i] * theta[(K+k)*d.Classes+j]
					}
				}
			}
			same := func(other []float64) bool { return floats.EqualApprox(A, other, 1e-10) } // sums of four terms of size 1
			if !slices.ContainsFunc(seen, same) {
				seen = append(seen, A)
			}
		}
		return len(seen)
	}
	return count([]float64{1, 1, 1, 1}), count(generically)
}
