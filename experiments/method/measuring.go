package method

import (
	"cmp"

	"calibra/data"
	"calibra/experiments/metrics"
)

// Measuring are the settings of metrics among v.
func Measuring(v Values) (metrics.Settings, error) {
	o := Options{Values: v}
	m := o.measuring()
	return m, o.err
}

// measuring reads what the metrics are measured with, which is no matter of the method.
func (o *Options) measuring() metrics.Settings {
	s := metrics.Settings{
		Bins:      o.Int("metrics.bins", 15, 1, "15", "bins of the probabilities"),
		Bandwidth: o.Float("metrics.bandwidth", 10, Positive, "10", "bandwidth γ of the local metrics' kernel, in the embedding's units"),
		SmallBin:  o.Int("metrics.small_bin", 20, 0, "20; ConvNeXt and ViT 10", "local bins of so many rows or fewer are skipped"),
	}
	if s.SmallBin == 0 {
		s.SmallBin = metrics.NoSmallBin
	}
	epsilon := o.FloatOr("metrics.epsilon", "none", inside, "",
		"share ε of the other rows within a row's own bandwidth, in place of metrics.bandwidth for all")
	if epsilon != nil {
		s.Epsilon, s.Bandwidth = *epsilon, 0
		o.exclude("metrics.bandwidth", "with metrics.epsilon each row has a bandwidth of its own")
	}
	if o.Choice("metrics.protocol", "tables", []string{"tables", "formula"}, "tables",
		"definitions of the metrics: those behind the paper's tables, or the formulas of its appendix") == "formula" {
		s.Protocol, s.SmallBin = metrics.Formula, metrics.NoSmallBin
		o.exclude("metrics.small_bin", "the formulas of the appendix skip no bin")
	}
	return s
}

// exclude makes a setting that was chosen an error, and says why it has no meaning.
func (o *Options) exclude(key, why string) {
	if _, given := o.Values[key]; given {
		o.err = cmp.Or[error](o.err, data.Inputf("", "%s; leave %s out", why, key))
	}
}
