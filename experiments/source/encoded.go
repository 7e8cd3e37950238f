package source

import (
	"context"
	"math/rand/v2"
	"slices"

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

// EncodeTable trains the encoder on the table's training rows, until it is accurate
// and overconfident, and gives its features and logits of the calibration and test rows
// (see [data.OpenRaw]). The shifted rows are the test rows with noise on each
// raw column, N(0, (sd/2)²).
func EncodeTable(ctx context.Context, t *data.Table, e Encoder, seed uint64) (*Problem, error) {
	s := data.RawSettings{Columns: data.AsTheyAre}
	if t.Values != nil {
		s.Columns = nil
	}
	return e.divided(ctx, seed, NoiseShift, func(rng *rand.Rand) (*data.Raw, error) { return t.Divide(s, rng) })
}

// divided encodes the rows that divide divides, and shifts rows by a shift.
func (e Encoder) divided(ctx context.Context, seed uint64, shift Shift,
	divide func(rng *rand.Rand) (*data.Raw, error)) (*Problem, error) {
	rng := rand.New(rand.NewPCG(seed, 1))
	raw, err := divide(rng)
	if err != nil {
		return nil, err
	}
	shifted := raw.Shifted.Set()
	if shift == NoiseShift {
		shifted = noisy(raw.Test.Set(), rand.New(rand.NewPCG(seed, 3)))
	}
	return e.problem(ctx, raw, rng, shifted, shift)
}

// problem trains on the training rows, stopping early on the validation rows if there are
// any, and encodes the other parts; shifted may be nil. Each row is converted to a matrix
// once.
func (e Encoder) problem(ctx context.Context, raw *data.Raw, rng *rand.Rand, shifted *data.Set,
	shift Shift) (*Problem, error) {
	if known := slices.Max(raw.Train.Labels) + 1; known < len(raw.Classes) { // the encoder has logits of so many
		return nil, data.Inputf("", "%s has no training row of class %s, which the encoder could not tell from others; leave its rows out", raw.Name, raw.Classes[known])
	}
	encoder := encoders.MLP{Hidden: e.Hidden, Optim: optim.Settings{Epochs: 100}}
	if err := encoder.Fit(ctx, raw.Train.Set(), raw.Val.Set(), rng); err != nil {
		return nil, err
	}
	p := &Problem{Source: &data.Source{Path: raw.Name, Classes: len(raw.Classes)}, Shift: shift, Notice: raw.Notice}
	for _, part := range []struct {
		raw *data.Set
		dst **data.Set
	}{{raw.Cal.Set(), &p.Source.Cal}, {raw.Test.Set(), &p.Source.Test}, {shifted, &p.Shifted}} {
		if part.raw == nil {
			continue
		}
		var err error
		if *part.dst, err = encoder.Encode(part.raw); err != nil {
			return nil, err
		}
		(*part.dst).Names.Classes = raw.Classes
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

// rawOrigin is the origin of raw rows, which an encoder is trained on first; files are
// those of arg, none of an embedded table and of a source from outside.
func rawOrigin(arg string, given data.RawSettings, files ...string) (*Origin, error) {
	raw, err := data.OpenRaw(arg, given, rand.New(rand.NewPCG(0, 1)))
	if err != nil {
		return nil, err
	}
	digest := "embedded"
	switch {
	case files != nil:
		if digest, err = fileDigest(files...); err != nil {
			return nil, err
		}
	case data.EmbeddedTables[arg] == nil: // nobody knows its files, but its rows are here
		digest = raw.Train.Digest() + raw.Cal.Digest() + raw.Test.Digest()
	}
	if given.Label != "" {
		digest += ", label " + given.Label
	}
	if given.Header != "" {
		digest += ", header " + string(given.Header)
	}
	o := &Origin{
		Name: raw.Name, Dataset: calledInTables(raw.Name),
		Digest:   digest + ", encoded in float64", // lest the cells of another encoding are taken for this one's
		Encoders: MLPs, Shifts: []Shift{ThinShift}, seeded: true, classes: raw.Classes, Notice: raw.Notice,
		size: Size{Rows: raw.Cal.Len(), Classes: len(raw.Classes), Tested: raw.Test.Len()},
	}
	inside := given
	inside.HeldOut = heldOut
	switch table := len(raw.Cal.Shape) == 1; {
	case raw.Shifted != nil:
		o.Shifts = []Shift{GivenShift, ThinShift}
		o.load = rawLoader(arg, given, GivenShift)
	case table:
		o.Shifts = []Shift{RegionShift, NoiseShift, ThinShift}
		o.load, o.loadInside = rawLoader(arg, given, NoiseShift), rawLoader(arg, inside, RegionShift)
	default:
		o.load = rawLoader(arg, given, "")
	}
	return o, nil
}

// rawLoader divides and encodes the raw rows of arg, and shifts rows by a shift.
func rawLoader(arg string, s data.RawSettings, shift Shift) loader {
	return func(ctx context.Context, seed uint64, e Encoder) (*Problem, error) {
		return e.divided(ctx, seed, shift, func(rng *rand.Rand) (*data.Raw, error) { return data.OpenRaw(arg, s, rng) })
	}
}

// weatherOrigin is the weather data in dir.
func weatherOrigin(dir string) (*Origin, error) {
	return rawOrigin(dir, data.RawSettings{}, data.Each(data.WeatherParts, func(part string) string { return data.WeatherFile(dir, part) })...)
}
