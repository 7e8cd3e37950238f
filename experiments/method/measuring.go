package method

import "calibra/experiments/metrics"

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
	return s
}
