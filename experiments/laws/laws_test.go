package laws

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/method"
	"calibra/experiments/run"
	"calibra/experiments/source"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// law says that files which mean the same have the same answers: a method is fitted to a file and to others that the
// law makes of it, and their test rows are compared.
type law struct {
	name string
	// of is what a method must read for the law to say anything of it; "" for all.
	of string
	// base makes the first file of a problem's; nil: it is the problem's own, whose fit all such laws share.
	base func(file) file
	// others are files that mean what the first does.
	others []variant
	// apart is how far two answers lie from each other.
	apart func(base, other answer) float64
	// double and single are how far they may: of methods whose weights are of float64, and of float32.
	double, single float64
}

// variant is a file that means what another does.
type variant struct {
	name string
	of   func(file) file
	back func(*mat.Dense) *mat.Dense // its probabilities as those of the other's rows and classes; nil: they are
}

// answer are probabilities of the test rows.
type answer struct {
	probs  *mat.Dense
	labels []int
	single bool // the model's weights are of float32
	err    error
	took   time.Duration
}

// Tolerances, of methods whose weights are of float64: 1e-9 where both files hold the same numbers, or weights that one
// more division rounds; 1e-6 where sums are taken in another order, or logits are rounded once more in their last digit
// (1e-16), as a fit that stops at a gradient of 1e-9 answers by that over the loss's curvature; 1e-5 where the scores
// themselves are rounded to float32 (6e-8). A method that trains in float32 rounds in each of its steps, and carries
// its own roundings on (single).
const (
	same    = 1e-9
	rounded = 1e-6
	coarse  = 1e-5
)

var laws = []law{
	{name: "weights times a number", base: weighted, others: []variant{{"3w", times(3), nil}}, apart: farthest, double: same, single: coarse},
	{name: "a weight of 2 for all", others: []variant{{"2", func(f file) file {
		return f.with(func(r *rows, _ uint64) { r.weights = slices.Repeat([]float64{2}, r.len()) })
	}, nil}}, apart: farthest, double: same, single: same},
	{name: "a weight of 0 leaves a row out", others: []variant{{"0", nothing, nil}}, apart: farthest, double: same, single: same},
	{name: "a constant for each row", of: "logits", others: []variant{{"constants", constants, nil}}, apart: farthest, double: same, single: same},
	{name: "masks at any depth", of: "logits", base: masked(below), others: []variant{
		{"-1e20", masked(to(-1e20)), nil}, {"-Inf", masked(to(math.Inf(-1))), nil},
	}, apart: farthest, double: rounded, single: rounded},
	{name: "rows in another order", others: []variant{{"permuted", permuted, nil}}, apart: farthest, double: rounded, single: coarse},
	{name: "classes in another order", others: []variant{{"turned", turned, unturned}}, apart: farthest, double: rounded, single: coarse},
	{name: "an offset of the features", of: "features", others: []variant{{"1e4", offset(1e4), nil}}, apart: nlls, double: .002, single: .002},
	{name: "probabilities for logits", of: "logits", others: []variant{{"softmax", probabilities, nil}}, apart: farthest, double: rounded, single: coarse},
	{name: "equal values", of: "logits", base: votes(func(p float64) float64 { return p }), others: []variant{
		{"float32", votes(func(p float64) float64 { return float64(float32(p)) }), nil},
		{"logs of float32", votes(func(p float64) float64 { return float64(float32(math.Log(p))) }), nil},
	}, apart: farthest, double: coarse, single: 1e-3},
}

// farthest is the largest difference of two probabilities.
func farthest(base, other answer) float64 {
	var d mat.Dense
	d.Sub(base.probs, other.probs)
	return math.Max(mat.Max(&d), -mat.Min(&d))
}

// nlls is the difference of the NLL.
func nlls(base, other answer) float64 { return math.Abs(base.nll() - other.nll()) }

func (a answer) nll() (sum float64) {
	for i, y := range a.labels {
		sum -= math.Log(max(a.probs.At(i, y), 1e-12)) / float64(len(a.labels)) // the metrics' floor
	}
	return sum
}

// weighted gives each row a weight from .25 to 3.
func weighted(f file) file {
	return f.with(func(r *rows, number uint64) {
		rng := rand.New(rand.NewPCG(number, 1))
		r.weights = make([]float64, r.len())
		for i := range r.weights {
			r.weights[i] = math.Round(64*(.25+2.75*rng.Float64())) / 64
		}
	})
}

// times multiplies the weights that weighted gives.
func times(by float64) func(file) file {
	return func(f file) file { return weighted(f).with(func(r *rows, _ uint64) { floats.Scale(by, r.weights) }) }
}

// nothing puts rows of weight 0 between the calibration and validation rows, copies of others with other labels and
// logits.
func nothing(f file) file {
	out := f.with(func(r *rows, number uint64) {
		rng := rand.New(rand.NewPCG(number, 2))
		classes := r.logits.RawMatrix().Cols
		var places []int
		var weights []float64
		for i := range r.len() {
			if i%5 == int(number) {
				places, weights = append(places, rng.IntN(r.len())), append(weights, 0)
			}
			places, weights = append(places, i), append(weights, 1)
		}
		*r = *r.at(places)
		r.weights = weights
		for i, w := range weights {
			if w == 0 {
				r.labels[i] = (r.labels[i] + 1) % classes
				floats.Scale(-2, r.logits.RawRowView(i))
			}
		}
	})
	out.test = f.test.clone()
	return out
}

// constants adds a number to the logits of each row, in quarters, so that sums are exact.
func constants(f file) file {
	return f.with(func(r *rows, number uint64) {
		rng := rand.New(rand.NewPCG(number, 3))
		for i := range r.labels {
			floats.AddConst(float64(rng.IntN(400)-200)/4, r.logits.RawRowView(i))
		}
	})
}

// below is a logit 1,000 below the largest of its row, and to(v) is v.
func below(row []float64) float64 { return floats.Max(row) - 1000 }

func to(v float64) func([]float64) float64 { return func([]float64) float64 { return v } }

// masked makes one class of every second row impossible, which is not its label.
func masked(depth func(row []float64) float64) func(file) file {
	return func(f file) file {
		return f.with(func(r *rows, number uint64) {
			rng := rand.New(rand.NewPCG(number, 4))
			classes := r.logits.RawMatrix().Cols
			for i, y := range r.labels {
				k := (y + 1 + rng.IntN(classes-1)) % classes
				if i%2 == 0 {
					r.logits.Set(i, k, depth(r.logits.RawRowView(i)))
				}
			}
		})
	}
}

// permuted puts the rows to fit to in another order.
func permuted(f file) file {
	out := file{test: f.test.clone()}
	out.cal = f.cal.at(rand.New(rand.NewPCG(0, 5)).Perm(f.cal.len()))
	out.val = f.val.at(rand.New(rand.NewPCG(1, 5)).Perm(f.val.len()))
	return out
}

// turned calls class k class k+1, and the last class 0.
func turned(f file) file {
	return f.with(func(r *rows, _ uint64) {
		classes := r.logits.RawMatrix().Cols
		for i := range r.labels {
			row := r.logits.RawRowView(i)
			copy(row, append([]float64{row[classes-1]}, row[:classes-1]...))
			r.labels[i] = (r.labels[i] + 1) % classes
		}
	})
}

func unturned(p *mat.Dense) *mat.Dense {
	n, classes := p.Dims()
	out := mat.NewDense(n, classes, nil)
	out.Apply(func(i, k int, _ float64) float64 { return p.At(i, (k+1)%classes) }, out)
	return out
}

// offset adds a number to the features, which float32 holds.
func offset(by float64) func(file) file {
	return func(f file) file {
		return f.with(func(r *rows, _ uint64) {
			r.features.Apply(func(_, _ int, v float64) float64 { return v + by }, r.features)
		})
	}
}

// probabilities puts the softmax of the logits in their place.
func probabilities(f file) file {
	return f.with(func(r *rows, _ uint64) {
		for i := range r.labels {
			r.logits.SetRow(i, softmax(r.logits.RawRowView(i)))
		}
	})
}

// votes makes smoothed shares of votes of the logits, and numbers of them.
func votes(number func(p float64) float64) func(file) file {
	return func(f file) file {
		return voted(f, 20).with(func(r *rows, _ uint64) {
			classes := r.logits.RawMatrix().Cols
			r.logits.Apply(func(_, _ int, l float64) float64 {
				return number(math.Round(math.Exp(l)*float64(20+classes)) / float64(20+classes))
			}, r.logits)
		})
	}
}

// cheap are settings by which fits are short, of the methods that have them.
var cheap = method.Values{
	"optim.epochs": "3", "codebook.slots": "4", "codebook.codewords": "8", "codebook.passes": "3", "forest.trees": "60", "kcal.folds": "4",
	"joint.slots": "4", "joint.codewords": "8", "odir.strengths": "1e-1,1e-3",
	"optim.gradient": "1e-9", "search.folds": "2", "search.smallest": "1", "search.first": "1", "search.largest": "1",
}

// halted do not come to an optimum, however long they go on: 100 steps do what their thousands do.
var halted = []string{"ts-published", "dc-published", "new-head"}

// settings are those of cheap that the method has.
func settings(m method.Method) string {
	own := method.Values{}
	if slices.Contains(halted, m.Name) {
		own["optim.iterations"] = "100"
	}
	for key, value := range cheap {
		if m.Has(key, nil) {
			own[key] = value
		}
	}
	return own.String()
}

// opened is a file as a command reads it.
func opened(t *testing.T, f file) (*data.Source, error) {
	t.Helper()
	var arrays []data.Array
	for i, r := range f.parts() {
		arrays = append(arrays, data.Array{Name: names[i] + "_features", Value: r.features}, data.Array{Name: names[i] + "_logits", Value: r.logits},
			data.Array{Name: names[i] + "_labels", Value: r.labels})
		if r.weights != nil {
			arrays = append(arrays, data.Array{Name: names[i] + "_weights", Value: r.weights})
		}
	}
	path := filepath.Join(t.TempDir(), "features.npz")
	if err := disk.WriteNPZ(path, arrays...); err != nil {
		t.Fatal(err)
	}
	src, err := data.Open(path)
	if err == nil {
		err = src.Settle("")
	}
	return src, err
}

// asked is what a method is fitted to and asked of.
type asked struct {
	prepared *run.Prepared
	test     *data.Set
	labels   []int
	err      error
}

// prepare makes what all methods of a file share; they stop by its validation rows, and do not measure.
func prepare(t *testing.T, f file, seed uint64) *asked {
	t.Helper()
	src, err := opened(t, f)
	if err != nil {
		return &asked{err: err}
	}
	out := &asked{test: src.Test, labels: f.test.labels}
	src.Test = nil
	out.prepared, out.err = run.Spec{Split: data.PaperText, Seed: seed}.Prepare(&source.Problem{Source: src})
	return out
}

// answers fits the method to what is asked, and answers.
func (q *asked) answers(t *testing.T, m method.Method) (a answer) {
	if q.err != nil {
		return answer{err: q.err}
	}
	start := time.Now()
	defer func() { a.took = time.Since(start) }()
	run, err := run.Spec{Method: m.Name, Split: m.Split(), Seed: 7, Set: settings(m)}.FitPrepared(t.Context(), q.prepared, nil)
	if err != nil {
		return answer{err: err}
	}
	p, err := run.Model.Predict(q.test)
	if err != nil {
		return answer{err: err}
	}
	state, err := run.Model.State()
	if err != nil {
		return answer{err: err}
	}
	a = answer{probs: mat.DenseCopyOf(p.LogProbs), labels: q.labels, single: state.Weights != nil && state.Weights.Dtype() == tensor.Float32}
	a.probs.Apply(func(_, _ int, l float64) float64 { return math.Exp(l) }, a.probs)
	return a
}

// holds is how far the law is from holding, in tolerances of at least finest: at most 1 where it holds.
func (l law) holds(base answer, others []answer, finest float64) (tolerances float64, err error) {
	if base.err != nil {
		return math.Inf(1), base.err
	}
	for i, other := range others {
		if other.err != nil {
			return math.Inf(1), fmt.Errorf("%s: %w", l.others[i].name, other.err)
		}
		if back := l.others[i].back; back != nil {
			other.probs = back(other.probs)
		}
		within := l.double
		if base.single {
			within = l.single
		}
		within = max(within, finest)
		if d := l.apart(base, other); !(d/within <= tolerances) {
			tolerances, err = d/within, fmt.Errorf("%s lies %.3g apart, of at most %g", l.others[i].name, d, within)
		}
	}
	return tolerances, err
}

var timed = flag.Bool("timed", false, "print how long each method's fits took")

// TestLaws holds every method of the catalog to every law on two problems, so that each problem has a third of the
// methods; with CALIBRA_CHECK=all on all of them, and then an excuse that no problem needs is a fault too. It takes
// more than 5 s, as each method is fitted to 16 files of a problem.
func TestLaws(t *testing.T) {
	all := os.Getenv("CALIBRA_CHECK") == "all"
	needed := map[excuse]bool{}
	took := map[string]time.Duration{}
	for turn, p := range problems {
		own := prepare(t, p.file, 7)
		bases, others := make([]*asked, len(laws)), make([][]*asked, len(laws))
		for i, l := range laws {
			if bases[i] = own; l.base != nil {
				bases[i] = prepare(t, l.base(p.file), 7)
			}
			for _, v := range l.others {
				others[i] = append(others[i], prepare(t, v.of(p.file), 7))
			}
		}
		for at, m := range method.All {
			if !all && at%(len(problems)/2) != turn%(len(problems)/2) {
				continue
			}
			t.Run(p.name+"/"+m.Name, func(t *testing.T) {
				first := own.answers(t, m)
				if first.err != nil {
					t.Fatal(first.err)
				}
				took[m.Name] += first.took
				for i, l := range laws {
					if l.of != "" && !slices.Contains(m.Needs, l.of) {
						continue
					}
					base := first
					if bases[i] != own {
						base = bases[i].answers(t, m)
					}
					took[m.Name] += base.took
					var all []answer
					for _, q := range others[i] {
						all = append(all, q.answers(t, m))
						took[m.Name] += all[len(all)-1].took
					}
					tolerances, err := l.holds(base, all, p.finest)
					why := excuses[excuse{m.Name, l.name}]
					switch {
					case why == "" && !(tolerances <= 1):
						t.Errorf("%s: %v; mend the method, or add it with the reason to excused, or to a list in it "+
							"such as onCodewords, in experiments/laws/excuses_test.go", l.name, err)
					case why != "" && !(tolerances <= 1):
						needed[excuse{m.Name, l.name}] = true
					}
				}
			})
		}
	}
	for e := range excuses {
		if !slices.ContainsFunc(laws, func(l law) bool { return l.name == e.law }) {
			t.Errorf("there is no law %q, which %s is excused from", e.law, e.method)
		}
		if _, err := method.Find(e.method); err != nil {
			t.Errorf("%v", err)
		} else if all && !needed[e] {
			t.Errorf("%s is excused from the law %q, which holds for it; take the excuse out", e.method, e.law)
		}
	}
	if *timed {
		for _, m := range slices.SortedFunc(slices.Values(method.All), func(a, b method.Method) int { return cmp.Compare(took[b.Name], took[a.Name]) }) {
			t.Logf("%-20s %.2f s", m.Name, took[m.Name].Seconds())
		}
	}
}
