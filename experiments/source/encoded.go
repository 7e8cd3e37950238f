package source

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"calibra/data"
	"calibra/layers/encoders"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

// Encoder is a network that turns raw rows into features and logits, and how it is trained.
type Encoder struct {
	Name string
	// Hidden are the widths of the hidden layers of an MLP, the last of which is M. It is trained for 100 epochs in
	// float64 on all training rows.
	Hidden []int
	// Network is another architecture, nil of an MLP. It is trained in float32 as calibra pretrain does, on the same rows
	// with the same draws: where a source has no validation rows, a fifth of the training rows stops it.
	Network func() encoders.Network
	Optim   optim.Settings // of the training of Network
	seconds float64        // that the training takes for each calibration row on one core, about; 0: what an MLP takes
}

// Features is M, the width of the features it makes.
func (e Encoder) Features() int {
	if e.Network != nil {
		return e.Network().Width()
	}
	return e.Hidden[len(e.Hidden)-1]
}

// MLPs are the encoders of raw tables and images, the default first.
var MLPs = []Encoder{
	{Name: "mlp", Hidden: []int{256, 128}},
	{Name: "mlp-shallow", Hidden: []int{128}},
	{Name: "mlp-wide", Hidden: []int{512, 256}},
}

// The encoders of the paper (appendix "Training of Classifiers"): Adam, stopped early by the validation NLL, at the rate
// of its FT-Transformer on Weather and of its residual networks on images, with their dropout, which is .5 on
// CIFAR-100. Its residual networks are larger and begin from weights of ImageNet; these are ResNet-20, from scratch.
var (
	ofTables = []Encoder{resMLP, {Name: "ftt", Network: func() encoders.Network { return &encoders.FTTransformer{} },
		Optim: optim.Settings{Rule: optim.Adam{Rate: 1e-4}}, seconds: .2}}
	ofImages = []Encoder{resMLP, residual("resnet", .2), residual("resnet-cifar100", .5)}
	resMLP   = Encoder{Name: "resmlp", Network: func() encoders.Network { return &encoders.ResMLP{} },
		Optim: optim.Settings{Rule: optim.AdamW{WeightDecay: .01}}, seconds: 4e-3}
)

// residual is the paper's recipe of residual networks with a rate of dropout.
func residual(name string, dropout float64) Encoder {
	return Encoder{Name: name, Network: func() encoders.Network { return &encoders.ResNet{Dropout: dropout} },
		Optim: optim.Settings{Rule: optim.Adam{Rate: 3e-4}}, seconds: 2.5}
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
	if shift == NoiseShift {
		raw.Shifted = noisy(raw.Test.Set(), rand.New(rand.NewPCG(seed, 3)))
	}
	p, err := e.problem(ctx, raw, rng, seed)
	if err != nil {
		return nil, err
	}
	if p.Shift = shift; shift == NoiseShift {
		p.Shifted.Numbers = p.Source.Test.Numbers
	}
	return p, nil
}

// problem trains on the training rows, stopping early on the validation rows if there are any, and encodes the other
// parts.
func (e Encoder) problem(ctx context.Context, raw *data.Raw, rng *rand.Rand, seed uint64) (*Problem, error) {
	if known := slices.Max(raw.Train.Labels) + 1; known < len(raw.Classes) { // the encoder has logits of so many
		return nil, data.Inputf("", "%s has no training row of class %s, which the encoder could not tell from others; leave its rows out", raw.Name, raw.Classes[known])
	}
	encode, err := e.trained(ctx, raw, rng, seed)
	if err != nil {
		return nil, err
	}
	p := &Problem{Source: &data.Source{Path: raw.Name, Classes: len(raw.Classes)}, Notice: raw.Notice}
	for _, part := range []struct {
		raw *data.Inputs
		dst **data.Set
	}{{raw.Cal, &p.Source.Cal}, {raw.Test, &p.Source.Test}, {raw.Shifted, &p.Shifted}} {
		if part.raw == nil {
			continue
		}
		if *part.dst, err = encode(part.raw); err != nil {
			return nil, err
		}
		(*part.dst).Names.Classes = raw.Classes
	}
	if len(raw.Test.Shape) == 3 {
		p.Corrupted = corrupted(raw.Test, seed, encode)
	}
	return p, nil
}

// corrupted encodes images under shifts of corruptions, each once.
func corrupted(in *data.Inputs, seed uint64, encode func(*data.Inputs) (*data.Set, error)) func(Shift) (*data.Set, error) {
	var mu sync.Mutex
	known := map[Shift]*data.Set{}
	return func(s Shift) (*data.Set, error) {
		mu.Lock()
		defer mu.Unlock()
		if known[s] != nil {
			return known[s], nil
		}
		kind, severity := s.corruption()
		out, err := encode(in.Corrupt(kind, severity, rand.New(rand.NewPCG(seed, 3))))
		if err == nil {
			out.Names.Classes, out.Numbers, known[s] = in.Classes, data.Each(data.UpTo(in.Len()), in.Number), out
		}
		return out, err
	}
}

// trained is the encoder trained on the training rows, as what it makes of other rows.
func (e Encoder) trained(ctx context.Context, raw *data.Raw, rng *rand.Rand, seed uint64) (
	func(*data.Inputs) (*data.Set, error), error) {
	if e.Network == nil {
		m := encoders.MLP{Hidden: e.Hidden, Optim: optim.Settings{Epochs: 100}}
		err := m.Fit(ctx, raw.Train.Set(), raw.Val.Set(), rng)
		return func(in *data.Inputs) (*data.Set, error) { return m.Encode(in.Set()) }, err
	}
	if err := raw.HoldBack(rng); err != nil {
		return nil, err
	}
	m, _, err := encoders.Train(ctx, e.Network(), raw.Train, raw.Val, encoders.Settings{Optim: e.Optim},
		rand.New(rand.NewPCG(seed, 2)))
	return func(in *data.Inputs) (*data.Set, error) {
		out, err := encoders.EncodeInputs(ctx, m, in)
		if err == nil {
			out.Numbers = data.Each(data.UpTo(in.Len()), in.Number)
		}
		return out, err
	}, err
}

// noisy is x with N(0, (sd/2)²) added to each column.
func noisy(x *data.Set, rng *rand.Rand) *data.Inputs {
	scale := data.FitStandardizer(x.Features)
	z := mat.DenseCopyOf(x.Features)
	z.Apply(func(_, j int, v float64) float64 { return v + scale.SD[j]/2*rng.NormFloat64() }, z)
	return (&data.Table{Features: z, Labels: x.Labels}).Inputs()
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
	if given.LongTail != 0 {
		digest += fmt.Sprintf(", long tail %g", given.LongTail)
	}
	o := &Origin{
		Name: raw.Name, Dataset: calledInTables(raw.Name),
		Digest:   digest + ", encoded in float64", // lest the cells of another encoding are taken for this one's
		Encoders: slices.Concat(MLPs, ofImages), Shifts: []Shift{ThinShift}, seeded: true, classes: raw.Classes, Notice: raw.Notice,
		size: Size{Rows: raw.Cal.Len(), Classes: len(raw.Classes), Tested: raw.Test.Len()},
	}
	inside := given
	inside.HeldOut = heldOut
	table := len(raw.Cal.Shape) == 1
	if table {
		o.Encoders = slices.Concat(MLPs, ofTables)
	}
	switch {
	case raw.Shifted != nil:
		o.Shifts = []Shift{GivenShift, ThinShift}
		o.load = rawLoader(arg, given, GivenShift)
	case table:
		o.Shifts = []Shift{RegionShift, NoiseShift, ThinShift}
		o.load, o.loadInside = rawLoader(arg, given, NoiseShift), rawLoader(arg, inside, RegionShift)
	default:
		o.Shifts = append(o.Shifts, Corruptions...)
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
func weatherOrigin(dir string, given data.RawSettings) (*Origin, error) {
	return rawOrigin(dir, given, data.Each(data.WeatherParts, func(part string) string { return data.WeatherFile(dir, part) })...)
}
