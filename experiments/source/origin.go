package source

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"calibra/data"
)

// Origin is where a study's problems come from: features of a frozen classifier,
// raw rows that an encoder is trained on first, or a synthetic classifier.
type Origin struct {
	Name     string // as Specs name it: "letter", "cifar10-resnet"
	Dataset  string // "cifar10"
	Backbone string // "resnet", or "" where Encoders name it
	// Digest identifies the origin's contents.
	Digest  string
	digests map[uint64]string // of each seed, where they have files of their own
	// Encoders are the possible encoders of raw rows; nil if there are features
	// already.
	Encoders []Encoder

	// Notice says what is odd about the rows of raw data, "" if nothing is.
	Notice string

	// Shifts are the shifts that its rows can be judged under, the default first.
	Shifts []Shift

	load loader
	// loadInside is load outside the region of RegionShift, nil where there is none.
	loadInside loader
	seeded     bool // whether the problem depends on the seed
	features   bool // whether it is a features file
	classes    []string
	size       Size // of an origin that is slow to load, else zero; encoders set the features
}

// loader makes the problem of a seed.
type loader func(ctx context.Context, seed uint64, e Encoder) (*Problem, error)

// Size is how large an origin's problem is.
type Size struct {
	Rows     int // of calibration, before the split
	Features int // M
	Classes  int // C
	Tested   int // labelled test rows
}

// Load makes the problem of a seed. encoder names one of Encoders, "" the first of them. Under RegionShift the problem
// has no row of the region but its shifted ones; every other shift has the problem of none.
func (o *Origin) Load(ctx context.Context, seed uint64, encoder string, shift Shift) (*Problem, error) {
	if shift != "" && !slices.Contains(o.Shifts, shift) {
		return nil, NoShift(o.Name, shift, o.Shifts)
	}
	e, err := o.encoder(encoder)
	if err != nil {
		return nil, err
	}
	if shift == RegionShift {
		return o.loadInside(ctx, seed, e)
	}
	return o.load(ctx, seed, e)
}

// encoder is the one of Encoders of that name, "" for the first; none where there are features already.
func (o *Origin) encoder(name string) (e Encoder, err error) {
	called := func(e Encoder) string { return e.Name }
	among := func(all []Encoder) bool { return slices.Contains(data.Each(all, called), name) }
	switch {
	case o.Encoders != nil && !among(o.Encoders) && among(slices.Concat(ofTables, ofImages)):
		of, is := "images", "is a table"
		if among(ofTables) {
			of, is = "tables", "holds images"
		}
		err = data.Inputf("", "the encoder %s is for %s, and %s %s; choose one of %s", name, of, o.Name, is, strings.Join(data.Each(o.Encoders, called), ", "))
	case o.Encoders != nil:
		return data.Find("encoder", cmp.Or(name, o.Encoders[0].Name), o.Encoders, called)
	case name != "" && o.digests != nil:
		err = data.Inputf("", "the files of %s have features already; leave --encoder out", o.Name)
	case name != "":
		err = data.Inputf("", "%s has features already; leave --encoder out", o.Name)
	}
	return e, err
}

// Size is the size of the problem with the encoder's rows.
func (o *Origin) Size(ctx context.Context, encoder string) (Size, error) {
	e, err := o.encoder(encoder)
	if err != nil {
		return Size{}, err
	}
	if size := o.size; size.Rows > 0 {
		if o.Encoders != nil {
			size.Features = e.Features()
		}
		return size, nil
	}
	p, err := o.Load(ctx, 0, encoder, "")
	if err != nil {
		return Size{}, err
	}
	return SizeOf(p.Source), nil
}

// Training is about how many seconds the training of the encoder takes on one core, 0 without one.
func (o *Origin) Training(s Size, encoder string) float64 {
	e, err := o.encoder(encoder)
	if o.Encoders == nil || err != nil {
		return 0
	}
	return cmp.Or(e.seconds, 2e-3) * float64(s.Rows)
}

// SizeOf is the size of a problem.
func SizeOf(src *data.Source) (s Size) {
	s.Classes = src.Classes
	if src.Cal != nil {
		s.Rows, s.Features = src.Cal.Len(), src.Cal.Width()
	}
	if src.Test != nil && src.Test.Labels != nil {
		s.Tested = src.Test.Len()
	}
	return s
}

// HoldsFeatures reports whether it is a features file.
func (o *Origin) HoldsFeatures() bool { return o.features }

// Features is the problem of a features file, nil of what is none.
func (o *Origin) Features(ctx context.Context) (*Problem, error) {
	if !o.HoldsFeatures() {
		return nil, nil
	}
	return o.load(ctx, 0, Encoder{})
}

// Seeded reports whether Load's problem differs from seed to seed before it is split.
func (o *Origin) Seeded() bool { return o.seeded }

// Classes are the names of the classes, nil where they have none.
func (o *Origin) Classes() []string {
	if o.classes != nil {
		return o.classes
	}
	if p, err := o.Features(context.Background()); err == nil && p != nil && p.Source.Cal.Names.Classes != nil {
		return p.Source.Cal.Names.Classes
	}
	return knownClasses[o.Dataset]
}
