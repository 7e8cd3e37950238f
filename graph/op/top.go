package op

import (
	"fmt"
	"slices"
)

// Top is the m largest entries of each row of X (B×C), named by their columns in ascending
// order (B×m); of equal entries the first are larger.
func Top(m int) Op { return Op{TopOp{m}} }

// TopOp is the op of [Top].
type TopOp struct{ M int }

func (o TopOp) Form() string              { return fmt.Sprintf("B C -> int B %[1]d where %[1]d-1 C-%[1]d", o.M) }
func (o TopOp) Run(out Value, in []Value) { Dispatch(o, out, in, largest, largest) }

func largest[F Float](o TopOp, v Args[F]) {
	out, x, m, c := v.OutInts(), v.In(0), o.M, v.Columns(0)
	rowwise(len(x)/c, func(lo, hi int) {
		least := make([]F, m) // −x of the largest so far
		for b := lo; b < hi; b++ {
			top := out[b*m : (b+1)*m]
			for j, x := range x[b*c : (b+1)*c] {
				insert(top, least, min(j, m), int32(j), -x)
			}
			slices.Sort(top)
		}
	})
}
