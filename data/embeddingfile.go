package data

import "gonum.org/v1/gonum/mat"

// Arrays are scale (2×M, the means of the features over their standard deviations), axes
// (M×P) and variances (1×P).
func (e *Embedding) Arrays() []Array {
	scale := mat.NewDense(2, len(e.Scale.Mean), append(append([]float64{}, e.Scale.Mean...), e.Scale.SD...))
	return []Array{{"scale", scale}, {"axes", e.Axes}, {"variances", mat.NewDense(1, len(e.Variances), e.Variances)}}
}

// ReadEmbedding reads a file of [Embedding.Arrays]; whatever is wrong with it is an *InputError.
func ReadEmbedding(path string) (*Embedding, error) {
	return within(path, (*archive).embedding)
}

func (a *archive) embedding() (_ *Embedding, err error) {
	read := map[string]*mat.Dense{}
	for _, key := range []string{"axes", "scale", "variances"} {
		if read[key], err = a.matrix(key, onlyFinite); err != nil {
			return nil, err
		}
	}
	m, p := read["axes"].Dims()
	for key, want := range map[string][2]int{"scale": {2, m}, "variances": {1, p}} {
		if rows, columns := read[key].Dims(); rows != want[0] || columns != want[1] {
			return nil, Inputf(a.path, "%s is %d×%d, expected %d×%d", key, rows, columns, want[0], want[1])
		}
	}
	return &Embedding{
		Scale: &Standardizer{Mean: read["scale"].RawRowView(0), SD: read["scale"].RawRowView(1)},
		Axes:  read["axes"], Variances: read["variances"].RawRowView(0),
	}, nil
}
