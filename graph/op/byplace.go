package op

import (
	"fmt"

	"calibra/graph/simd"
)

// byPlaceOp lists of each place of a table, codeword k of slot i, the rows whose slot i has this codeword,
// ascending: w·K places where the lists end, then the lists, one after another.
type byPlaceOp struct{ K int }

func (o byPlaceOp) Form() string { return fmt.Sprintf("int B w -> int w*%d+B*w", o.K) }

func (o byPlaceOp) Run(out Value, in []Value) {
	s, w := Values[int32](in[0]), columns(in[0])
	ends, rows := splitLists(Values[int32](out), len(s))
	clear(ends)
	for b := 0; b < len(s); b += w {
		for i, code := range s[b : b+w] {
			if code < 0 || int(code) >= o.K {
				panic(fmt.Sprintf("op: code %d of %d codewords", code, o.K))
			}
			ends[i*o.K+int(code)]++
		}
	}
	start := int32(0)
	for p, n := range ends { // where lists begin
		ends[p], start = start, start+n
	}
	for b := 0; b < len(s); b += w {
		for i, code := range s[b : b+w] {
			end := &ends[i*o.K+int(code)]
			rows[*end] = int32(b / w)
			*end++
		}
	}
}

// splitLists are the ends of lists, and the lists, of so many numbers in all.
func splitLists(of []int32, numbers int) (ends, lists []int32) {
	places := len(of) - numbers
	return of[:places], of[places:]
}

// scatterByPlaceOp is [TableScatter] of rows that [byPlaceOp] has listed: each row of the table is the
// sum of the rows in its list, in the order in which TableScatter adds them.
type scatterByPlaceOp struct{ K int }

func (o scatterByPlaceOp) Form() string {
	return fmt.Sprintf("int w*%[1]d+B*w, int B w, B C -> w*%[1]d C", o.K)
}

func (o scatterByPlaceOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, scatterByPlace, scatterByPlace)
}

// placeBlock is about how many rows of lists one call adds up, and widestPlace the width of rows up to
// which one has room beside the others in a cache: wider ones are added where they stand.
const (
	placeBlock  = 1 << 12
	widestPlace = 64
)

func scatterByPlace[F Float](_ scatterByPlaceOp, v Args[F]) {
	table, x, c := v.Out(), v.In(2), v.Columns(2)
	ends, lists := splitLists(v.Ints(0), len(v.Ints(1)))
	sum := pick[func(y, x []F, rows []int32)](simd.SumListed, simd.SumListed64)
	inBlocks(len(ends), max(1, placeBlock*len(ends)/max(1, len(lists))), func(lo, hi int) {
		begin := int32(0)
		if lo > 0 {
			begin = ends[lo-1]
		}
		for p := lo; p < hi; p++ {
			sum(table[p*c:(p+1)*c], x, lists[begin:ends[p]])
			begin = ends[p]
		}
	})
}
