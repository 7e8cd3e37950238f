package study

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"calibra/data"
	"calibra/data/synthetic"
	"calibra/experiments"
	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"
	"calibra/experiments/program"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Truth is the study of metrics against the truth. On sources whose posterior is known it
// measures predictors that are wrong by known amounts, and methods fitted to them, and tests of
// each metric whether it ranks them as their true error does, how often it raises an alarm on calibrated
// predictions, and how often on wrong ones. It has no grid of Specs, so it is none of Studies.
type Truth struct {
	Sources []string             // of TruthSources; nil means all
	Seeds   []uint64             // draws of each source
	Rows    []int                // of each source the first; with more than one, rows, features and classes are varied on one source
	Catalog *experiments.Catalog // where rules are looked up
	Methods []experiments.Method // fitted to 2,000 rows of each source, beside the planted predictors
	Alarms  int                  // draws behind the rates of alarms
	// Set holds settings of each method, by its name.
	Set map[string]experiments.Values
	// Executor is where fits and kernel sums run; nil: in this process.
	Executor experiments.Executor
}

// TruthName and TruthLine are what the command calls it.
const (
	TruthName = "truth"
	TruthLine = "which metric ranks predictors as their true error does, and which raises false alarms"
)

// TruthCell is one draw of one source.
type TruthCell struct {
	Source   string `json:"source"`
	Rows     int    `json:"rows"`
	Features int    `json:"features,omitempty"` // 0: the source's own
	Classes  int    `json:"classes,omitempty"`  // 0: the source's own
	Seed     uint64 `json:"seed"`
	Alarm    bool   `json:"alarm,omitempty"` // only the exact and a middle predictor, with p-values

	of *Truth // what it is computed by
}

func (c TruthCell) String() string {
	s := fmt.Sprintf("%s-%d-rows", c.Source, c.Rows)
	if c.Features > 0 {
		s += fmt.Sprintf("-%d-features", c.Features)
	}
	if c.Classes > 0 {
		s += fmt.Sprintf("-%d-classes", c.Classes)
	}
	if c.Alarm {
		s += "-alarm"
	}
	return fmt.Sprintf("%s-seed-%d", s, c.Seed)
}

// Predictor is what one classifier is truly, and what each metric makes of it.
type Predictor struct {
	Name     string  `json:"name"`
	Absolute float64 `json:"true_absolute"` // mean_i 1/C Σ_c |p − q|
	Squared  float64 `json:"true_squared"`  // mean_i Σ_c (p − q)²
	KL       float64 `json:"true_kl"`
	// Calibration and Regional are mean ‖E[p − q | p]‖² and mean ‖E[p − q | p, region]‖²: without grouping loss.
	Calibration float64            `json:"true_calibration"`
	Regional    float64            `json:"true_regional"`
	Values      map[string]float64 `json:"values"`
	Alarms      map[string]bool    `json:"alarms,omitempty"` // p ≤ .05
}

// TruthResult is a cell with its predictors, and what it was computed with.
type TruthResult struct {
	TruthCell
	Methods    []Fitted        `json:"methods,omitempty"`
	Program    program.Program `json:"program"`
	Predictors []Predictor     `json:"predictors"`
}

// Fitted is a method that a cell fits.
type Fitted struct {
	Method string `json:"method"`
	Set    string `json:"set,omitempty"` // its settings, as in a Spec
}

// sources of package synthetic, with the strengths of their error.
var (
	truthSynthetics = map[string]func(synthetic.Settings, *rand.Rand) *synthetic.Problem{"cubic": synthetic.NewCubic, "proximity": synthetic.NewProximity, "proximity100": synthetic.NewProximity}
	truthStrengths  = []float64{.1, .2, .35, .5, .75, 1, 1.5}
)

// TruthSources are the sources in the order of the tables, those of many classes last.
var TruthSources = []string{"cubic", "proximity", "global", "local", "mixed", "rare", "heavy", "many", "proximity100"}

// The other axes are measured on one source.
const axisSource = "mixed"

// otherShapes are the features and classes that it is drawn with besides its own.
var otherShapes = []TruthCell{{Features: 12}, {Features: 200}, {Classes: 2}, {Classes: 10}}

const alarmRows = 500

// Cells are the study's cells: the sources by rows and seeds, the axes, the alarms, the diagnoses.
func (t *Truth) Cells() (cells []Cell) {
	sources := t.Sources
	if sources == nil {
		sources = TruthSources
	}
	for _, seed := range t.Seeds {
		for _, source := range sources {
			cells = append(cells, TruthCell{of: t, Source: source, Rows: t.Rows[0], Seed: seed})
		}
	}
	axes := data.Each(t.Rows[1:], func(rows int) TruthCell { return TruthCell{Rows: rows} }) // beside the first rows of one source
	if axes != nil {
		axes = append(axes, otherShapes...)
	}
	for _, seed := range t.Seeds {
		for _, c := range axes {
			c.of, c.Source, c.Rows, c.Seed = t, axisSource, cmp.Or(c.Rows, t.Rows[0]), seed
			cells = append(cells, c)
		}
	}
	for k := range t.Alarms {
		cells = append(cells, TruthCell{of: t, Source: axisSource, Rows: alarmRows, Seed: uint64(1000 + k), Alarm: true})
	}
	return append(cells, data.Each(t.diagnoses(), func(d DiagnosisRate) Cell { return d })...)
}

// fitted are the methods that the cell fits.
func (c TruthCell) fitted() []Fitted {
	if c.Alarm {
		return nil
	}
	return data.Each(c.of.Methods, func(m experiments.Method) Fitted { return Fitted{m.Name, c.of.Set[m.Name].String()} })
}

func (c TruthCell) task() Task {
	fitted := c.fitted()
	names := data.Each(fitted, func(f Fitted) string { return f.Method })
	return Task{ID: truthID(c, fitted), Method: strings.Join(names, ","), Data: c.Source, Seed: c.Seed, Cell: c.String()}
}

// truthID is the id of a cell: its draw and, where it fits methods, a digest of these and
// of their settings.
func truthID(c TruthCell, fitted []Fitted) string {
	if len(fitted) == 0 {
		return c.String()
	}
	return c.String() + "-" + digestOf(fitted)[:10]
}

func (TruthCell) shares() []string { return nil }
func (TruthCell) blank() kept      { return &TruthResult{} }

func (r *TruthResult) program() *program.Program { return &r.Program }
func (r *TruthResult) id() string                { return truthID(r.TruthCell, r.Methods) }

// compute measures all that is said of the cell's rows.
func (c TruthCell) compute(ctx context.Context, _ *workshop) (kept, func(path string) error, error) {
	r := &TruthResult{TruthCell: c, Methods: c.fitted()}
	drawn, err := c.of.draw(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range drawn.said {
		if c.Alarm && p.name != "exact" && p.name != alarmGrade {
			continue
		}
		measured, err := c.of.measure(ctx, c, drawn, p.logProbs)
		if err != nil {
			return nil, nil, err
		}
		measured.Name = p.name
		r.Predictors = append(r.Predictors, measured)
	}
	return r, nil, nil
}

// alarmGrade is the wrong predictor of the alarms.
const alarmGrade = "local 0.38"

// drawn are rows of a source with all that is said of them.
type drawn struct {
	labels    []int
	embedding *mat.Dense
	truth     *mat.Dense
	region    []int // of each row, by the embedding alone
	said      []named
	reached   *metrics.Recovered // by corrections of the source's own classifier
}

type named struct {
	name     string
	logProbs *mat.Dense
}

const methodRows = 2000

// draw makes the rows of a cell and its predictors: exact, planted, fitted.
func (t *Truth) draw(ctx context.Context, c TruthCell) (*drawn, error) {
	d := &drawn{}
	set, cal := d.planted(c)
	d.labels = set.Labels
	embed, err := data.FitEmbedding(cal.Features, 0)
	if err != nil {
		return nil, err
	}
	d.embedding = embed.Apply(set.Features)
	tree, err := diagnosis.GrowTree(d.embedding, nil, diagnosis.TreeSettings{Codewords: targetRegions}, rand.New(rand.NewPCG(c.Seed, 15)))
	if err != nil {
		return nil, err
	}
	d.region = tree.Leaf(d.embedding)
	if d.reached, err = diagnosis.Recover(ctx, layers.LogSoftmax(set.Logits), d.labels, d.embedding, diagnosis.Recovery{}, rand.New(rand.NewPCG(c.Seed, 14))); err != nil {
		return nil, err
	}
	if c.Alarm {
		return d, nil
	}
	for _, m := range t.Methods {
		l, err := t.fit(ctx, m, set, cal, c.Seed)
		if err != nil {
			return nil, err
		}
		d.said = append(d.said, named{m.Name, l})
	}
	return d, nil
}

// planted draws the rows of a source, and those for the fits of methods, with the exact predictor and the wrong ones.
func (d *drawn) planted(c TruthCell) (set, cal *data.Set) {
	make := truthSynthetics[c.Source]
	if make == nil {
		rng := rand.New(rand.NewPCG(c.Seed, 11))
		g := synthetic.NewPlanted(c.Source, synthetic.PlantedSettings{Features: c.Features, Classes: c.Classes}, rng)
		var said []*mat.Dense
		cal, _, said = g.Draw(methodRows, rng)
		cal.Logits = said[len(said)-1]
		set, d.truth, said = g.Draw(c.Rows, rng)
		for k, l := range said {
			d.said = append(d.said, named{g.Grades[k].Name, l})
		}
		set.Logits = said[len(said)-1]
		return set, cal
	}
	settings := synthetic.Settings{Features: 64}
	if c.Source == "proximity100" {
		settings.Classes = 100
	}
	for _, settings.Strength = range truthStrengths {
		rng := rand.New(rand.NewPCG(c.Seed, 11)) // the same rows for each strength
		g := make(settings, rng)
		cal, _ = g.Draw(methodRows, rng)
		var q *mat.Dense
		set, q = g.Draw(c.Rows, rng)
		if d.truth == nil {
			d.truth = q
			d.said = append(d.said, named{"exact", logOf(q)})
		}
		d.said = append(d.said, named{fmt.Sprintf("strength %g", settings.Strength), layers.LogSoftmax(set.Logits)})
	}
	return set, cal
}

// fit fits a method to the rows of cal and returns its predictions for those of set.
func (t *Truth) fit(ctx context.Context, m experiments.Method, set, cal *data.Set, seed uint64) (*mat.Dense, error) {
	_, features := set.Features.Dims()
	model, _, err := m.Build(experiments.Options{Catalog: t.Catalog, Features: features, Values: t.Set[m.Name], Executor: t.Executor})
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 12))
	parts := cal.Stratify([]float64{.9, .1}, rng)
	if err := model.Fit(ctx, cal.Rows(parts[0]), cal.Rows(parts[1]), rng); err != nil {
		return nil, fmt.Errorf("fit %s: %w", m.Name, err)
	}
	p, err := model.Predict(set)
	if err != nil {
		return nil, fmt.Errorf("predict by %s: %w", m.Name, err)
	}
	return p.LogProbs, nil
}

func logOf(q *mat.Dense) *mat.Dense {
	l := mat.DenseCopyOf(q)
	l.Apply(func(_, _ int, v float64) float64 { return math.Log(v) }, l)
	return l
}

// measure takes all metrics of one predictor.
func (t *Truth) measure(ctx context.Context, c TruthCell, d *drawn, l *mat.Dense) (Predictor, error) {
	p := d.errors(l)
	redraws := metrics.None
	if c.Alarm {
		redraws, p.Alarms = alarmRedraws, map[string]bool{}
	}
	rng := func() *rand.Rand { return rand.New(rand.NewPCG(c.Seed, 13)) }
	r, err := metrics.Evaluate(ctx, l, d.labels, d.embedding, metrics.Settings{Executor: t.Executor}, metrics.Uncertainty{Replicates: metrics.None, Redraws: redraws}, rng())
	if err != nil {
		return p, err
	}
	for m := range metrics.Metrics {
		p.set(m.String(), r.Values[m])
		if noise := r.Noise[m]; noise != nil && m != metrics.Accuracy {
			p.Alarms[m.String()] = noise.PValue <= .05
		}
	}
	p.set("skce", r.Checks.SKCE)
	if noise := r.Checks.SKCENoise; noise != nil {
		p.Alarms["skce"] = noise.PValue <= .05
	}
	if err := t.measureNear(ctx, c, d, l, &p); err != nil {
		return p, err
	}
	g, err := diagnosis.Recover(ctx, l, d.labels, d.embedding, diagnosis.Recovery{}, rng())
	if err != nil {
		return p, err
	}
	for name, gain := range map[string]metrics.Gain{"recoverable_shared": metrics.Recoverable(r.NLL, d.reached.ReachedNLL), "recoverable_nll": g.NLL.Total} {
		p.set(name, gain.Value)
		if c.Alarm {
			p.Alarms[name] = gain.Low > 0
		}
	}
	return p, nil
}

// errors is a predictor with its true errors.
func (d *drawn) errors(l *mat.Dense) Predictor {
	truth := metrics.NewTruth(l, d.truth)
	p := Predictor{
		Values: map[string]float64{}, Absolute: truth.LCE, KL: truth.KL,
		Calibration: calibrationError(l, d.truth, nil), Regional: calibrationError(l, d.truth, d.region),
	}
	n, _ := l.Dims()
	for i := range n {
		for k, q := range d.truth.RawRowView(i) {
			e := math.Exp(l.At(i, k)) - q
			p.Squared += e * e / float64(n)
		}
	}
	return p
}

// measureNear takes LCE at a narrower bandwidth, and the U-statistic of near neighbours.
func (t *Truth) measureNear(ctx context.Context, c TruthCell, d *drawn, l *mat.Dense, p *Predictor) error {
	if !c.Alarm {
		m, err := metrics.Measure(ctx, l, d.labels, d.embedding, metrics.Settings{Bandwidth: 3, Executor: t.Executor})
		if err != nil {
			return err
		}
		p.set("lce_3", m.Values[metrics.LCE])
	}
	value, se := squaredError(d.embedding, l, d.labels, 50)
	p.set("squared_50nn", value)
	if c.Alarm {
		p.Alarms["squared_50nn"] = value > distuv.UnitNormal.Quantile(.95)*se
	}
	return nil
}

const alarmRedraws = 19

// set keeps a number; what could not be measured is left out.
func (p *Predictor) set(name string, x float64) {
	if !math.IsNaN(x) {
		p.Values[name] = x
	}
}
