package layers

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// allCodes has every kind of codes of this package, with 6 codewords.
var allCodes = map[string][]Codes{
	"ByColumn":  {ByColumn{Codebook{Codewords: 6}}},
	"Cityblock": {Cityblock{Codebook{Codewords: 6}}, Cityblock{KMeans{Codewords: 6}}},
	"Codebook":  {Codebook{Codewords: 6}, Codebook{Codewords: 1}, Codebook{Codewords: 6, Start: ZeroStart{}}},
	"Fixed":     {Fixed{Codewords: 6}},
	"Indices":   {Indices{Codewords: 6}},
	"KMeans":    {KMeans{Codewords: 6}},
	"Residual": {
		Residual{Of: KMeans{Codewords: 6}}, Residual{Of: Fixed{Codewords: 6}, Levels: 3}, Residual{Of: Fixed{Codewords: 6}, Levels: 1},
	},
	"Scaled": {Scaled{Codebook{Codewords: 6}}, Scaled{Soft{Of: KMeans{Codewords: 6}, Nearest: 2}}},
	"Soft":   {Soft{Of: Codebook{Codewords: 6}}, Soft{Of: Codebook{Codewords: 1}}, Soft{Of: Fixed{Codewords: 6}, Nearest: 3, Softness: 2}},
}

// dividers are a calibrator on each kind of codes, named.
func dividers(visit func(name string, c Codes, d *Divide, of *Trained)) {
	short := optim.Settings{Epochs: 3}
	for name, variants := range allCodes {
		for _, c := range variants {
			d := &Divide{Slots: 4, Codebook: c, Optim: short}
			visit(name, c, d, Train(d, Bilinear{Scale: LearnedScale{}, Prior: LearnedPrior{}}, short))
		}
	}
}

// TestCodesLaws: a fit repeats, its rows sum to one, a saved model predicts the same and a state
// that does not fit is refused; shares of each slot sum to one, masses to w; the twin keeps the shape
// and is its own.
func TestCodesLaws(t *testing.T) {
	cal, val, test := blobs(300, 1), blobs(80, 2), blobs(100, 3)
	dividers(func(name string, c Codes, d *Divide, of *Trained) {
		t.Run(name, func(t *testing.T) {
			if err := of.Fit(t.Context(), cal, val, newRand(4)); err != nil {
				t.Fatal(err)
			}
			p, err := of.Predict(test)
			if err != nil {
				t.Fatal(err)
			}
			again := Train(&Divide{Slots: 4, Codebook: c, Optim: optim.Settings{Epochs: 3}}, of.Map, of.By)
			if err := again.Fit(t.Context(), cal, val, newRand(4)); err != nil {
				t.Fatal(err)
			}
			saved := Train(&Divide{Slots: 4, Codebook: c}, of.Map, of.By)
			file := reread(t, name, of, saved)
			for _, other := range []*Trained{again, saved} {
				if q, err := other.Predict(test); err != nil || !mat.Equal(p.LogProbs, q.LogProbs) {
					t.Errorf("%+v: fitted again or restored it predicts something else (%v)", c, err)
				}
			}
			if err := saved.Restore(State{file.State.Config, graph.NewWeights(tensor.Float32)}); err == nil {
				t.Error("a state without weights is accepted")
			}
			holdsView(t, d, test)
			if twin, err := c.Twin().Over(cal, 4); err != nil || !reflect.DeepEqual(twin, d.Sizes()) || c.Twin().Twin() != c.Twin() {
				t.Errorf("the twin has sizes %+v, not %+v (%v)", twin, d.Sizes(), err)
			}
		})
	})
}

// holdsView checks codes, shares, masses and quantized features of a fitted base.
func holdsView(t *testing.T, d *Divide, x *data.Set) {
	t.Helper()
	v, err := d.View(x)
	if err != nil {
		t.Fatal(err)
	}
	s := d.Sizes()
	p := s.Slots * s.CodesOf()
	if len(v.Codes) != x.Len()*p || v.Shares != nil && len(v.Shares) != len(v.Codes) {
		t.Fatalf("%d codes and %d shares of %d rows of %d", len(v.Codes), len(v.Shares), x.Len(), p)
	}
	mass := codewordMass(tensor.Float64, v.Codes, v.Shares, s).Float64s()
	for row := range x.Len() {
		var total float64
		for _, n := range mass[row*s.Codewords:][:s.Codewords] {
			total += n
		}
		if !(math.Abs(total-s.Whole()) <= 1e-5) { // shares are float32
			t.Fatalf("row %d has mass %v, not %v", row, total, s.Whole())
		}
	}
	for at, k := range v.Codes {
		place, slot := s.Place(at, k), at/s.CodesOf()%s.Slots
		if each := s.Places() / s.Slots; s.Tables == nil && place/each != slot || s.Tables != nil && place != int(k) {
			t.Fatalf("codeword %d of slot %d is at place %d of %d", k, slot, place, s.Places())
		}
	}
	// The graph's quantized features are those of the report.
	features := NewFeatures(x.Features, d.weights)
	if err := d.fits(x); err != nil {
		t.Fatal(err)
	}
	f := graph.NewFunction(d.weights, func(b *graph.Builder) gorgonia.Nodes {
		return gorgonia.Nodes{assign(b, d.codes(), features.Take(b, "features"), s).Quantized(b, s)}
	})
	tables, err := f.Tables(x.Len(), EvaluationBatch)
	if err != nil {
		t.Fatal(err)
	}
	embedded, err := d.Embed(x)
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range graph.Float64s(tables[0]) {
		_, m := embedded.Dims()
		if got := embedded.At(i/m, i%m); !(math.Abs(got-q) <= 1e-5*(1+math.Abs(q))) { // float32 sums of few terms
			t.Fatalf("quantized feature %d is %v, in the graph %v", i, got, q)
		}
	}
	usage := d.Quantized(v).Usage()
	n := 0
	for _, u := range usage {
		n += u
	}
	if n != x.Len()*int(s.Whole()) {
		t.Errorf("%d codes are counted, not %v of each row", n, s.Whole())
	}
}

// TestCityblockCodes: each slot has the codeword that double precision finds nearest by ℓ1, and some have another by
// ℓ2; codes of several codewords have no such distance.
func TestCityblockCodes(t *testing.T) {
	cal := blobs(300, 1)
	d := &Divide{Slots: 2, Codebook: Cityblock{Codebook{Codewords: 12}}, Optim: optim.Settings{Epochs: 2}}
	if err := d.Fit(t.Context(), cal, nil, newRand(4)); err != nil {
		t.Fatal(err)
	}
	v, err := d.View(cal)
	if err != nil {
		t.Fatal(err)
	}
	words, z, others := d.weights.Float64s("codebook/codewords"), LessCentre(cal.Features, d.weights), 0
	for at, got := range v.Codes {
		var by1, by2 []float64
		for k := range 12 {
			var l1, l2 float64
			for j := range 4 {
				e := float64(float32(z.At(at/2, at%2*4+j))) - words[4*k+j]
				l1, l2 = l1+math.Abs(e), l2+e*e
			}
			by1, by2 = append(by1, l1), append(by2, l2)
		}
		if want := floats.MinIdx(by1); int(got) != want {
			t.Fatalf("slot %d has codeword %d at %v, not %d at %v", at, got, by1[got], want, by1[want])
		}
		if floats.MinIdx(by2) != int(got) {
			others++
		}
	}
	if others == 0 {
		t.Error("no slot tells l1 from l2")
	}
	var setting *SettingError
	if _, err := (Cityblock{Soft{}}).Over(cal, 2); !errors.As(err, &setting) {
		t.Errorf("soft codes by l1: %v", err)
	}
}

// TestIndicesStayTheControl: no codes that compare slots with codewords build upon them.
func TestIndicesStayTheControl(t *testing.T) {
	cal := blobs(50, 1)
	for _, c := range []Codes{
		Cityblock{Indices{Codewords: 4}}, Soft{Of: Indices{Codewords: 4}}, Residual{Of: Indices{Codewords: 4}},
		Cityblock{ByColumn{Indices{Codewords: 4}}}, Soft{Of: Scaled{Indices{Codewords: 4}}},
	} {
		var setting *SettingError
		if _, err := c.Over(cal, 2); !errors.As(err, &setting) || !strings.Contains(err.Error(), "random indices") {
			t.Errorf("%s: %v", NameOf(c), err)
		}
	}
}

// TestIndicesTellNothing: all codes are as frequent, by χ² on K − 1 degrees at 1e-6, among slots that are near one
// codeword too, and a row has them again in another set.
func TestIndicesTellNothing(t *testing.T) {
	cal := blobs(2000, 1)
	d := &Divide{Slots: 2, Codebook: Indices{Codewords: 8}, Optim: optim.Settings{Epochs: 1}}
	if err := d.Fit(t.Context(), cal, nil, newRand(4)); err != nil {
		t.Fatal(err)
	}
	all, err := d.View(cal)
	if err != nil {
		t.Fatal(err)
	}
	few, err := d.View(cal.Rows([]int{7, 1999}))
	if err != nil || !slices.Equal(few.Codes, slices.Concat(all.Codes[14:16], all.Codes[3998:])) {
		t.Errorf("rows have other codes among others: %v (%v)", few, err)
	}
	counts := make([][8]float64, cal.Classes()) // of each label, which the blobs lie by
	for at, k := range all.Codes {
		counts[cal.Labels[at/2]][k]++
	}
	for label, n := range counts {
		chi, each := 0.0, floats.Sum(n[:])/8
		for _, x := range n {
			chi += (x - each) * (x - each) / each
		}
		if chi > 40.5 { // the quantile of 7 degrees
			t.Errorf("rows of label %d have codes %v, χ² %.1f", label, n, chi)
		}
	}
}

// leftBy is the norm of what codes leave of the features in so many slots, and the quantized features.
func leftBy(t *testing.T, c Codes, cal *data.Set, slots int) (float64, *Quantized) {
	t.Helper()
	d := &Divide{Slots: slots, Codebook: c, Optim: optim.Settings{Epochs: 1}}
	if err := d.Fit(t.Context(), cal, nil, newRand(6)); err != nil {
		t.Fatal(err)
	}
	q, err := d.Embed(cal)
	if err != nil {
		t.Fatal(err)
	}
	var diff mat.Dense
	diff.Sub(LessCentre(cal.Features, d.weights), q)
	return mat.Norm(&diff, 2), q.(*Quantized)
}

// TestResidualLevelsAreNearer: each further level leaves less of the slots, and L levels of K codewords less than L·K
// codewords of one.
func TestResidualLevelsAreNearer(t *testing.T) {
	cal := blobs(400, 5)
	left := func(c Codes) float64 {
		far, _ := leftBy(t, c, cal, 2)
		return far
	}
	twelve := KMeans{Codewords: 12}
	one, two, three := left(twelve), left(Residual{Of: twelve}), left(Residual{Of: twelve, Levels: 3})
	if wide := left(KMeans{Codewords: 36}); !(three < two && two < one && three < wide) {
		t.Errorf("1, 2 and 3 levels of 12 codewords leave %v, %v and %v, 36 codewords %v", one, two, three, wide)
	}
}

// TestTablesAreThoseOfTheSlots: sizes whose tables are of other slots, or have other codewords in all, are no divided
// space.
func TestTablesAreThoseOfTheSlots(t *testing.T) {
	for _, c := range []struct {
		tables []int
		holds  bool
	}{
		{nil, true}, {[]int{2, 3}, true}, {[]int{}, false}, {[]int{5}, false}, {[]int{2, 2}, false}, {[]int{5, 0}, false},
		{[]int{1, 1, 3}, false},
	} {
		s := Sizes{Features: 8, Slots: 2, Codewords: 5, Tables: c.tables}
		if _, err := s.SlotWidth(); (err == nil) != c.holds {
			t.Errorf("tables of %v codewords: %v", c.tables, err)
		}
	}
}

// straying are codes of the second slot that are of the first one's table.
type straying struct{ Fixed }

func (c straying) Over(cal *data.Set, slots int) (Sizes, error) {
	s, err := c.Fixed.Over(cal, slots)
	s.Tables = []int{2, 3}
	return s, err
}

// unsaid are two codes of each slot, without a word of what they add up to.
type unsaid struct{ Residual }

func (c unsaid) Over(cal *data.Set, slots int) (Sizes, error) {
	s, err := c.Residual.Over(cal, slots)
	s.Share = 0
	return s, err
}

// TestCodesMustBeWhatOverSays of them.
func TestCodesMustBeWhatOverSays(t *testing.T) {
	for says, c := range map[string]Codes{
		"its codewords are 0 to 1":                    straying{Fixed{Codewords: 5}},
		"add up to 3, and its Over says 1: set Share": unsaid{Residual{Of: Fixed{Codewords: 5}, Levels: 3}},
	} {
		d := &Divide{Slots: 2, Codebook: c, Optim: optim.Settings{Epochs: 1}}
		if err := d.Fit(t.Context(), blobs(100, 1), nil, newRand(2)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%T: %v", c, err)
		}
	}
}

// TestSoftCodesHarden: at a temperature near 0 soft codes are those of the kind they soften.
func TestSoftCodesHarden(t *testing.T) {
	cal, test := blobs(300, 1), blobs(100, 3)
	for _, c := range []Codes{Codebook{Codewords: 6}, Fixed{Codewords: 6}, KMeans{Codewords: 6}} {
		var said []*data.Predictions
		for _, codes := range []Codes{c, Soft{Of: c, Nearest: 3, Softness: 1e-9}} {
			m := Train(&Divide{Slots: 4, Codebook: codes, Optim: optim.Settings{Epochs: 3}}, Bilinear{}, optim.Settings{Epochs: 3})
			if err := m.Fit(t.Context(), cal, nil, newRand(4)); err != nil {
				t.Fatal(err)
			}
			p, err := m.Predict(test)
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, p)
		}
		var diff mat.Dense
		diff.Sub(said[0].LogProbs, said[1].LogProbs)
		if d := mat.Norm(&diff, math.Inf(1)); !(d <= 1e-4) { // the sums of quantized features run in another order, in float32, for 6 epochs
			t.Errorf("%T: hardened soft codes move a log-probability by %v", c, d)
		}
	}
}

// TestSoftnessIsTheMeanGap between the nearest codeword and the second, in double precision from
// the features and codewords alone.
func TestSoftnessIsTheMeanGap(t *testing.T) {
	cal := blobs(300, 1)
	d := &Divide{Slots: 4, Codebook: Soft{Of: Fixed{Codewords: 6}, Softness: 2}, Optim: optim.Settings{Epochs: 1}}
	if err := d.Fit(t.Context(), cal, nil, newRand(4)); err != nil {
		t.Fatal(err)
	}
	words, z, want := d.weights.Float64s("codebook/codewords"), LessCentre(cal.Features, d.weights), 0.0
	for i := range cal.Len() {
		for slot := range 4 {
			var apart []float64
			for k := range 6 {
				x, y := z.At(i, 2*slot)-words[2*k], z.At(i, 2*slot+1)-words[2*k+1]
				apart = append(apart, x*x+y*y)
			}
			slices.Sort(apart)
			want += 2 * (apart[1] - apart[0]) / float64(4*cal.Len())
		}
	}
	if got := d.weights.Float64s("codebook/temperature")[0]; !(math.Abs(got-want) <= 1e-5*want) { // kept in float32
		t.Errorf("the temperature is %v, not %v", got, want)
	}
}

// TestTwinsNeverMove: the codewords of a twin are slots of the calibration rows less the centre.
func TestTwinsNeverMove(t *testing.T) {
	cal := blobs(300, 1)
	for _, c := range []Codes{Codebook{Codewords: 6}, KMeans{Codewords: 6}, Soft{Of: Codebook{Codewords: 6}}} {
		d := &Divide{Slots: 4, Codebook: c.Twin(), Optim: optim.Settings{Epochs: 3}}
		if err := d.Fit(t.Context(), cal, nil, newRand(4)); err != nil {
			t.Fatal(err)
		}
		slots, z := map[[2]float32]bool{}, LessCentre(cal.Features, d.weights)
		for i := range cal.Len() {
			for s := range 4 {
				slots[[2]float32{float32(z.At(i, 2*s)), float32(z.At(i, 2*s+1))}] = true
			}
		}
		words := d.weights.Tensor("codebook/codewords").Float32s()
		for k := 0; k < len(words); k += 2 {
			if !slots[[2]float32{words[k], words[k+1]}] {
				t.Errorf("the twin of %T has a codeword that is no slot", c)
			}
		}
	}
}

// TestKMeansIsNearer: k-means leaves less of the slots than drawn codewords, and has none without
// a slot.
func TestKMeansIsNearer(t *testing.T) {
	cal := blobs(400, 5)
	left := map[string]float64{}
	for name, c := range map[string]Codes{"drawn": Fixed{Codewords: 24}, "k-means": KMeans{Codewords: 24}} {
		far, q := leftBy(t, c, cal, 4)
		left[name] = far
		if usage := q.Usage(); name == "k-means" && slices.Contains(usage, 0) {
			t.Errorf("%s: usage %v", name, usage)
		}
	}
	if !(left["k-means"] < left["drawn"]) {
		t.Errorf("distortions %v", left)
	}
}

// TestCodesRefuseRows that do not allow them.
func TestCodesRefuseRows(t *testing.T) {
	var setting *SettingError
	for name, variants := range allCodes {
		if _, err := variants[0].Over(blobs(5, 1), 4); !errors.As(err, &setting) {
			t.Errorf("%s of 6 codewords on 5 rows: %v", name, err)
		}
		if _, err := variants[0].Over(blobs(50, 1), 3); !errors.As(err, &setting) {
			t.Errorf("%s in 3 slots of 8 features: %v", name, err)
		}
	}
}

// TestEveryKindOfCodesIsChecked reads the package's source: each type with a Twin is in allCodes.
func TestEveryKindOfCodesIsChecked(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == "Twin" && f.Recv != nil {
				found++
				if kind := f.Recv.List[0].Type.(*ast.Ident).Name; len(allCodes[kind]) == 0 {
					t.Errorf("codes %s have no row in allCodes", kind)
				}
			}
		}
	}
	if found != len(allCodes) {
		t.Errorf("%d kinds of codes have a twin, allCodes has %d rows", found, len(allCodes))
	}
}

// silent are codes without codewords: whether the first feature is above that of a row.
type silent struct{ Fixed }

func (silent) Init(w *graph.Weights, cal *data.Set, _ Sizes, _ *rand.Rand) error {
	w.AddState("codebook/threshold", []float64{cal.Features.At(0, 0), cal.Features.At(0, 0) + 1}, 2, 1)
	return nil
}

func (silent) State(Sizes) map[string]tensor.Shape {
	return map[string]tensor.Shape{"codebook/threshold": {2, 1}}
}

func (silent) Assign(b *graph.Builder, z *gorgonia.Node, _ Sizes) Assignment {
	return Assignment{Codes: b.Apply(op.Nearest(), b.Apply(op.Columns(0), z), b.Weight("codebook/threshold"))}
}

// TestHeadNeedsQuantizedFeatures: codes without them are told by name.
func TestHeadNeedsQuantizedFeatures(t *testing.T) {
	d := &Divide{Slots: 1, Codebook: silent{Fixed{Codewords: 2}}}
	err := d.Fit(t.Context(), blobs(100, 1), nil, newRand(2))
	if err == nil || !strings.Contains(err.Error(), ": silent has no codewords") {
		t.Errorf("the fit says %v", err)
	}
}

// curious are codes that keep what rows they start from.
type curious struct {
	Fixed
	seen *data.Set
}

func (c *curious) Init(w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	c.seen = cal
	return c.Fixed.Init(w, cal, s, rng)
}

// TestCodesSeeNoLabels, nor logits: they are made once of all rows, some of which then judge the maps on them.
func TestCodesSeeNoLabels(t *testing.T) {
	c, cal := &curious{Fixed: Fixed{Codewords: 2}}, blobs(100, 1)
	cal.Logits = mat.NewDense(100, 3, nil)
	if err := (&Divide{Slots: 4, Codebook: c, Optim: optim.Settings{Epochs: 1}}).Fit(t.Context(), cal, nil, newRand(2)); err != nil {
		t.Fatal(err)
	}
	if x := c.seen; x.Labels != nil || x.Logits != nil || x.Soft != nil || x.Features == nil {
		t.Errorf("codes start from %+v", x)
	}
}

// TestCodesOfOtherShapesAreRefused: shares where a slot has one codeword.
func TestCodesOfOtherShapesAreRefused(t *testing.T) {
	d := &Divide{Slots: 4, Codebook: sharing{Fixed{Codewords: 2}}}
	if err := d.Fit(t.Context(), blobs(100, 1), nil, newRand(2)); err == nil || !strings.Contains(err.Error(), "the Assign of sharing") {
		t.Errorf("shares of one codeword: %v", err)
	}
}

// sharing are codes of one codeword a slot with shares.
type sharing struct{ Fixed }

func (c sharing) Assign(b *graph.Builder, z *gorgonia.Node, s Sizes) Assignment {
	a := c.Fixed.Assign(b, z, s)
	a.Shares = z
	return a
}
