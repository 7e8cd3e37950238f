package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Take reads the rows of a table (N×M) that rows (B) names: a B×M matrix. Tables
// are data: they have no derivative.
func Take() Op { return Op{take{matrix}} }

// TakeCodes is [Take] for a table of codes (N×w).
func TakeCodes() Op { return Op{take{codes}} }

// TakeLabels is [Take] for labels (N).
func TakeLabels() Op { return Op{take{indices}} }

// TakeWeights is [Take] for one number per row (N).
func TakeWeights() Op { return Op{take{vector}} }

type take struct{ table kind }

func (o take) signature() []kind { return []kind{o.table, indices, o.table} }

func (o take) shape(in []tensor.Shape) (tensor.Shape, error) {
	s := in[0].Clone()
	s[0] = in[1][0]
	return s, nil
}

func (o take) run(out gorgonia.Value, in []gorgonia.Value) {
	rows, width := values[int32](in[1]), 1
	if o.table.dims == 2 {
		width = columns(in[0])
	}
	switch {
	case o.table.whole:
		takeRows(values[int32](out), values[int32](in[0]), rows, width)
	case isFloat32(out):
		takeRows(values[float32](out), values[float32](in[0]), rows, width)
	default:
		takeRows(values[float64](out), values[float64](in[0]), rows, width)
	}
}

func takeRows[T float | int32](out, table []T, rows []int32, width int) {
	for i, r := range rows {
		copy(out[i*width:(i+1)*width], table[int(r)*width:])
	}
}
