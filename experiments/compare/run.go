package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/mat"
)

// Settings of a comparison.
type Settings struct {
	Catalog  *experiments.Catalog          // where the methods are looked up; nil: experiments.Methods
	Executor experiments.Executor          // where fits and kernel sums run; nil: in this process
	Methods  []string                      // by their names
	Seeds    []uint64                      // at least one
	Split    data.Protocol                 // where validation rows come from; "": as each method needs
	Set      map[string]experiments.Values // settings of each method
	Jobs     int                           // fits side by side; 0: one a core
	// Observe is told of each fit that ends, one at a time; may be nil.
	Observe func(ended Fit)
}

// Fit is one method with one seed.
type Fit struct {
	Method string
	Seed   uint64
	Shared Scores   // in the embedding shared by all methods
	Own    *Scores  // local metrics in the method's own embedding; nil if it has none
	Short  []string // what it says of each stage of its fit that had to stop before it was done
	Time   time.Duration
	Err    error   // why there are no scores, or nil
	Cost   float64 // about how long it takes beside others
}

// Scores are the metrics of one fit.
type Scores struct {
	Values    metrics.Values
	Intervals [metrics.Metrics]metrics.Interval // 95 %, over the test rows
	NLL       []float64                         // of each test row
	LCE       []float64                         // its bootstrap replicates, the same resamples in every fit; nil without an embedding
	Without   []float64                         // LCE without parts of the test rows, the same in every fit; nil likewise
}

// Fits lists what Run will do: seed by seed, the slowest methods first, so that no
// core is left with a long fit at the end.
func (s Settings) Fits() []Fit {
	var fits []Fit
	for _, seed := range s.Seeds {
		for _, method := range s.Methods {
			cost := 1.0
			if m, err := s.Catalog.Find(method); err == nil && m.StopsEarly {
				cost = 10
			}
			fits = append(fits, Fit{Method: method, Seed: seed, Cost: cost})
		}
		slices.SortStableFunc(fits[len(fits)-len(s.Methods):], func(a, b Fit) int { return cmp.Compare(b.Cost, a.Cost) })
	}
	return fits
}

// Run fits and judges every method with every seed. A method that fails says so in
// its Fit and does not stop the others. If ctx is cancelled, the error wraps
// ctx.Err().
func Run(ctx context.Context, src *data.Source, s Settings) ([]Fit, error) {
	for _, method := range s.Methods {
		if _, err := s.Catalog.Find(method); err != nil {
			return nil, err
		}
	}
	if err := src.Require("cal_labels", "test_labels"); err != nil {
		return nil, err
	}
	fits := s.Fits()
	seeds := map[uint64]*prepared{}
	for _, f := range fits {
		if seeds[f.Seed] == nil {
			seeds[f.Seed] = &prepared{}
		}
	}
	err := experiments.SideBySide(ctx, len(fits), s.Jobs, func(i int) {
		f := &fits[i]
		began := time.Now()
		if p, err := seeds[f.Seed].get(src, s, f.Seed); err != nil {
			f.Err = err
		} else {
			f.run(ctx, p, s)
		}
		f.Time = time.Since(began)
	}, func(i int) {
		if s.Observe != nil {
			s.Observe(fits[i])
		}
	})
	if err != nil {
		return nil, fmt.Errorf("the comparison was not finished and nothing was written: %w", err)
	}
	for _, f := range fits {
		var input *data.InputError
		if errors.As(f.Err, &input) {
			return nil, f.Err // wrong for all seeds and, as a rule, all methods
		}
	}
	return fits, nil
}

// prepared is the split problem of a seed, made by the first fit that needs it.
type prepared struct {
	once  sync.Once
	value *experiments.Prepared
	err   error
}

// shared is the split in which all methods are measured alike: the one that sets rows
// aside, if any method needs it.
func (s Settings) shared() data.Protocol {
	if s.Split != "" {
		return s.Split
	}
	for _, name := range s.Methods {
		if m, err := s.Catalog.Find(name); err == nil && m.StopsEarly {
			return data.PaperText
		}
	}
	return data.NoValidation
}

func (p *prepared) get(src *data.Source, s Settings, seed uint64) (*experiments.Prepared, error) {
	p.once.Do(func() {
		spec := experiments.Spec{Split: s.shared(), Seed: seed}
		p.value, p.err = spec.Prepare(&experiments.Problem{Source: src})
	})
	return p.value, p.err
}

// run fits the method and judges it with intervals.
func (f *Fit) run(ctx context.Context, p *experiments.Prepared, s Settings) {
	defer func() {
		if p := recover(); p != nil {
			f.Err = experiments.Caught(p)
		}
	}()
	spec := experiments.Spec{Catalog: s.Catalog, Executor: s.Executor, Method: f.Method, Split: s.Split, Seed: f.Seed}
	if f.Err = spec.Use(s.Set[f.Method]); f.Err != nil {
		return
	}
	if method, err := s.Catalog.Find(f.Method); err == nil && s.Split == "" {
		spec.Split = method.Split()
	}
	// Without test rows the run does not judge; it is judged here, with intervals.
	unjudged, source := *p, *p.Source
	source.Test = nil
	unjudged.Source = &source
	run, err := spec.FitPrepared(ctx, &unjudged, nil)
	if err != nil {
		f.Err = err
		return
	}
	for _, stage := range run.Stages {
		if !stage.Result.Converged && stage.Result.Ended != "" {
			f.Short = append(f.Short, fmt.Sprintf("%s: %s", stage.Name, stage.Result.Ended))
		}
	}
	f.Err = f.judge(ctx, p, run)
}

func (f *Fit) judge(ctx context.Context, p *experiments.Prepared, run *experiments.Run) error {
	model := run.Model
	measuring, err := run.Spec.Measuring()
	if err != nil {
		return err
	}
	cal, test := run.Source.Cal, p.Source.Test
	predictions, err := model.Predict(test)
	if err != nil {
		return fmt.Errorf("predict the test rows: %w", err)
	}
	score := func(z *mat.Dense) (Scores, error) {
		rng := rand.New(rand.NewPCG(0, 5)) // for all fits alike, which makes their replicates pairs
		r, err := metrics.Evaluate(ctx, predictions.LogProbs, test.Labels, z, measuring,
			metrics.Uncertainty{Redraws: metrics.None}, rng)
		if err != nil {
			return Scores{}, err
		}
		out := Scores{Values: r.Values, Intervals: r.Intervals, NLL: r.NLL}
		if r.Local != nil {
			out.LCE, out.Without = r.Replicates[metrics.LCE], r.Without[metrics.LCE]
		}
		return out, nil
	}
	if f.Shared, err = score(p.Shared); err != nil || p.Shared == nil {
		return err
	}
	own, err := experiments.OwnSpace(model, cal, test)
	if err != nil || own == nil {
		return err
	}
	scores, err := score(own)
	f.Own = &scores
	return err
}
