package graph

import (
	"cmp"
	"slices"

	"calibra/graph/op"
	"calibra/graph/work"
)

// abreast is lists of steps that can be taken side by side.
type abreast struct {
	*Program
	lists [][]Step
	errs  []error
	again bool
}

func (p *Program) abreast(lists ...[]Step) *abreast {
	return &abreast{Program: p, lists: lists, errs: make([]error, len(lists))}
}

func (a *abreast) take(again bool) error {
	a.again = again
	work.Run(len(a.lists), a)
	return cmp.Or(a.errs...)
}

// Block takes the steps of one list.
func (a *abreast) Block(i int) { a.errs[i] = a.Program.take(a.lists[i], a.again) }

// A section is steps that follow one another and compute each row of the batch from the same row of those before.
// A thread takes all of them for a block of rows, which stay in its cache. A step on rows wider than widestRow
// shares itself out.
const (
	sectionRows = 64
	widestRow   = 1 << 10
)

// byRow reports which inputs a step needs by row; nil where it is not for a section.
func (p *Program) byRow(s *Step) []bool {
	o, ours := s.Op.(op.Op)
	if !ours {
		return nil
	}
	cut, rows := o.ByRow(), p.Rows.DataSize()
	for i, value := range append(slices.Clip(s.Inputs), s.Output) {
		whole := i < len(cut) && !cut[i]
		if shape := p.Values[value].Shape(); !whole && (len(shape) == 0 || shape[0] != rows || shape.TotalSize() > rows*widestRow) {
			return nil
		}
	}
	return cut
}

// join puts steps into an order in which those that go by row follow one another as far as they can, and makes
// sections of them. Of two steps that could both come next, the one that came first does, so pairs keep their order.
func (p *Program) join(steps []Step) {
	left, next := slices.Clone(steps), 0
	missing, within := map[int]bool{}, map[int]bool{} // values: not computed so far, and computed in the section
	for _, s := range steps {
		missing[s.Output] = true
	}
	place := func(byRow bool) (placed bool) {
		left = slices.DeleteFunc(left, func(s Step) bool {
			cut := p.byRow(&s)
			if (cut != nil) != byRow {
				return false
			}
			for i, value := range s.Inputs {
				if missing[value] || within[value] && !cut[i] {
					return false
				}
			}
			delete(missing, s.Output)
			within[s.Output] = byRow
			steps[next], placed = s, true
			next++
			return true
		})
		return placed
	}
	for len(left) > 0 {
		clear(within)
		for place(false) {
		}
		first := next
		for place(true) {
		}
		if next-first > 1 && p.Rows.DataSize() > sectionRows {
			steps[first].section = p.section(steps[first:next])
		}
	}
}

// section is steps by blocks of rows.
func (p *Program) section(steps []Step) *abreast {
	var lists [][]Step
	for lo := 0; lo < p.Rows.DataSize(); lo += sectionRows {
		hi := min(lo+sectionRows, p.Rows.DataSize())
		list := slices.Clone(steps)
		for i := range list {
			s := &list[i]
			s.out, s.args = op.NewRows(p.Values[s.Output], lo, hi), slices.Clone(s.args)
			for j, cut := range p.byRow(s) {
				if cut {
					s.args[j] = op.NewRows(p.Values[s.Inputs[j]], lo, hi)
				}
			}
		}
		lists = append(lists, list)
	}
	return p.abreast(lists...)
}
