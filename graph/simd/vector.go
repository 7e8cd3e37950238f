package simd

import (
	"fmt"
	"slices"
)

// Dot returns Σ x_i·y_i in float32, in an order that depends on the length alone.
// It panics if the lengths differ.
func Dot(x, y []float32) float32 {
	sameLength("Dot", len(x), len(y))
	if k := sets[isa].dot; k != nil && len(x) > 0 {
		return k(&x[0], &y[0], len(x))
	}
	return dotPortable(x, y)
}

// Dots sets number i of y to row i of g times b, the [Dot] of the two. It panics if g has not as many rows of b's
// length as y has numbers.
func Dots(y, g, b []float32) {
	sameLength("Dots", len(g), len(y)*len(b))
	if k := sets[isa].dots; k != nil && len(g) > 0 {
		k(&y[0], &g[0], &b[0], len(y), len(b))
		return
	}
	for i := range y {
		y[i] = dotPortable(g[i*len(b):(i+1)*len(b)], b)
	}
}

// lessPortable sets z to x − c, subtracted in float64 and then rounded.
func lessPortable(z, x []float32, c []float64) {
	for i, v := range x {
		z[i] = float32(float64(v) - c[i])
	}
}

// LessMost sets z to x (B×c) less the greatest of its row; all of a row that has a NaN may be NaN. It panics if the
// lengths differ or are no rows of c.
func LessMost(z, x []float32, c int) {
	sameLength("LessMost", len(z), len(x))
	if c <= 0 || len(x)%c != 0 {
		panic(fmt.Sprintf("simd: LessMost of %d numbers in rows of %d", len(x), c))
	}
	if k := sets[isa].lessMost; k != nil && len(x) > 0 {
		k(&z[0], &x[0], len(x)/c, c)
	} else {
		lessMostPortable(z, x, c)
	}
}

func lessMostPortable(z, x []float32, c int) {
	for b := 0; b < len(x); b += c {
		row := x[b : b+c]
		most := row[0]
		for _, v := range row[1:] {
			if v > most {
				most = v
			}
		}
		for j, v := range row {
			z[b+j] = v - most
		}
	}
}

// Outer sets m, a matrix of len(a) rows and len(b) columns, to a·bᵀ. It panics if m has
// another size.
func Outer(m, a, b []float32) {
	sameLength("Outer", len(m), len(a)*len(b))
	if k := sets[isa].outer; k != nil && len(m) > 0 {
		k(&m[0], &a[0], &b[0], len(a), len(b))
	} else {
		outerPortable(m, a, b)
	}
}

func outerPortable[F float32 | float64](m, a, b []F) {
	for i, x := range a {
		row := m[i*len(b) : (i+1)*len(b)]
		for j, y := range b {
			row[j] = x * y
		}
	}
}

// TakeRows sets y to the rows of a table, c long, that a list names, one after another. It panics if y
// or the table has no room for them.
func TakeRows(y, table []float32, list []int32, c int) {
	sameLength("TakeRows", len(y), len(list)*c)
	if len(y) == 0 {
		return
	}
	checkCodes("TakeRows", list, len(table)/c)
	ahead := len(list)
	if len(table) > inCache { // else its rows are near already
		ahead = 4
	}
	if k := sets[isa].takeRows; k != nil {
		k(&y[0], &table[0], &list[0], len(list), 4*c, c, ahead)
	} else {
		takeRowsPortable(y, table, list, c)
	}
}

// inCache is how many numbers stay in the second-level cache, with room for others.
const inCache = 1 << 16

func takeRowsPortable(y, table []float32, list []int32, c int) {
	for i, r := range list {
		copy(y[i*c:(i+1)*c], table[int(r)*c:])
	}
}

// AddToRows adds x (C) to one row for each of the w codes, in a table of w·k rows, k for
// each slot: to row i·k + codes[i]. It panics if the table has another size, or a code is
// none of the k rows.
func AddToRows(table, x []float32, codes []int32, k int) {
	checkRows("AddToRows", table, x, codes, k)
	if add := sets[isa].addToRows; add != nil && len(x) > 0 && len(codes) > 0 {
		add(&table[0], &x[0], &codes[0], len(codes), 4*len(x), 4*k*len(x), len(x))
	} else {
		addToRowsPortable(table, x, codes, k)
	}
}

// SumRows sets y (C) to the sum of the rows to which [AddToRows] adds, in the order of the slots.
func SumRows(y, table []float32, codes []int32, k int) {
	checkRows("SumRows", table, y, codes, k)
	switch {
	case len(codes) == 0:
		clear(y)
	case len(y) > 0:
		sumRowsKernel(y, table, codes, k)
	}
}

// SumListed sets y (C) to the sum of the rows of x, C long, that a list names, in its order. It panics
// if x has no such row.
func SumListed(y, x []float32, list []int32) {
	if len(y) == 0 {
		return
	}
	checkCodes("SumListed", list, len(x)/len(y))
	if len(list) == 0 {
		clear(y)
	} else {
		sumRowsKernel(y, x, list, 0) // the slots have one table
	}
}

// SumShares sets each row of y (L×C) to the sum of the rows of a table, C long, that its list of places names, each
// times its share. Places and shares hold the lists one after another, the first from begin on, and ends is where each
// of the L ends. It panics if the table has no such row, if lists end before they begin, or y has another size.
func SumShares(y, table []float32, c int, begin int32, ends, places []int32, shares []float32) {
	if len(ends) > 0 && begin <= ends[len(ends)-1] && len(y) > 0 {
		checkCodes("SumShares", places[begin:ends[len(ends)-1]], len(table)/c)
	}
	SumSharesChecked(y, table, c, begin, ends, places, shares)
}

// SumSharesChecked is [SumShares] of places that the table has, which it does not ask.
func SumSharesChecked(y, table []float32, c int, begin int32, ends, places []int32, shares []float32) {
	sameLength("SumShares", len(shares), len(places))
	sameLength("SumShares", len(y), len(ends)*c)
	clear(y)
	if len(y) == 0 {
		return
	}
	last := begin
	for _, end := range ends {
		if end < last {
			panic(fmt.Sprintf("simd: SumShares: a list ends at %d and begins at %d", end, last))
		}
		last = end
	}
	sumSharesKernel(y, table, c, begin, ends, places, shares)
}

// AddShares is the transpose of [SumShares]: it adds x (C), times each share, to the row of the
// table that the place names.
func AddShares(table, x []float32, places []int32, shares []float32) {
	sameLength("AddShares", len(shares), len(places))
	if len(x) > 0 && len(places) > 0 {
		checkCodes("AddShares", places, len(table)/len(x))
	}
	if k := sets[isa].addShares; k != nil && len(x) > 0 && len(places) > 0 {
		k(&table[0], &x[0], &places[0], &shares[0], len(places), 4*len(x), len(x))
	} else {
		addSharesPortable(table, x, places, shares)
	}
}

func checkRows(name string, table, x []float32, codes []int32, k int) {
	sameLength(name, len(table), len(codes)*k*len(x))
	checkCodes(name, codes, k)
}

// Largest is the greatest of codes as if they were unsigned: a negative one is greater than any other.
func Largest(codes []int32) (most uint32) {
	n := 0
	if k := sets[isa].mostCode; k != nil {
		if n = len(codes) &^ 15; n > 0 {
			most = k(&codes[0], n)
		}
	}
	for _, code := range codes[n:] {
		most = max(most, uint32(code))
	}
	return most
}

func checkCodes(name string, codes []int32, k int) {
	if len(codes) > 0 && int(Largest(codes)) >= k {
		wrong := slices.IndexFunc(codes, func(code int32) bool { return code < 0 || int(code) >= k })
		panic(fmt.Sprintf("simd: %s: code %d of %d rows", name, codes[wrong], k))
	}
}

func addToRowsPortable[F float32 | float64](table, x []F, codes []int32, k int) {
	for i, code := range codes {
		row := table[(i*k+int(code))*len(x):][:len(x)]
		for l, v := range x {
			row[l] += v
		}
	}
}

func sumRowsPortable[F float32 | float64](y, table []F, codes []int32, k int) {
	clear(y)
	for i, code := range codes {
		for l, v := range table[(i*k+int(code))*len(y):][:len(y)] {
			y[l] += v
		}
	}
}

// sumSharesPortable adds to y.
func sumSharesPortable[F float32 | float64](y, table []F, c int, begin int32, ends, places []int32, shares []F) {
	for l, end := range ends {
		for ; begin < end; begin++ {
			axpyPortable(y[l*c:(l+1)*c], shares[begin], table[int(places[begin])*c:][:c])
		}
	}
}

func addSharesPortable[F float32 | float64](table, x []F, places []int32, shares []F) {
	for j, place := range places {
		axpyPortable(table[int(place)*len(x):][:len(x)], shares[j], x)
	}
}

func dotPortable(x, y []float32) float32 {
	var s [4]float32
	n := len(x) &^ 3
	for i := 0; i < n; i += 4 {
		s[0] += x[i] * y[i]
		s[1] += x[i+1] * y[i+1]
		s[2] += x[i+2] * y[i+2]
		s[3] += x[i+3] * y[i+3]
	}
	for i := n; i < len(x); i++ {
		s[0] += x[i] * y[i]
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

func axpyPortable[F float32 | float64](y []F, a F, x []F) {
	for i, v := range x {
		y[i] += a * v
	}
}
