package cli

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"calibra/experiments"
	"calibra/layers"
	"calibra/theory"
)

// ownRate is a rate study of a researcher's own design.
type ownRate struct {
	Map         string    `placeholder:"NAME" help:"Map to study: that of a method such as vq or vq-dc (vq)."`
	Slots       int       `most:"1000000" placeholder:"W" help:"Slots w (3)."`
	Codewords   int       `most:"1000000" placeholder:"K" help:"Codewords K (8)."`
	Classes     int       `most:"1000000" placeholder:"C" help:"Classes C (3)."`
	Atoms       int       `most:"1000000" placeholder:"R" help:"Values of the prediction in each region (6)."`
	Zipf        float64   `placeholder:"X" help:"Codeword k has a frequency proportional to 1/k^X."`
	Decades     float64   `placeholder:"X" help:"Codeword frequencies fall evenly over X decades (2)."`
	Frequencies []float64 `placeholder:"P,…" help:"The frequency of each codeword, up to a factor."`
	Disturbance float64   `placeholder:"X" help:"Noise of the law's logits, which the map cannot represent (0)."`
	Spread      float64   `placeholder:"X" help:"Noise that is added to the map's start to make the truth (0.5)."`
	Shifts      int       `most:"1000000" placeholder:"N" help:"Cyclic shifts of the frequencies (4)."`
	Replicates  int       `most:"1000000" placeholder:"N" help:"Samples per shift and size (40); bands widen with few."`
	Sizes       []int     `placeholder:"N,…" help:"Sample sizes, increasing (chosen by the errors that the theory predicts)."`
	Set         []string  `sep:"none" placeholder:"KEY=VALUE" help:"Codes that make the regions, such as codebook.kind=kmeans: they are fitted to features whose slots lie around K centres of these frequencies. Study propositions takes them too, for the pipeline that it trains."`
}

// given tells whether anything of the study was asked for.
func (o ownRate) given() bool {
	return !reflect.ValueOf(o).IsZero()
}

// codesAlone tells whether nothing but codes was asked for.
func (o ownRate) codesAlone() bool {
	without := o
	without.Set = nil
	return o.Set != nil && !without.given()
}

// codes are those of Set with K codewords unless it says another number; nil where nothing is set.
func (o ownRate) codes(k int) (layers.Codes, error) {
	if o.Set == nil {
		return nil, nil
	}
	v, err := experiments.ReadValues("", o.Set)
	if err != nil {
		return nil, err
	}
	return experiments.CodesOf(v, k)
}

// study is the study "rate" of the design that was asked for.
func (o ownRate) study(studies []string, methods *experiments.Catalog) (theory.Study, error) {
	var none theory.Study
	if len(studies) != 1 || studies[0] != "rate" {
		if o.codesAlone() {
			return none, usageError{fmt.Errorf("codes are set for study rate, whose regions they make, or for propositions, which trains a pipeline; the other studies draw codes by laws: give one of the two, not %q", strings.Join(studies, " "))}
		}
		return none, usageError{fmt.Errorf("a design or a map of your own is for the study rate alone: calibra theory rate --slots 8 …, not %q", strings.Join(studies, " "))}
	}
	name := cmp.Or(o.Map, "vq")
	m, err := mapOf(name, methods)
	if err != nil {
		return none, err
	}
	d, err := o.design()
	if err != nil {
		return none, err
	}
	settings := theory.RateSettings{
		Spread: o.Spread, Disturbance: o.Disturbance, Sizes: o.Sizes, Shifts: o.Shifts, Replicates: o.Replicates,
	}
	if err := settings.Check(); err != nil {
		return none, usageError{err}
	}
	return theory.OwnRate(name, m, d, settings), nil
}

// mapOf is the map of a method.
func mapOf(name string, methods *experiments.Catalog) (layers.Map, error) {
	if name == "vq" {
		// The prior is left out: its shift is free, which the study would find and take out.
		return layers.Bilinear{Prior: layers.UniformPrior{}}, nil
	}
	method, err := methods.Find(name)
	if err != nil {
		return nil, err
	}
	model, _, err := method.Build(experiments.Options{})
	if err != nil {
		return nil, err
	}
	if one, ok := model.(layers.Parametric); ok {
		if m := one.Parameterization(); m != nil {
			return m, nil
		}
	}
	return nil, usageError{fmt.Errorf("method %s is no single map; choose one such as vq or vq-dc", name)}
}

// design is the design of the flags, with its codes.
func (o ownRate) design() (d theory.Design, err error) {
	d = theory.Design{
		Classes: cmp.Or(o.Classes, 3), Slots: cmp.Or(o.Slots, 3), Codewords: cmp.Or(o.Codewords, len(o.Frequencies), 8), Atoms: cmp.Or(o.Atoms, 6),
		Decades: cmp.Or(o.Decades, 2), Zipf: o.Zipf, Law: o.Frequencies,
	}
	if err := d.Check(); err != nil {
		return d, usageError{err}
	}
	if d.Codes, err = o.codes(d.Codewords); err != nil {
		return d, err
	}
	if d.Codes != nil && layers.LooksAtLabels(d.Codes) {
		return d, usageError{errors.New("the labels of study rate tell nothing to codes that look at labels; choose codebook.kind among those of features alone, such as kmeans")}
	}
	return d, nil
}
