package op

import (
	"fmt"

	"calibra/graph/simd"
	"calibra/graph/work"
)

// TableSum adds one row of a table for each slot. The table is (w·K)×C, K rows for
// each of the w slots, and codes (B×w) are which:
//
//	y_b = Σ_i T[i·K + s(b,i)]
//
// It is the product of the table with w one-hot vectors laid end to end, without
// them.
func TableSum() Op { return Op{TableSumOp{}} }

// TableScatter is the transpose of TableSum: from codes (B×w) and x (B×C) it adds each row
// of x to the w rows of a (w·K)×C table that the codes name.
func TableScatter(k int) Op { return Op{TableScatterOp{K: k}} }

// TableSumOp is the op of [TableSum].
type TableSumOp struct{}

func (TableSumOp) Form() string                { return "R C, int B w -> B C by B where R/w" }
func (o TableSumOp) Run(out Value, in []Value) { Dispatch(o, out, in, tableSum, tableSum) }

func tableSum[F Float](_ TableSumOp, v Args[F]) {
	y, table, s, w, c := v.Out(), v.In(0), v.Ints(1), v.Columns(1), v.Columns(0)
	k, sum := v.Shape(0)[0]/w, pick[func(y, table []F, codes []int32, k int)](simd.SumRows, simd.SumRows64)
	work.Each(len(s)/w, rowBlock, func(b int) {
		sum(y[b*c:][:c], table, s[b*w:][:w], k)
	})
}

func (TableSumOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{TableScatter(in[0].Shape()[0]/in[1].Shape()[1]).Of(in[1], g), nil}
}

// TableScatterOp is the op of [TableScatter].
type TableScatterOp struct{ K int }

func (o TableScatterOp) Form() string              { return fmt.Sprintf("int B w, B C -> w*%d C", o.K) }
func (o TableScatterOp) Run(out Value, in []Value) { Dispatch(o, out, in, tableScatter, tableScatter) }

// slotBlock is how many slots, each with a table of its own, one thread adds to.
const slotBlock = 16

func tableScatter[F Float](o TableScatterOp, v Args[F]) {
	table, s, x, w, c, k := v.Out(), v.Ints(0), v.In(1), v.Columns(0), v.Columns(1), o.K
	add := pick[func(table, x []F, codes []int32, k int)](simd.AddToRows, simd.AddToRows64)
	clear(table)
	work.Ranges(w, slotBlock, func(lo, hi int) {
		part := table[lo*k*c : hi*k*c]
		for b := range len(s) / w {
			add(part, x[b*c:][:c], s[b*w+lo:b*w+hi], k)
		}
	})
}

func (TableScatterOp) Grad(in Nodes, _, g *Node) Nodes { return Nodes{nil, TableSum().Of(g, in[0])} }

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
	placeBlock  = 1 << 13
	widestPlace = 64
)

func scatterByPlace[F Float](_ scatterByPlaceOp, v Args[F]) {
	table, x, c := v.Out(), v.In(2), v.Columns(2)
	ends, lists := splitLists(v.Ints(0), len(v.Ints(1)))
	sum := pick[func(y, x []F, rows []int32)](simd.SumListed, simd.SumListed64)
	inLists(ends, len(lists), func(lo, hi int, begin int32) {
		for p := lo; p < hi; p++ {
			sum(table[p*c:(p+1)*c], x, lists[begin:ends[p]])
			begin = ends[p]
		}
	})
}

// inLists calls f for lists lo … hi−1 of so many numbers, with where the first of them begins, side by side.
func inLists(ends []int32, numbers int, f func(lo, hi int, begin int32)) {
	work.Ranges(len(ends), max(1, placeBlock*len(ends)/max(1, numbers)), func(lo, hi int) {
		begin := int32(0)
		if lo > 0 {
			begin = ends[lo-1]
		}
		f(lo, hi, begin)
	})
}

// ShareSum is the product E·T of a sparse matrix E (B×R) with a table T (R×C). Row b of E is
// given by p places of the table with their shares (B×p each):
//
//	y_b = Σ_j e_bj T[place_bj]
//
// Places go slot by slot: the places of the i-th of w slots lie in the i-th of w equal parts of the
// table. With one place for each slot and shares of 1 it is [TableSum].
func ShareSum(w int) Op { return Op{ShareSumOp{w}} }

// ShareScatter is its transpose, Eᵀ·x of x (B×C), for a table of that many rows.
func ShareScatter(w, rows int) Op { return Op{ShareScatterOp{w, rows}} }

// ShareSumOp is the op of [ShareSum].
type ShareSumOp struct{ Slots int }

func (o ShareSumOp) Form() string {
	return fmt.Sprintf("R C, int B p, B p -> B C where p/%[1]d R/%[1]d", o.Slots)
}
func (o ShareSumOp) Run(out Value, in []Value) {
	runLookedUp(largestOp{}, checkedSumOp(o), out, []Value{in[1], in[0], in[2]})
}

// largestOp is the greatest of places as if they were unsigned, so that one below 0 is greater than any other.
type largestOp struct{}

func (largestOp) Form() string { return "int B p -> int 1" }

func (largestOp) Run(out Value, in []Value) {
	Values[int32](out)[0] = int32(simd.Largest(Values[int32](in[0])))
}

// checkedSumOp is [ShareSum] of places whose largest is known, so that they need not be gone through in each step.
type checkedSumOp struct{ Slots int }

func (checkedSumOp) Form() string                { return "int 1, int B p, R C, B p -> B C" }
func (o checkedSumOp) Run(out Value, in []Value) { Dispatch(o, out, in, checkedSum, checkedSum) }

func checkedSum[F Float](_ checkedSumOp, v Args[F]) {
	y, places, shares, p, c := v.Out(), v.Ints(1), v.In(3), v.Columns(1), v.Columns(2)
	if most, rows := uint32(v.Ints(0)[0]), v.Shape(2)[0]; len(places) > 0 && most >= uint32(rows) {
		panic(fmt.Sprintf("op: place %d of %d rows", int32(most), rows))
	}
	table := widen(v.In(2), c, len(places))
	defer table.back()
	work.Ranges(len(places)/p, rowBlock, func(lo, hi int) {
		ends := borrow[int32](hi - lo)
		defer ends.back()
		for b := range ends.values {
			ends.values[b] = int32((b + 1) * p)
		}
		table.sum(y[lo*c:hi*c], 0, ends.values, places[lo*p:hi*p], shares[lo*p:hi*p])
	})
}

// wideTable is a table (R×C) whose rows are copied to wider ones where [simd.SumShares] adds those up faster.
type wideTable[F Float] struct {
	rows     []F
	c, width int
	copied   *scratch[F] // nil where they are not
}

// widen is a table with rows of c numbers, so many of which are to be added up.
func widen[F Float](table []F, c, places int) wideTable[F] {
	t, n := wideTable[F]{table, c, c, nil}, len(table)/c
	if any(*new(F)) == any(float32(0)) && places > 2*n {
		t.width = simd.WideRow(c)
	}
	if t.width > c {
		t.copied = borrow[F](n * t.width)
		t.rows = t.copied.values
		work.Ranges(n, rowBlock, func(lo, hi int) {
			for r := lo; r < hi; r++ {
				row := t.rows[r*t.width:][:t.width]
				clear(row[copy(row, table[r*c:][:c]):])
			}
		})
	}
	return t
}

func (t wideTable[F]) back() {
	if t.copied != nil {
		t.copied.back()
	}
}

// sum is [simd.SumShares] of places that the table has.
func (t wideTable[F]) sum(y []F, begin int32, ends, places []int32, shares []F) {
	sum := pick[func(y, table []F, c int, begin int32, ends, places []int32, shares []F)](simd.SumSharesChecked, simd.SumShares64)
	if t.copied == nil {
		sum(y, t.rows, t.c, begin, ends, places, shares)
		return
	}
	wide := borrow[F](len(ends) * t.width)
	defer wide.back()
	sum(wide.values, t.rows, t.width, begin, ends, places, shares)
	for r := range ends {
		copy(y[r*t.c:][:t.c], wide.values[r*t.width:])
	}
}

func (ShareSumOp) WRT() []bool { return []bool{true, false, false} }

func (o ShareSumOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{ShareScatter(o.Slots, in[0].Shape()[0]).Of(in[1], in[2], g), nil, nil}
}

// ShareScatterOp is the op of [ShareScatter].
type ShareScatterOp struct{ Slots, Rows int }

func (o ShareScatterOp) Form() string {
	return fmt.Sprintf("int B p, B p, B C -> %[2]d C where p/%[1]d %[2]d/%[1]d", o.Slots, o.Rows)
}

func (o ShareScatterOp) Run(out Value, in []Value) { Dispatch(o, out, in, shareScatter, shareScatter) }

// shareScatter gives each thread some slots, since their parts of the table are apart.
func shareScatter[F Float](o ShareScatterOp, v Args[F]) {
	table, places, shares, x, p, c := v.Out(), v.Ints(0), v.In(1), v.In(2), v.Columns(0), v.Columns(2)
	add := pick[func(table, x []F, places []int32, shares []F)](simd.AddShares, simd.AddShares64)
	clear(table)
	work.Ranges(o.Slots, max(1, o.Slots/(4*work.Threads())), func(first, end int) {
		lo, hi := first*p/o.Slots, end*p/o.Slots
		for b := range len(places) / p {
			add(table, x[b*c:(b+1)*c], places[b*p+lo:b*p+hi], shares[b*p+lo:b*p+hi])
		}
	})
}

func (ShareScatterOp) WRT() []bool { return []bool{false, false, true} }

// listPlacesOp lists of each row of a table the rows b in whose places it stands, ascending, as [byPlaceOp] does by
// codes.
type listPlacesOp struct{ Rows int }

func (o listPlacesOp) Form() string { return fmt.Sprintf("int B p -> int %d+B*p", o.Rows) }

func (o listPlacesOp) Run(out Value, in []Value) {
	places, p := Values[int32](in[0]), columns(in[0])
	ends, rows := splitLists(Values[int32](out), len(places))
	beginLists(ends, places)
	for at, place := range places {
		rows[ends[place]] = int32(at / p)
		ends[place]++
	}
}

// beginLists sets ends to where the list of each place begins.
func beginLists(ends, places []int32) {
	clear(ends)
	for _, place := range places {
		ends[place]++
	}
	begin := int32(0)
	for place, n := range ends {
		ends[place], begin = begin, begin+n
	}
}

// listSharesOp gives shares the order of [listPlacesOp].
type listSharesOp struct{ Rows int }

func (listSharesOp) Form() string                { return "int B p, B p -> B*p" }
func (o listSharesOp) Run(out Value, in []Value) { Dispatch(o, out, in, listShares, listShares) }

func listShares[F Float](o listSharesOp, v Args[F]) {
	ends := borrow[int32](o.Rows)
	defer ends.back()
	listed, places, next := v.Out(), v.Ints(0), ends.values
	beginLists(next, places)
	for at, share := range v.In(1) {
		place := places[at]
		listed[next[place]] = share
		next[place]++
	}
}

// scatterListedOp is [ShareScatter] of rows and shares that are listed: each row of the table is the sum of the rows in
// its list, times their shares, in the order in which ShareScatter adds them.
type scatterListedOp struct{ Rows int }

func (o scatterListedOp) Form() string {
	return fmt.Sprintf("int %[1]d+B*p, B*p, int B p, B p, B C -> %[1]d C", o.Rows)
}
func (o scatterListedOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, scatterListed, scatterListed)
}

func scatterListed[F Float](_ scatterListedOp, v Args[F]) {
	table, shares, c := v.Out(), v.In(1), v.Columns(4)
	ends, rows := splitLists(v.Ints(0), len(shares))
	x := widen(v.In(4), c, len(rows))
	defer x.back()
	inLists(ends, len(rows), func(lo, hi int, begin int32) {
		x.sum(table[lo*c:hi*c], begin, ends[lo:hi], rows, shares)
	})
}

func (o ShareScatterOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{nil, nil, ShareSum(o.Slots).Of(g, in[0], in[1])}
}
