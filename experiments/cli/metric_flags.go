package cli

import (
	"fmt"

	"calibra/experiments/metrics"
)

// MetricFlags say what is measured, by calibra evaluate and by calibra-beam evaluate.
type MetricFlags struct {
	Protocol   metrics.Protocol `default:"tables" placeholder:"tables|formula" help:"What the metrics mean: as behind the paper's tables, or as its appendix prints them (${default})."`
	Bandwidth  float64          `default:"10" help:"Bandwidth γ of the Gaussian kernel, in the embedding's units (${default})."`
	Bins       int              `most:"100000" default:"15" help:"Bins of the unit interval (${default})."`
	SmallBin   *int             `most:"1000000000" placeholder:"20" help:"Local bins of so many rows or fewer are skipped, under the protocol tables; 0 skips none (20; the paper has 10 for ConvNeXt and ViT)."`
	Weights    string           `default:"uniform" enum:"uniform,frequency" placeholder:"uniform|frequency" help:"Weights of the classes: equal, or as frequent as the labels (${default})."`
	Redraws    int              `most:"100000" default:"50" help:"Redraws of the labels from the predictions for the noise floor; 0 for none (${default})."`
	Replicates int              `most:"100000" default:"200" help:"Bootstrap replicates for the intervals; 0 for none (${default})."`
	Seed       uint64           `default:"0" help:"Seed of all that is drawn at random (${default})."`
}

// fewestReplicates is of package metrics: fewer have no 2.5 % quantile.
const fewestReplicates = 40

// Settings turns the flags into settings, in which 0 means the default. What is wrong with
// them is an error with the exit code of wrong usage.
func (f *MetricFlags) Settings() (s metrics.Settings, u metrics.Uncertainty, err error) {
	switch {
	case !(f.Bandwidth > 0):
		return s, u, usageError{fmt.Errorf("--bandwidth is %v; it must be positive", f.Bandwidth)}
	case f.Bins < 1:
		return s, u, usageError{fmt.Errorf("--bins is %d; there must be at least one", f.Bins)}
	case f.Redraws < 0:
		return s, u, usageError{fmt.Errorf("--redraws is %d; it must be 0 or more", f.Redraws)}
	case f.Replicates < 0 || f.Replicates > 0 && f.Replicates < fewestReplicates:
		return s, u, usageError{fmt.Errorf("--replicates is %d; it must be 0, for no intervals, or at least %d", f.Replicates, fewestReplicates)}
	case f.SmallBin != nil && *f.SmallBin < 0:
		return s, u, usageError{fmt.Errorf("--small-bin is %d; it must be 0 or more", *f.SmallBin)}
	}
	s = metrics.Settings{Protocol: f.Protocol, Bins: f.Bins, Bandwidth: f.Bandwidth}
	if f.SmallBin != nil {
		if s.SmallBin = *f.SmallBin; s.SmallBin == 0 {
			s.SmallBin = metrics.NoSmallBin
		}
	}
	if f.Weights == "frequency" {
		s.Weighting = metrics.Frequency
	}
	orNone := func(n int) int {
		if n == 0 {
			return metrics.None
		}
		return n
	}
	return s, metrics.Uncertainty{Replicates: orNone(f.Replicates), Redraws: orNone(f.Redraws)}, nil
}
