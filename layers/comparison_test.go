package layers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"

	"gonum.org/v1/gonum/mat"
)

// drawn are n rows of one of several laws: normal, heavy-tailed, with many zeros, whole
// numbers; of classes that are not equally frequent.
func drawn(n, width, classes, law int, rng *rand.Rand) *data.Set {
	x := &data.Set{Labels: make([]int, n), Logits: mat.NewDense(n, classes, nil)}
	features := mat.NewDense(n, width, nil)
	for i := range n {
		y := min(int(float64(classes)*math.Pow(rng.Float64(), 1.3)), classes-1)
		x.Labels[i] = y
		for j := range width {
			v := rng.NormFloat64() + 1.5*math.Sin(float64(1+j*j+3*y*(j+1)))
			switch law {
			case 1:
				v /= math.Abs(rng.NormFloat64()) + .05
			case 2:
				v = math.Max(v, 0)
			case 3:
				v = math.Round(v)
			}
			features.Set(i, j, v)
		}
		for k := range classes {
			x.Logits.Set(i, k, rng.NormFloat64()*1.5+.3*float64(k%3))
		}
		x.Logits.Set(i, y, x.Logits.At(i, y)+3)
	}
	x.Features = features
	return x
}

// stretch multiplies columns of the features.
func stretch(x *data.Set, by float64, columns ...int) {
	features := data.Dense(x.Features)
	for _, j := range columns {
		for i := range x.Len() {
			features.Set(i, j, by*features.At(i, j))
		}
	}
}

func compare(cal, test *data.Set) *Comparison {
	s := NewSample(test.Len())
	s.Add(test)
	return ProfileOf(cal).Compare(s)
}

// TestCleanRowsRaiseNoAlarm draws 1,000 files of 500 rows and more, calibration and test rows
// of one law: an alarm of any kind, on drift too, may come once.
func TestCleanRowsRaiseNoAlarm(t *testing.T) {
	if testing.Short() {
		t.Skip("1,000 files take two seconds and more")
	}
	rng := rand.New(rand.NewPCG(3, 1))
	alarms := 0
	for file := range 1000 {
		n, m := 500+rng.IntN(200), 500+rng.IntN(200)
		width, classes := 1+rng.IntN(24), 2+rng.IntN(8)
		cal, test := drawn(n, width, classes, file%4, rng), drawn(m, width, classes, file%4, rng)
		c := compare(cal, test)
		if len(c.Wrong)+len(c.Drift) > 0 {
			alarms++
			t.Logf("file %d, law %d, %d columns, %d classes: %v %v", file, file%4, width, classes, c.Wrong, c.Drift)
		}
	}
	if alarms > 1 {
		t.Errorf("%d alarms in 1,000 clean files", alarms)
	}
}

func columnsOf(x mat.Matrix, order func(j int) int) *mat.Dense {
	n, m := x.Dims()
	out := mat.NewDense(n, m, nil)
	for i := range n {
		for j := range m {
			out.Set(i, j, x.At(i, order(j)))
		}
	}
	return out
}

// TestWrongColumnsAreNamed has the sentence of each fault, through a model file too.
func TestWrongColumnsAreNamed(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	swap := func(a, b int) func(int) int {
		return func(j int) int {
			switch j {
			case a:
				return b
			case b:
				return a
			}
			return j
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(x *data.Set)
		want  string
	}{
		{"two features", func(x *data.Set) { x.Features = columnsOf(x.Features, swap(3, 17)) }, "features 3 and 17 look exchanged; put the columns of features into the order that the model was fitted on"},
		{"all features", func(x *data.Set) { x.Features = columnsOf(x.Features, func(j int) int { return (j + 1) % 20 }) }, "feature 0 looks like 1 of the fit"},
		{"two classes", func(x *data.Set) { x.Logits = columnsOf(x.Logits, swap(1, 4)) }, "logits 1 and 4 look exchanged; put the columns of logits into the order that the model was fitted on"},
		{"all classes", func(x *data.Set) { x.Logits = columnsOf(x.Logits, func(j int) int { return (j + 2) % 6 }) }, "logit 0 looks like 2 of the fit"},
		{"scaled features", func(x *data.Set) { data.Dense(x.Features).Scale(255, x.Features) }, "the features look scaled otherwise: the spread of the middle column is"},
		{"one scaled feature", func(x *data.Set) { stretch(x, 100, 7) }, "feature 7 looks scaled otherwise: its spread is "},
		{"two scaled features", func(x *data.Set) { stretch(x, .01, 2, 7) }, "features 2 and 7 look scaled otherwise: the spread of 2 is 0.01"},
		{"five scaled features", func(x *data.Set) { stretch(x, 10, 0, 2, 4, 6, 8) }, "features 0, 2, 4 and 2 more look scaled otherwise: the spread of 0 is "},
		{"scaled logits", func(x *data.Set) { x.Logits.Scale(.1, x.Logits) }, "the logits look scaled otherwise: the spread of the middle column is"},
	} {
		for law := range 4 {
			cal, test := drawn(900, 20, 6, law, rng), drawn(700, 20, 6, law, rng)
			c.spoil(test)
			got := strings.Join(compare(cal, test).Wrong, "; ")
			if !strings.Contains(got, c.want) {
				t.Errorf("%s, law %d: it says %q", c.name, law, got)
			}
		}
	}
}

// TestDriftIsToldWithItsSize, and is no error.
func TestDriftIsToldWithItsSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	cal, test := drawn(800, 5, 3, 0, rng), drawn(800, 5, 3, 0, rng)
	shifted := data.Dense(test.Features)
	for i := range 800 {
		shifted.Set(i, 2, shifted.At(i, 2)+1)
	}
	c := compare(cal, test)
	if len(c.Wrong) != 0 || len(c.Drift) != 1 || c.Drift[0].Column != 2 || c.Drift[0].Drifted != 1 || c.Drift[0].Was-c.Drift[0].Is < .2 {
		t.Errorf("it says %v and %+v", c.Wrong, c.Drift)
	}
	if got := fmt.Sprint(c.Drift); !strings.Contains(got, "the features lie otherwise than those of the fit in 1 of 5 columns, most in column 2: ") {
		t.Errorf("the warning is %s", got)
	}
}

// TestFingerprintThroughAFile: what a model file gives back says the same, and one without
// says nothing.
func TestFingerprintThroughAFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	cal, test := drawn(600, 8, 3, 0, rng), drawn(600, 8, 3, 0, rng)
	test.Features = columnsOf(test.Features, func(j int) int { return 7 - j })
	_, read := throughAFile(t, cal, filepath.Join(t.TempDir(), "model.safetensors"))
	s := NewSample(test.Len())
	for lo := 0; lo < 600; lo += 100 { // rows in batches are the same sample
		s.Add(test.Rows(rowsBetween(lo, lo+100)))
	}
	before, after := compare(cal, test), read.Profile.Compare(s)
	if len(before.Wrong) != 1 || fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("%v through a file is %v", before, after)
	}
	read.Profile.Fingerprint = nil
	if c := read.Profile.Compare(s); len(c.Wrong)+len(c.Drift) > 0 {
		t.Errorf("a file without a fingerprint: %v", c)
	}
}

func rowsBetween(lo, hi int) (out []int) {
	for i := lo; i < hi; i++ {
		out = append(out, i)
	}
	return out
}

// TestFingerprintWithoutMoments: class means of a damaged file, whose columns have lost their
// spreads, compare nothing and stop nothing.
func TestFingerprintWithoutMoments(t *testing.T) {
	x := drawn(600, 8, 3, 0, rand.New(rand.NewPCG(7, 1)))
	in := ProfileOf(x)
	if in.Fingerprint.Means == nil {
		t.Fatal("the fingerprint has no class means")
	}
	for _, features := range []*Moments{nil, {Mean: []float64{0}, SD: []float64{1}}} {
		in.Features = features
		s := NewSample(x.Len())
		s.Add(x)
		if c := in.Compare(s); len(c.Wrong) > 0 {
			t.Errorf("%v", c.Wrong)
		}
	}
}
