package cuda

import (
	"fmt"
	"math"
)

// What frames a step of a fit.

// cursor is where a fit stands in an epoch, in device memory, so that the launches of a
// step are the same at every step.
type cursor struct {
	Step    Memory // the number of the step, from 0
	Trouble Memory // the first step at which something was not finite
	Total   Memory // float64: Σ loss · rows
}

// newCursor allocates a cursor.
func (d *Device) newCursor() cursor { return cursor{d.Alloc(1), d.Alloc(1), d.alloc64(1)} }

func (c cursor) Free(d *Device) { d.Free(c.Step, c.Trouble, c.Total) }

// untroubled is what Trouble holds while all is finite.
const untroubled = 1<<31 - 1

// Begin sets the cursor to the first step of an epoch.
func (c cursor) Begin(d *Device) {
	d.fillInt(c.Step, 0)
	d.fillInt(c.Trouble, untroubled)
	d.Clear(c.Total)
}

// pieces is a table in device memory of what the blocks of one launch work on, width numbers for
// each.
type pieces struct {
	at    Memory
	count int
}

func (d *Device) newPieces(table []int64, width int) pieces {
	return pieces{Uploaded(d, table), len(table) / width}
}

func (p pieces) Free(d *Device) { d.Free(p.at) }

// taken is where the rows of a table of that width go, of elements of 4 bytes; without a
// table it is where the row numbers go.
type taken struct {
	out, table Memory
	width      int
}

// newTaking is of n rows of each table, which one launch takes. A piece is out, table, its width,
// the first element and the end.
func (d *Device) newTaking(n int, of []taken) pieces {
	var table []int64
	for _, t := range of {
		if uint64(n*t.width) > math.MaxUint32 { // take_rows counts elements in 32 bits
			d.fail(fmt.Errorf("%d rows of %d columns are too many to take at once", n, t.width))
			return pieces{}
		}
		for at := 0; at < n*t.width; at += threads {
			table = append(table, int64(t.out.at), int64(t.table.at), int64(t.width), int64(at), int64(min(at+threads, n*t.width)))
		}
	}
	return d.newPieces(table, 5)
}

// takeRows takes the rows that order names from batch·step on, or from its beginning where
// there is no cursor.
func (d *Device) takeRows(of pieces, order Memory, at cursor, batch int) {
	d.launch("take_rows", blocks(of.count), of.at, order, at.Step, batch)
}

// eachPiece calls f for pieces of at most a block's elements: where one begins in bytes, and how
// many it has.
func eachPiece(m Memory, f func(offset Pointer, n int)) {
	for at := 0; at < m.bytes; at += 4 * threads {
		f(Pointer(at), min(threads, (m.bytes-at)/4))
	}
}

// newParameters are arrays theta and, for each, one of the same size by which it is moved, such as
// weights and their gradients: one launch moves them all. A piece is θ, g, where it begins among
// all, and its size.
func (d *Device) newParameters(theta, grad []Memory) pieces {
	var table []int64
	from := 0
	for i, m := range theta {
		eachPiece(m, func(at Pointer, n int) {
			table = append(table, int64(m.at+at), int64(grad[i].at+at), int64(from), int64(n))
			from += n
		})
	}
	return d.newPieces(table, 4)
}

// endStep replaces each θ of states by its g, adds the loss of n rows to the epoch's and moves
// the cursor.
func (d *Device) endStep(at cursor, states pieces, loss operand, n int) {
	d.launch("end_step", blocks(states.count+1), states.at, at.Total, loss, at.Step, at.Trouble, n)
}
