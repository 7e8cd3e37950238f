package experiments

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
	"calibra/layers/encoders"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

// Encoder is a network that turns raw rows into features and logits.
type Encoder struct {
	Name   string
	Hidden []int // widths of the hidden layers; the last is M
}

// Features is M, the width of the features it makes.
func (e Encoder) Features() int { return e.Hidden[len(e.Hidden)-1] }

// MLPs are the encoders of raw tables and images, the default first.
var MLPs = []Encoder{
	{"mlp", []int{256, 128}},
	{"mlp-shallow", []int{128}},
	{"mlp-wide", []int{512, 256}},
}

// encoding is the training of an encoder that may be watched.
type encoding struct {
	encoder Encoder
	observe func(optim.Epoch)
}

// EncodeTable trains the encoder on 40 % of the table's rows, until it is accurate
// and overconfident, and gives its features and logits of 30 % for calibration and
// of 30 % to test on. The shifted rows are the test rows with noise on each raw
// column, N(0, (sd/2)²).
func EncodeTable(ctx context.Context, t *data.Table, e Encoder, seed uint64, observe func(optim.Epoch)) (*Problem, error) {
	rng := rand.New(rand.NewPCG(seed, 1))
	parts := t.Split([]float64{0.4, 0.3, 0.3}, rng)
	work := encoding{e, observe}
	shifted := noisy(parts[2], rand.New(rand.NewPCG(seed, 3)))
	return work.problem(ctx, t.Name, t.Classes, rng, parts[0], nil, parts[1], parts[2], shifted, NoiseShift)
}

// EncodeInside is EncodeTable on the rows outside the region of [RegionShift] alone; the
// shifted rows are those of the region.
func EncodeInside(ctx context.Context, t *data.Table, e Encoder, seed uint64, observe func(optim.Epoch)) (*Problem, error) {
	inside, region, err := t.HoldOut(heldOut)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	all := t.Set()
	var labels []int
	for _, i := range inside {
		labels = append(labels, t.Labels[i])
	}
	var parts []*data.Set
	for _, at := range data.Stratify(labels, []float64{0.4, 0.3, 0.3}, rng) {
		parts = append(parts, all.Rows(inside).Rows(at))
	}
	return encoding{e, observe}.problem(ctx, t.Name, t.Classes, rng, parts[0], nil, parts[1], parts[2], all.Rows(region), RegionShift)
}

// problem trains on train, stopping early on val if there is one, and encodes the
// other parts; shifted may be nil.
func (w encoding) problem(ctx context.Context, name string, classes []string, rng *rand.Rand, train, val, cal, test, shifted *data.Set, shift Shift) (*Problem, error) {
	if train.Len() == 0 || cal.Len() == 0 || test.Len() == 0 {
		return nil, data.Inputf("", "%s has %d rows, too few to train, calibrate and test on", name, train.Len()+cal.Len()+test.Len())
	}
	if known := slices.Max(train.Labels) + 1; known < len(classes) { // the encoder has logits of so many
		return nil, data.Inputf("", "%s has no training row of class %s, which the encoder could not tell from others; leave its rows out", name, classes[known])
	}
	encoder := encoders.MLP{Hidden: w.encoder.Hidden, Optim: optim.Settings{Epochs: 100, Observe: w.observe}}
	if err := encoder.Fit(ctx, train, val, rng); err != nil {
		return nil, err
	}
	p := &Problem{Source: &data.Source{Path: name, Classes: len(classes)}, Classes: classes, Shift: shift}
	for _, part := range []struct {
		raw *data.Set
		dst **data.Set
	}{{cal, &p.Source.Cal}, {test, &p.Source.Test}, {shifted, &p.Shifted}} {
		if part.raw == nil {
			continue
		}
		var err error
		if *part.dst, err = encoder.Encode(part.raw); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// noisy is x with N(0, (sd/2)²) added to each column.
func noisy(x *data.Set, rng *rand.Rand) *data.Set {
	scale := data.FitStandardizer(x.Features)
	z := mat.DenseCopyOf(x.Features)
	z.Apply(func(_, j int, v float64) float64 { return v + scale.SD[j]/2*rng.NormFloat64() }, z)
	return &data.Set{Features: z, Labels: x.Labels, Numbers: x.Numbers}
}

func tableOrigin(name, digest string, t *data.Table) *Origin {
	o := encoded(&Origin{Name: name, Digest: digest, size: Size{Rows: int(0.3 * float64(t.Len()))}, classes: t.Classes}, func(ctx context.Context, seed uint64, e Encoder) (*Problem, error) {
		return EncodeTable(ctx, t, e, seed, nil)
	})
	o.Shifts = []Shift{RegionShift, NoiseShift, ThinShift}
	o.loadInside = func(ctx context.Context, seed uint64, e Encoder) (*Problem, error) {
		return EncodeInside(ctx, t, e, seed, nil)
	}
	return o
}

// encoded completes the origin of raw rows. Its digest tells how they are encoded
// too, lest the cells of another encoding are taken for this one's.
func encoded(o *Origin, load func(context.Context, uint64, Encoder) (*Problem, error)) *Origin {
	o.Digest += ", encoded in float64"
	o.Dataset, o.Encoders, o.seeded, o.load, o.Shifts = o.Name, MLPs, true, load, []Shift{ThinShift}
	o.size.Classes = len(o.classes)
	return o
}

// csvOrigin is a labelled table, such as those of the UCI repository.
func csvOrigin(path string) (*Origin, error) {
	t, err := data.OpenCSV(path, "")
	if err != nil {
		return nil, err
	}
	digest, err := fileDigest(path)
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".csv")
	return tableOrigin(name, digest, t), nil
}

// cifarOrigin trains on TrainingFractions of the official training images and
// calibrates on the official test images, as the paper does.
func cifarOrigin(path string) (*Origin, error) {
	train, test, err := data.OpenCIFAR(path)
	if err != nil {
		return nil, err
	}
	digest, err := fileDigest(path)
	if err != nil {
		return nil, err
	}
	return encoded(&Origin{Name: train.Name, Digest: digest, size: Size{Rows: test.Len()}, classes: train.Classes}, func(ctx context.Context, seed uint64, e Encoder) (*Problem, error) {
		rng := rand.New(rand.NewPCG(seed, 1))
		parts := data.Stratify(train.Labels, data.TrainingFractions, rng)
		set := func(i int) *data.Set { return numbered(train, parts[i]) }
		return encoding{encoder: e}.problem(ctx, train.Name, train.Classes, rng, set(0), set(1), allRows(test), set(2), nil, "")
	}), nil
}

// medMNISTOrigin trains on half of the official training images, stops early on
// the official validation images, and calibrates on the official test images.
func medMNISTOrigin(path string) (*Origin, error) {
	train, val, test, err := data.OpenMedMNIST(path)
	if err != nil {
		return nil, err
	}
	digest, err := fileDigest(path)
	if err != nil {
		return nil, err
	}
	o := encoded(&Origin{Name: train.Name, Digest: digest, size: Size{Rows: test.Len()}, classes: train.Classes}, func(ctx context.Context, seed uint64, e Encoder) (*Problem, error) {
		rng := rand.New(rand.NewPCG(seed, 1))
		parts := data.Stratify(train.Labels, []float64{0.5, 0.5}, rng)
		set := func(i int) *data.Set { return numbered(train, parts[i]) }
		return encoding{encoder: e}.problem(ctx, train.Name, train.Classes, rng, set(0), allRows(val), allRows(test), set(1), nil, "")
	})
	if o.Dataset == "tissuemnist" {
		o.Dataset = "tissue" // as the paper's tables call it
	}
	return o, nil
}

func allRows(im *data.Images) *data.Set {
	index := make([]int, im.Len())
	for i := range index {
		index[i] = i
	}
	return numbered(im, index)
}

// numbered is the images of those numbers.
func numbered(im *data.Images, index []int) *data.Set {
	set := im.Table(index).Set()
	set.Numbers = index
	return set
}

// weatherOrigin trains on the training part of the canonical partition and
// calibrates on dev_in; the shifted rows are those of eval_out.
func weatherOrigin(dir string) (*Origin, error) {
	parts := []string{"train", "dev_in", "eval_in", "eval_out"}
	t, err := data.OpenWeather(dir, parts, data.WeatherSettings{Rows: data.WeatherRows}, rand.New(rand.NewPCG(0, 1)))
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, part := range parts {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("shifts_canonical_%s.csv", part)))
	}
	digest, err := fileDigest(paths...)
	if err != nil {
		return nil, err
	}
	o := encoded(&Origin{Name: "weather", Digest: digest, size: Size{Rows: t[1].Len()}, classes: t[0].Classes}, func(ctx context.Context, seed uint64, e Encoder) (*Problem, error) {
		rng := rand.New(rand.NewPCG(seed, 1))
		return encoding{encoder: e}.problem(ctx, "weather", t[0].Classes, rng, t[0].Set(), nil, t[1].Set(), t[2].Set(), t[3].Set(), GivenShift)
	})
	o.Shifts = []Shift{GivenShift, ThinShift}
	return o, nil
}

// synthetics are the problems of known posterior by name.
var synthetics = map[string]synthetic{
	"cubic": {data.NewCubic, 4}, "proximity": {data.NewProximity, 4}, "proximity100": {data.NewProximity, 100},
	"rare": {data.NewRare, 4}, "calibrated": {data.NewCalibrated, 4},
}

type synthetic struct {
	problem func(data.SyntheticSettings, *rand.Rand) *data.Synthetic
	classes int
}

// syntheticFeatures is M of the synthetic problems: enough for 32 slots of width 2.
const syntheticFeatures = 64

// syntheticOrigin draws 5,000 calibration, 500 validation and 10,000 test rows.
func syntheticOrigin(name string, s synthetic) *Origin {
	return &Origin{
		Name: name, Dataset: name, Backbone: "known", Digest: "synthetic", seeded: true, Shifts: []Shift{ThinShift},
		size: Size{Rows: 5000, Features: syntheticFeatures, Classes: s.classes},
		load: func(_ context.Context, seed uint64, _ Encoder) (*Problem, error) {
			rng := rand.New(rand.NewPCG(seed, 1))
			g := s.problem(data.SyntheticSettings{Features: syntheticFeatures, Classes: s.classes}, rng)
			p := &Problem{Source: &data.Source{Path: name, Classes: g.Classes}}
			p.Source.Cal, _ = g.Draw(5000, rng)
			p.Source.Val, _ = g.Draw(500, rng)
			p.Source.Test, p.Truth = g.Draw(10000, rng)
			return p, nil
		},
	}
}
