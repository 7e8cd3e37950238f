package cli

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/sampleuv"
)

// plantedFault is made data whose error is known: the truth is softmax(s), s linear in features x ~ N(0, I), and the
// classifier says softmax(2.2 s) for some rows.
type plantedFault struct {
	name  string
	rows  int
	wrong func(hospital string, top int, x []float64) bool
	says  []string // the place is by construction, its numbers are this program's on this draw
}

var hospitals, animals = []string{"East", "North", "South"}, []string{"cat", "dog", "fox"}

var plantedFaults = []plantedFault{
	{name: "nowhere", rows: 2000,
		wrong: func(string, int, []float64) bool { return false },
		says:  []string{"Leave it as it is.", "Calibrated as far as 2,000 rows can tell."}},
	{name: "one hospital", rows: 2000,
		wrong: func(h string, _ int, _ []float64) bool { return h == "East" },
		says: []string{"Wrong in East: says .83, right in .67 (678 rows); " +
			"North and South are calibrated as far as 1,322 rows can tell."}},
	{name: "one class in one hospital", rows: 3000,
		wrong: func(h string, top int, _ []float64) bool { return h == "East" && top == 1 },
		says: []string{"Wrong in East, predicted dog: says .85, right in .76 (286 rows); " +
			"North and South are calibrated as far as 2,032 rows can tell."}},
	{name: "two places", rows: 3000,
		wrong: func(h string, top int, _ []float64) bool { return h == "East" || h == "North" && top == 1 },
		says: []string{"Wrong in East: says .85, right in .69 (982 rows). Wrong in North, predicted dog: " +
			"says .76, right in .58 (220 rows); South is calibrated as far as 1,001 rows can tell."}},
	{name: "one region", rows: 2000,
		wrong: func(_ string, _ int, x []float64) bool { return x[0] > .7 },
		says:  []string{"Wrong where age > 0.71; predicted dog (74 %): says .93, right in .84 (369 rows)."}},
	{name: "everywhere", rows: 1000,
		wrong: func(string, int, []float64) bool { return true },
		says:  []string{"Wrong everywhere alike: says .84, right in .72 (1,000 rows)."}},
	{name: "too few rows", rows: 110,
		wrong: func(h string, _ int, _ []float64) bool { return h == "East" },
		says:  []string{"Calibrated as far as 110 rows can tell."}},
}

// write writes the draw as a features file.
func (f *plantedFault) write(t *testing.T) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(67, uint64(len(f.name))))
	n, c := f.rows, len(animals)
	x, logits, labels, where := mat.NewDense(n, 4, nil), mat.NewDense(n, c, nil), make([]int, n), make([]string, n)
	slopes := mat.NewDense(4, c, nil)
	normal := func(int, int, float64) float64 { return rng.NormFloat64() }
	x.Apply(normal, x)
	slopes.Apply(normal, slopes)
	logits.Mul(x, slopes)
	for i := range n {
		s := logits.RawRowView(i)
		p := make([]float64, c)
		for k, v := range s {
			p[k] = math.Exp(v)
		}
		labels[i], _ = sampleuv.NewWeighted(p, rng).Take()
		where[i] = hospitals[rng.IntN(len(hospitals))]
		if f.wrong(where[i], floats.MaxIdx(s), x.RawRowView(i)) {
			floats.Scale(2.2, s)
		}
	}
	path := filepath.Join(t.TempDir(), "rows.npz")
	err := disk.WriteNPZ(path, data.Array{Name: "test_features", Value: x}, data.Array{Name: "test_logits", Value: logits},
		data.Array{Name: "test_labels", Value: labels}, data.Array{Name: "test_groups", Value: where},
		data.Array{Name: "class_names", Value: animals},
		data.Array{Name: "feature_names", Value: []string{"age", "height", "pulse", "weight"}})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDiagnosisNamesTheFault: the terminal names where the predictions are wrong, and nothing else.
func TestDiagnosisNamesTheFault(t *testing.T) {
	for _, f := range plantedFaults {
		t.Run(f.name, func(t *testing.T) {
			code, text, said := calibra(t, "diagnose", "--in", f.write(t), "--redraws", "199", "--out", t.TempDir())
			if code != 0 {
				t.Fatal(said)
			}
			text = strings.Join(strings.Fields(text), " ")
			for _, want := range f.says {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in %s", want, text)
				}
			}
		})
	}
}
