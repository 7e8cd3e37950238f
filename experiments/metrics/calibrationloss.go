package metrics

// calibrationLosses are, of each row, by e_i = conf_i − hit_i of its top class and ē_{−i}, the mean of e over the other
// rows of its bin b,
//
//	l_i = 2 e_i ē_{−i} − θ_b ,   θ_b the mean of e_i ē_{−i} over the bin
//
// and 0 of a row that is alone in its bin. Their mean is the squared calibration error of the top class without bias
// (Kumar, Liang and Ma 2019), and it varies as they do (its projections: Hoeffding 1948).
func (b *binned) calibrationLosses() []float64 {
	weights, out := b.Weights(), make([]float64, b.N)
	all, mean := newGaps(b.settings.Bins), newGaps(b.settings.Bins)
	for i, w := range weights {
		all.add(b.topBin(i), w, b.Miss(i, b.Classes))
	}
	for i, w := range weights {
		k, e := b.topBin(i), b.Miss(i, b.Classes)
		if others := all.weight[k] - w; others > 1e-12*all.weight[k] { // else rounding alone
			out[i] = e * (all.residual[k] - w*e) / others
		}
		mean.add(k, w, out[i])
	}
	for i := range out {
		k := b.topBin(i)
		out[i] = 2*out[i] - mean.residual[k]/mean.weight[k]
	}
	return out
}
