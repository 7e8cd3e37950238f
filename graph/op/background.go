package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Background draws rows for a kernel estimate, some of each class without
// replacement: its inputs are all row numbers sorted by class (N), where each class
// begins in them (C+1), the class of each place of the result (J, ascending), and
// the step number t (1). The draw is a hash of the seed, t and the place, as in
// [Dropout]. No class is asked for more rows than it has.
func Background(seed uint64) Op { return Op{BackgroundOp{seed}} }

// BackgroundOp is the op of [Background].
type BackgroundOp struct{ Seed uint64 }

func (BackgroundOp) Signature() []Kind { return []Kind{Indices, Indices, Indices, Vector, Indices} }

func (BackgroundOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return in[2].Clone(), nil }

func (o BackgroundOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	var t uint64
	if in[3].Dtype() == tensor.Float32 {
		t = uint64(Values[float32](in[3])[0])
	} else {
		t = uint64(Values[float64](in[3])[0])
	}
	rows, sorted, begins, classes := Values[int32](out), Values[int32](in[0]), Values[int32](in[1]), Values[int32](in[2])
	key := mix(o.Seed + mix(t))
	for lo := 0; lo < len(classes); {
		class, hi := classes[lo], lo+1
		for hi < len(classes) && classes[hi] == class {
			hi++
		}
		drawWithout(rows[lo:hi], sorted[begins[class]:begins[class+1]], key+uint64(lo))
		lo = hi
	}
}

// drawWithout fills out with distinct elements of from (Floyd's algorithm, Bentley
// and Floyd 1987).
func drawWithout(out, from []int32, key uint64) {
	for i := range out {
		last := len(from) - len(out) + i
		pick := from[mix(key+uint64(i))%uint64(last+1)]
		for _, taken := range out[:i] {
			if taken == pick {
				pick = from[last]
				break
			}
		}
		out[i] = pick
	}
}
