package op_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// dense is a tensor of the given values.
func dense(values []float64, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(slices.Clone(values)))
}

// single is x in float32.
func single(x *tensor.Dense) *tensor.Dense {
	out := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(x.Shape()...))
	for i, v := range x.Float64s() {
		out.Float32s()[i] = float32(v)
	}
	return out
}

// isValue computes the op in both float types and holds it to want. In float32 a sum
// of n terms near 1 errs by some √n·6e-8: 1e-5 is ample for the sums here.
func isValue(t *testing.T, name string, o op.Op, want []float64, in ...*tensor.Dense) {
	t.Helper()
	double, float := make([]gorgonia.Value, len(in)), make([]gorgonia.Value, len(in))
	for i, x := range in {
		double[i], float[i] = x, single(x)
	}
	got, err := o.Do(double...)
	if err != nil {
		t.Fatal(name, err)
	}
	got32, err := o.Do(float...)
	if err != nil {
		t.Fatal(name, err)
	}
	x, x32 := got.(*tensor.Dense).Float64s(), got32.(*tensor.Dense).Float32s()
	if len(x) != len(want) {
		t.Fatalf("%s has %d values, not %d", name, len(x), len(want))
	}
	for i, w := range want {
		if !(math.Abs(x[i]-w) <= 1e-12*(1+math.Abs(w))) || !(math.Abs(float64(x32[i])-w) <= 1e-5*(1+math.Abs(w))) {
			t.Errorf("%s[%d] is %v, in float32 %v; the formula says %v", name, i, x[i], x32[i], w)
			return
		}
	}
}

// TestConvIsItsFormula compares every way a convolution is computed (patches,
// shifts, the image itself) with the sum over channels and pixels.
func TestConvIsItsFormula(t *testing.T) {
	for _, c := range []struct{ n, c, h, w, o, k, stride, pad int }{
		{2, 3, 5, 6, 4, 3, 1, 1}, {2, 9, 5, 6, 4, 3, 1, 1}, {3, 8, 7, 4, 2, 3, 2, 1}, {2, 8, 4, 6, 5, 1, 2, 0},
		{2, 8, 4, 6, 5, 1, 1, 0}, {1, 10, 6, 6, 3, 5, 1, 2}, {1, 2, 7, 7, 3, 3, 3, 2}, {2, 12, 6, 5, 3, 3, 1, 0},
	} {
		rng := rand.New(rand.NewPCG(uint64(c.c), uint64(c.stride)))
		x, w := dense(normals(rng, c.n*c.c*c.h*c.w, 0), c.n, c.c, c.h, c.w), dense(normals(rng, c.o*c.c*c.k*c.k, 0), c.o, c.c, c.k, c.k)
		high, wide := (c.h+2*c.pad-c.k)/c.stride+1, (c.w+2*c.pad-c.k)/c.stride+1
		var want []float64
		for n := range c.n {
			for o := range c.o {
				for u := range high {
					for v := range wide {
						sum := 0.0
						for ch := range c.c {
							for i := range c.k {
								for j := range c.k {
									row, col := u*c.stride+i-c.pad, v*c.stride+j-c.pad
									if row >= 0 && row < c.h && col >= 0 && col < c.w {
										sum += w.Float64s()[((o*c.c+ch)*c.k+i)*c.k+j] * x.Float64s()[((n*c.c+ch)*c.h+row)*c.w+col]
									}
								}
							}
						}
						want = append(want, sum)
					}
				}
			}
		}
		isValue(t, "conv", op.Conv(c.stride, c.pad), want, x, w)
	}
}

// TestConvRefusesKernelsBeyondTheImage, also where a stride would round what is left of
// the image up to one place.
func TestConvRefusesKernelsBeyondTheImage(t *testing.T) {
	w := dense(make([]float64, 9), 1, 1, 3, 3)
	for _, size := range []struct{ h, w, stride, pad int }{{2, 3, 1, 0}, {2, 3, 2, 0}, {3, 2, 3, 0}, {5, 1, 4, 0}} {
		if _, err := op.Conv(size.stride, size.pad).Do(dense(make([]float64, size.h*size.w), 1, 1, size.h, size.w), w); err == nil {
			t.Errorf("3×3 kernels are moved over %d×%d pixels with stride %d", size.h, size.w, size.stride)
		}
	}
	if _, err := op.Conv(2, 1).Do(dense([]float64{1}, 1, 1, 1, 1), w); err != nil {
		t.Errorf("one pixel with a border of one: %v", err)
	}
}

// TestNormsAreTheirFormulas: batch norm over rows and places, layer norm over columns.
func TestNormsAreTheirFormulas(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const n, c, area, eps = 3, 4, 6, 1e-5
	x, gamma, beta := normals(rng, n*c*area, 2), normals(rng, c, 0), normals(rng, c, 0)
	mean, variance, y := make([]float64, c), make([]float64, c), make([]float64, len(x))
	at := func(i, k, p int) int { return (i*c+k)*area + p }
	for k := range c {
		for i := range n {
			for p := range area {
				mean[k] += x[at(i, k, p)] / (n * area)
			}
		}
		for i := range n {
			for p := range area {
				d := x[at(i, k, p)] - mean[k]
				variance[k] += d * d / (n * area)
			}
		}
		for i := range n {
			for p := range area {
				y[at(i, k, p)] = gamma[k]*(x[at(i, k, p)]-mean[k])/math.Sqrt(variance[k]+eps) + beta[k]
			}
		}
	}
	images := dense(x, n, c, 2, 3)
	isValue(t, "mean", op.ChannelMean(4), mean, images)
	isValue(t, "variance", op.ChannelVariance(4), variance, images, dense(mean, c))
	isValue(t, "batch norm", op.BatchNorm(4, eps), y, images, dense(mean, c), dense(variance, c), dense(gamma, c), dense(beta, c))

	rows := make([]float64, 0, len(x)) // of c columns
	for lo := 0; lo < len(x); lo += c {
		row := x[lo : lo+c]
		mu, v := 0.0, 0.0
		for _, z := range row {
			mu += z / c
		}
		for _, z := range row {
			v += (z - mu) * (z - mu) / c
		}
		for j, z := range row {
			rows = append(rows, gamma[j]*(z-mu)/math.Sqrt(v+eps)+beta[j])
		}
	}
	isValue(t, "layer norm", op.LayerNorm(eps), rows, dense(x, len(x)/c, c), dense(gamma, c), dense(beta, c))
}

// TestHeadsAreTheirFormulas: two sequences of 3 queries and 4 keys, two heads of
// width 2.
func TestHeadsAreTheirFormulas(t *testing.T) {
	const b, s, u, heads, width = 2, 3, 4, 2, 2
	const d = heads * width
	rng := rand.New(rand.NewPCG(4, 4))
	q, k := normals(rng, b*s*d, 0), normals(rng, b*u*d, 0)
	p := make([]float64, b*heads*s*u)
	mix, back := make([]float64, b*s*d), make([]float64, b*u*d)
	for n := range b {
		for h := range heads {
			for i := range s {
				for j := range u {
					at := ((n*heads+h)*s+i)*u + j
					for l := h * width; l < (h+1)*width; l++ {
						p[at] += q[(n*s+i)*d+l] * k[(n*u+j)*d+l]
					}
					for l := h * width; l < (h+1)*width; l++ {
						mix[(n*s+i)*d+l] += p[at] * k[(n*u+j)*d+l]
						back[(n*u+j)*d+l] += p[at] * q[(n*s+i)*d+l]
					}
				}
			}
		}
	}
	queries, keys, scores := dense(q, b*s, d), dense(k, b*u, d), dense(p, b*heads*s, u)
	isValue(t, "scores", op.HeadScores(heads, b), p, queries, keys)
	isValue(t, "mix", op.HeadMix(heads, b), mix, scores, keys)
	isValue(t, "mix back", op.HeadMixBack(heads, b), back, scores, queries)
}

// TestReLUKeepsNaN of either sign, which inf − inf and 0·inf make on one processor or
// another: a fit must not go on as if the value were 0.
func TestReLUKeepsNaN(t *testing.T) {
	negative := math.Float64frombits(math.Float64bits(math.NaN()) | 1<<63)
	x := dense([]float64{math.NaN(), negative, math.Inf(-1), -math.MaxFloat32, math.Inf(1)}, 5)
	for _, in := range []*tensor.Dense{x, single(x)} {
		y, err := op.ReLU(1).Do(in)
		if err != nil {
			t.Fatal(err)
		}
		got := graph.Float64s(y)
		if !math.IsNaN(got[0]) || !math.IsNaN(got[1]) || got[2] != 0 || got[3] != 0 || !math.IsInf(got[4], 1) {
			t.Errorf("%v: ReLU of NaN, −NaN, −∞, −1e38 and ∞ is %v", in.Dtype(), got)
		}
	}
}

func TestSmallOps(t *testing.T) {
	isValue(t, "relu", op.ReLU(1), []float64{0, 0, 3, 0}, dense([]float64{-2, 0, 3, math.Copysign(0, -1)}, 4))
	isValue(t, "reglu", op.ReGLU(), []float64{1 * 3, 0, 5 * 7, 0}, dense([]float64{1, 2, 3, -4, 5, 6, 7, 0}, 2, 4))
	isValue(t, "softmax", op.Softmax(), []float64{0.25, 0.75, 0.5, 0.5}, dense([]float64{0, math.Log(3), 1000, 1000}, 2, 2))
	isValue(t, "tokens", op.Tokens(), []float64{2, 4, -9, 12, 0, 0, 3, -4}, dense([]float64{2, 3, 0, -1}, 2, 2), dense([]float64{1, 2, -3, 4}, 2, 2))
	isValue(t, "columns", op.Columns(2, 0), []float64{3, 1, 6, 4}, dense([]float64{1, 2, 3, 4, 5, 6}, 2, 3))
	isValue(t, "join", op.JoinColumns(), []float64{1, 5, 6, 2, 7, 8}, dense([]float64{1, 2}, 2, 1), dense([]float64{5, 6, 7, 8}, 2, 2))
	isValue(t, "plane mean", op.PlaneMean(), []float64{1.5, 3.5}, dense([]float64{1, 2, 3, 4}, 1, 2, 1, 2))
	isValue(t, "reshape", op.Reshape(2, -1), []float64{1, 2, 3, 4}, dense([]float64{1, 2, 3, 4}, 2, 2))
	codes, err := op.Category(1).Do(dense([]float64{9, 2, 9, 0}, 2, 2))
	if err != nil || !slices.Equal(codes.(*tensor.Dense).Int32s(), []int32{2, 0}) {
		t.Errorf("categories %v, %v", codes, err)
	}
}

// TestAugment: an image keeps its pixels but for those that leave; the same step
// gives the same images, another step others; about half are mirrored.
func TestAugment(t *testing.T) {
	const n, h, w, pad = 400, 3, 5, 1
	x := make([]float64, n*h*w)
	for i := range x {
		x[i] = float64(i%(h*w)) + 1
	}
	at := func(step float64, mirror float64) []float64 {
		out, err := op.Augment(1, h, w, pad, mirror, 7).Do(dense(x, n, h*w), dense([]float64{step}, 1))
		if err != nil {
			t.Fatal(err)
		}
		return out.(*tensor.Dense).Float64s()
	}
	y := at(1, 0.5)
	if !slices.Equal(y, at(1, 0.5)) || slices.Equal(y, at(2, 0.5)) {
		t.Error("the draw does not depend on the step alone")
	}
	mirrored := 0
	for i := range n {
		image := y[i*h*w : (i+1)*h*w]
		found, flipped := false, false
		for down := -pad; down <= pad; down++ {
			for right := -pad; right <= pad; right++ {
				var plain, turned []float64
				for u := range h {
					for v := range w {
						pixel := func(v int) float64 {
							if u+down < 0 || u+down >= h || v+right < 0 || v+right >= w {
								return 0
							}
							return x[(u+down)*w+v+right]
						}
						plain, turned = append(plain, pixel(v)), append(turned, pixel(w-1-v))
					}
				}
				found = found || slices.Equal(image, plain) || slices.Equal(image, turned)
				flipped = flipped || slices.Equal(image, turned)
			}
		}
		if !found {
			t.Fatalf("image %d is no shift of what it was: %v", i, image)
		}
		if flipped {
			mirrored++
		}
	}
	if mirrored < 150 || mirrored > 250 { // 200 ± 5 standard deviations of 10
		t.Errorf("%d of %d images are mirrored", mirrored, n)
	}
}

// TestRampsAreTheirFormula, and their transpose theirs, of knots on either side of 0, on one
// and at it.
func TestRampsAreTheirFormula(t *testing.T) {
	ramp := func(z, lo, hi float64) float64 { // ∫_0^z 1[lo < t ≤ hi] dt
		if z < 0 {
			return -max(min(hi, 0)-max(lo, z), 0)
		}
		return max(min(hi, z)-max(lo, 0), 0)
	}
	for _, knots := range [][]float64{{-2, -0.5, 0.3, 1}, {-1, 0, 2}, {0}, {1, 2}, {-3, -1}, nil} {
		rng := rand.New(rand.NewPCG(uint64(len(knots)), 0))
		p := len(knots) + 1
		z, v, g := normals(rng, 40, 0), normals(rng, p, 0), normals(rng, 40, 0)
		for i := range z {
			z[i] *= 2
		}
		copy(z, knots)
		y, h := make([]float64, len(z)), make([]float64, p)
		for i, x := range z {
			for m := range p {
				lo, hi := math.Inf(-1), math.Inf(1)
				if m > 0 {
					lo = knots[m-1]
				}
				if m < len(knots) {
					hi = knots[m]
				}
				y[i] += v[m] * ramp(x, lo, hi)
				h[m] += g[i] * ramp(x, lo, hi)
			}
		}
		isValue(t, "ramps", op.Ramps(knots), y, dense(z, 8, 5), dense(v, p, 1))
		isValue(t, "their sums", op.New(op.RampSumsOp{Knots: knots}), h, dense(z, 8, 5), dense(g, 8, 5))
	}
}
