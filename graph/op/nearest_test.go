package op_test

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestNearbyIsItsFormula: codes are the codewords in order of their distance, in both float types; shares are
// the softmax of it, and at temperature 0 all of the nearest.
func TestNearbyIsItsFormula(t *testing.T) {
	const rows, w, d, K, tau = 300, 4, 3, 13, 0.5
	rng := rand.New(rand.NewPCG(1, 2))
	z, c := normals(rng, rows*w*d, 0), normals(rng, K*d, 0)
	features, words := dense(z, rows, w*d), dense(c, K, d)
	for _, m := range []int{1, 3, 5} {
		var want []int32
		var shares, hard []float64
		for at := range rows * w {
			dist := map[int32]float64{}
			for k := range K {
				for j := range d {
					dist[int32(k)] += math.Pow(z[at*d+j]-c[k*d+j], 2)
				}
			}
			codes := slices.SortedFunc(maps.Keys(dist), func(x, y int32) int { return cmp.Compare(dist[x], dist[y]) })[:m]
			want = append(want, codes...)
			shares = append(shares, softened(codes, dist, tau)...)
			hard = append(append(hard, 1), make([]float64, m-1)...)
		}
		isCode(t, op.Nearby(m), want, features, words)
		codes := graph.Codes(want, w*m)
		isShare(t, op.NearShares(m), shares, features, words, codes, []float64{tau})
		isShare(t, op.NearShares(m), hard, features, words, codes, []float64{0})
	}
}

// softened are the shares, of which those below 0.02 are left out.
func softened(codes []int32, dist map[int32]float64, tau float64) []float64 {
	e := make([]float64, len(codes))
	for pass := range 2 {
		total := 0.0
		for i, k := range codes {
			if pass == 0 {
				e[i] = math.Exp(-(dist[k] - dist[codes[0]]) / tau)
			} else if e[i] < 0.02 {
				e[i] = 0
			}
			total += e[i]
		}
		for i := range e {
			e[i] /= total
		}
	}
	return e
}

func isCode(t *testing.T, o op.Op, want []int32, in ...*tensor.Dense) {
	t.Helper()
	for _, convert := range []func(*tensor.Dense) *tensor.Dense{func(x *tensor.Dense) *tensor.Dense { return x }, single} {
		var converted []gorgonia.Value
		for _, x := range in {
			converted = append(converted, convert(x))
		}
		got, err := o.Do(converted...)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.(*tensor.Dense).Int32s(), want) {
			t.Errorf("%v gives other codes than its formula", o)
		}
	}
}

func isShare(t *testing.T, o op.Op, want []float64, z, c, codes *tensor.Dense, tau []float64) {
	t.Helper()
	for _, convert := range []func(*tensor.Dense) *tensor.Dense{func(x *tensor.Dense) *tensor.Dense { return x }, single} {
		got, err := o.Do(convert(z), convert(c), codes, convert(dense(tau, len(tau))))
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range graph.Float64s(got) {
			// In float32 distances near 1 err by 1e-7, a share by the same part of its exponent.
			if !(math.Abs(e-want[i]) <= 1e-5) {
				t.Fatalf("%v: share %d is %v, the formula says %v", o, i, e, want[i])
			}
		}
	}
}

// run is o of in, when it is called.
func run(o op.Op, in ...*tensor.Dense) func() (*tensor.Dense, error) {
	return func() (*tensor.Dense, error) {
		var values []gorgonia.Value
		for _, x := range in {
			values = append(values, x)
		}
		out, err := o.Do(values...)
		if err != nil {
			return nil, err
		}
		return out.(*tensor.Dense), nil
	}
}

// TestSharesOfOneAreCodes: with one place for each slot and shares of 1, sums by shares are those
// by codes.
func TestSharesOfOneAreCodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	table, scale, words := dense(normals(rng, 24, 0), 12, 2), dense(normals(rng, 3, 0), 3), dense(normals(rng, 8, 0), 4, 2)
	x := dense(normals(rng, 8, 0), 4, 2)
	places := slices.Clone(fixedCodes.Int32s())
	for i := range places {
		places[i] += int32(i % 3 * 4)
	}
	ones := dense(slices.Repeat([]float64{1}, 12), 4, 3)
	for _, c := range []struct{ of, shared func() (*tensor.Dense, error) }{
		{run(op.TableSum(), table, fixedCodes), run(op.ShareSum(3), table, graph.Codes(places, 3), ones)},
		{run(op.TableScatter(4), fixedCodes, x), run(op.ShareScatter(3, 12), graph.Codes(places, 3), ones, x)},
		{run(op.Mass(4), fixedCodes, scale), run(op.ShareMass(4), fixedCodes, ones, scale)},
		{run(op.Gather(), words, fixedCodes), run(op.WordSum(3), words, fixedCodes, ones)},
	} {
		want, err := c.of()
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.shared()
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range want.Float64s() {
			if !(math.Abs(got.Float64s()[i]-v) <= 1e-12) {
				t.Errorf("value %d is %v by shares, %v by codes", i, got.Float64s()[i], v)
			}
		}
	}
}
