package op

// Background draws rows for a kernel estimate, some of each class without
// replacement: its inputs are all row numbers sorted by class (N), where each class
// begins in them (C+1), the class of each place of the result (J, ascending), and
// the step number t (1). The draw is a hash of the seed, t and the place, as in
// [Dropout]. No class is asked for more rows than it has.
func Background(seed uint64) Op { return Op{BackgroundOp{seed}} }

// BackgroundOp is the op of [Background].
type BackgroundOp struct{ Seed uint64 }

func (BackgroundOp) Form() string { return "int N, int L, int J, 1 -> int J" }
func (o BackgroundOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, drawBackground, drawBackground)
}

func drawBackground[F Float](o BackgroundOp, v Args[F]) {
	rows, sorted, begins, classes, t := v.OutInts(), v.Ints(0), v.Ints(1), v.Ints(2), uint64(v.In(3)[0])
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
