package op_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// formProblem is masses, factors and log p̂ of some rows.
type formProblem struct {
	b, k, c               int
	mass, a, s, logp, out []float64
}

func newFormProblem(b, k, c int) *formProblem {
	rng := rand.New(rand.NewPCG(uint64(b), uint64(c)))
	p := &formProblem{b: b, k: k, c: c, mass: make([]float64, b*k), a: normals(rng, k*c, 0.2), s: normals(rng, k*c, 0.2), logp: normals(rng, b*c, 0), out: normals(rng, b*c, 0)}
	for i := range p.mass {
		p.mass[i] = float64(rng.IntN(3))
	}
	for row := range b {
		x := p.logp[row*c : (row+1)*c]
		floats.AddConst(-floats.LogSumExp(x), x)
	}
	return p
}

// inputs are the problem's values in memory of type dt: masses, a, s, log p̂ and g.
func (p *formProblem) inputs(dt tensor.Dtype) (mass, a, s, logp, g gorgonia.Value) {
	return graph.Tensor(dt, p.mass, p.b, p.k), graph.Tensor(dt, p.a, p.k, p.c), graph.Tensor(dt, p.s, p.k, p.c), graph.Tensor(dt, p.logp, p.b, p.c), graph.Tensor(dt, p.out, p.b, p.c)
}

func do(t *testing.T, o op.Op, in ...gorgonia.Value) gorgonia.Value {
	t.Helper()
	v, err := o.Do(in...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestTopIsTheLargest also where entries are equal, as those at the floor are.
func TestTopIsTheLargest(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, c := range []int{1, 3, 17, 100, 1000} {
		for m := 1; m <= c; m += 1 + c/7 {
			x := make([]float64, 5*c)
			for i := range x {
				x[i] = math.Max(float64(rng.IntN(c))/8, 2)
			}
			got := op.Values[int32](do(t, op.Top(m), graph.Tensor(tensor.Float64, x, 5, c)))
			for b := range 5 {
				order := make([]int32, c)
				for j := range order {
					order[j] = int32(j)
				}
				row := x[b*c : (b+1)*c]
				slices.SortStableFunc(order, func(i, j int32) int {
					switch {
					case row[i] > row[j]:
						return -1
					case row[i] < row[j]:
						return 1
					}
					return 0
				})
				want := slices.Sorted(slices.Values(order[:m]))
				if !slices.Equal(got[b*m:(b+1)*m], want) {
					t.Fatalf("C = %d, m = %d: %v, want %v", c, m, got[b*m:(b+1)*m], want)
				}
			}
		}
	}
}

// TestPooledScoresAreTheFormula written out entry by entry in float64.
func TestPooledScoresAreTheFormula(t *testing.T) {
	for _, c := range []int{5, 40} {
		for _, m := range []int{1, 3, c - 1} {
			p := newFormProblem(20, 6, c)
			_, _, _, logp, _ := p.inputs(tensor.Float64)
			top := do(t, op.Top(m), logp)
			want := p.pooled(op.Values[int32](top), m)
			for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
				mass, a, s, logp, _ := p.inputs(dt)
				got := graph.Float64s(do(t, op.PooledScores(1), mass, a, s, logp, top))
				// Terms are as large as C log C: float64 and float32 keep so many digits of them.
				tolerance := map[tensor.Dtype]float64{tensor.Float64: 1e-11, tensor.Float32: 2e-5}[dt] * float64(c)
				for i, v := range got {
					if !scalar.EqualWithinAbs(v, want[i], tolerance) {
						t.Fatalf("C = %d, m = %d, %v: score %d is %v, want %v", c, m, dt, i, v, want[i])
					}
				}
			}
		}
	}
}

// pooled are the scores of [op.PooledScores] with δ = 1.
func (p *formProblem) pooled(top []int32, m int) []float64 {
	var scores []float64
	for b := range p.b {
		mine := top[b*m : (b+1)*m]
		groups := make([][]int, m+1) // the classes of T ∪ {R}
		of := make([]int, p.c)
		for j := range p.c {
			at := slices.Index(mine, int32(j))
			if at < 0 {
				at = m
			}
			groups[at], of[j] = append(groups[at], j), at
		}
		mean := func(x []float64, k, g int) (v float64) {
			for _, j := range groups[g] {
				v += x[k*p.c+j] / float64(len(groups[g]))
			}
			return v
		}
		density := make([]float64, m+1)
		for g := range density {
			var sum float64
			for i, classes := range groups {
				var form, said float64
				for k := range p.k {
					form += p.mass[b*p.k+k] * mean(p.a, k, i) * mean(p.s, k, g)
				}
				for _, j := range classes {
					said += math.Exp(p.logp[b*p.c+j])
				}
				alpha := float64(len(classes)) * (math.Log1p(math.Exp(-math.Abs(form))) + math.Max(form, 0) + op.AlphaFloor)
				lg, _ := math.Lgamma(alpha)
				density[g] += (alpha-1)*math.Log(said) - lg
				sum += alpha
			}
			lg, _ := math.Lgamma(sum)
			density[g] += lg
		}
		for j := range p.c {
			scores = append(scores, density[of[j]]+p.logp[b*p.c+j])
		}
	}
	return scores
}

// TestAllButOneClassIsTheExactMap: a rest of one class is that class.
func TestAllButOneClassIsTheExactMap(t *testing.T) {
	p := newFormProblem(9, 4, 30)
	mass, a, s, logp, _ := p.inputs(tensor.Float64)
	form := do(t, op.MatMul(), mass, do(t, op.Outer(), a, s))
	want := graph.Float64s(do(t, op.DirichletScores(1), form, logp))
	got := graph.Float64s(do(t, op.PooledScores(1), mass, a, s, logp, do(t, op.Top(29), logp)))
	for i, v := range got {
		if !scalar.EqualWithinAbs(v, want[i], 1e-10) { // as above
			t.Fatalf("score %d is %v, the exact map's is %v", i, v, want[i])
		}
	}
}

// TestScoresOfAProduct are those of its form, and so are the gradients: in float32 the scores to
// the bit, elsewhere within rounding.
func TestScoresOfAProduct(t *testing.T) {
	for _, size := range [][3]int{{3, 5, 4}, {7, 6, 33}, {5, 3, 300}} {
		p := newFormProblem(size[0], size[1], size[2])
		for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			mass, a, s, logp, g := p.inputs(dt)
			table := do(t, op.Outer(), a, s)
			form := do(t, op.MatMul(), mass, table)
			gradients := do(t, op.Op{Kernel: op.DirichletByFormOp{}}, form, logp, g)
			for _, x := range []struct {
				what      string
				got, want gorgonia.Value
			}{
				{"scores", do(t, op.Op{Kernel: op.ScoresOfProductOp{Delta: 1}}, mass, table, logp), do(t, op.DirichletScores(1), form, logp)},
				{"by table", do(t, op.Op{Kernel: op.ProductByTableOp{}}, mass, table, logp, g), do(t, op.MatMulTN(), mass, gradients)},
				{"by mass", do(t, op.Op{Kernel: op.ProductByMassOp{}}, mass, table, logp, g), do(t, op.MatMulNT(), gradients, table)},
				{"by log p̂", do(t, op.Op{Kernel: op.ProductByInputOp{Delta: 1}}, mass, table, g), do(t, op.Op{Kernel: op.DirichletByInputOp{Delta: 1}}, form, g)},
			} {
				got, want := graph.Float64s(x.got), graph.Float64s(x.want)
				if dt == tensor.Float32 && x.what == "scores" && !slices.Equal(got, want) {
					t.Errorf("%v: the float32 scores differ from those of the form", size)
				}
				tolerance := map[tensor.Dtype]float64{tensor.Float64: 1e-13, tensor.Float32: 1e-5}[dt] * floats.Norm(want, 2)
				for i, v := range got {
					if !scalar.EqualWithinAbs(v, want[i], tolerance) {
						t.Fatalf("%v, %v, %s: entry %d is %v, want %v", size, dt, x.what, i, v, want[i])
					}
				}
			}
		}
	}
}

// TestLargeFormsAreNotMade: no step of a fit of a thousand classes has a result of B×C²
// entries, by whatever way its gradient goes.
func TestLargeFormsAreNotMade(t *testing.T) {
	const b, k, c = 40, 2, 1000
	w := graph.NewWeights(tensor.Float32)
	w.Add("mass", make([]float64, b*k), b, k)
	w.Add("a", make([]float64, k*c), k, c)
	w.Add("logp", make([]float64, b*c), b, c)
	builder := graph.NewBuilder(w, b)
	scores := builder.Apply(op.DirichletScores(1), builder.MatMul(builder.Weight("mass"), builder.Apply(op.Outer(), builder.Weight("a"), builder.Weight("a"))), builder.Weight("logp"))
	loss := builder.Apply(op.Sum(2), scores)
	if err := builder.Err(); err != nil {
		t.Fatal(err)
	}
	gradients, err := gorgonia.Grad(loss, builder.Weight("mass"), builder.Weight("a"), builder.Weight("logp"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := builder.Compile(append(gradients, loss)...)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range program.Values {
		if n := v.Shape().TotalSize(); n > k*c*c {
			t.Errorf("value %d has %d entries", i, n)
		}
	}
}
