package op

// Take reads the rows of a table (N×M) that rows (B) names: a B×M matrix. Tables
// are data: they have no derivative.
func Take() Op { return Op{TakeOp{Matrix}} }

// TakeCodes is [Take] for a table of codes (N×w).
func TakeCodes() Op { return Op{TakeOp{Codes}} }

// TakeLabels is [Take] for labels (N).
func TakeLabels() Op { return Op{TakeOp{Indices}} }

// TakeWeights is [Take] for one number per row (N).
func TakeWeights() Op { return Op{TakeOp{Vector}} }

// TakeOp is the op of [Take].
type TakeOp struct{ Table Kind }

func (o TakeOp) Form() string {
	table := axesOf(o.Table)
	rows := "B" + table[1:]
	if o.Table.Int {
		table, rows = "int "+table, "int "+rows
	}
	return table + ", int B -> " + rows + " by B"
}

func (o TakeOp) Run(out Value, in []Value) {
	rows, width := Values[int32](in[1]), 1
	if o.Table.Dims == 2 {
		width = columns(in[0])
	}
	switch {
	case o.Table.Int:
		takeRows(Values[int32](out), Values[int32](in[0]), rows, width)
	case IsFloat32(out):
		takeRows(Values[float32](out), Values[float32](in[0]), rows, width)
	default:
		takeRows(Values[float64](out), Values[float64](in[0]), rows, width)
	}
}

func takeRows[T Float | int32](out, table []T, rows []int32, width int) {
	for i, r := range rows {
		copy(out[i*width:(i+1)*width], table[int(r)*width:])
	}
}
