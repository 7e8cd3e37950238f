package onnx

import "slices"

// array is a constant, or a value of a network at run: numbers of one type, row by row.
type array struct {
	kind    Element
	shape   []int
	doubles []float64
	singles []float32
	whole   []int
	truth   []bool
}

// arrayOf is a constant of its own memory. Without axes it is a scalar.
func arrayOf[T float32 | float64 | int64](values []T, axes ...int) *array {
	a := &array{shape: slices.Clone(axes)}
	switch values := any(values).(type) {
	case []float32:
		a.kind, a.singles = Single, slices.Clone(values)
	case []float64:
		a.kind, a.doubles = Double, slices.Clone(values)
	case []int64:
		a.kind = Int64
		for _, v := range values {
			a.whole = append(a.whole, int(v))
		}
	}
	return a
}

// room is as many numbers as there is room for, without new memory where there was enough before.
func room[T any](old []T, n int) []T {
	if cap(old) >= n {
		return old[:n]
	}
	return make([]T, n)
}

// grow gives the array room for n numbers of its type.
func (a *array) grow(n int) {
	switch a.kind {
	case Double:
		a.doubles = room(a.doubles, n)
	case Single:
		a.singles = room(a.singles, n)
	case Int64:
		a.whole = room(a.whole, n)
	case Truth:
		a.truth = room(a.truth, n)
	}
}

// set makes it an array of a type and shape, whose numbers are to be written.
func (a *array) set(kind Element, shape ...int) {
	a.kind, a.shape = kind, append(a.shape[:0], shape...)
	a.grow(a.size())
}

// like makes it an array of a type, with the shape of x.
func (a *array) like(x *array, kind Element) { a.set(kind, x.shape...) }

func (a *array) size() int { return product(a.shape) }

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// around are the sizes before an axis, of it, and behind it; a negative axis counts from the end.
func (a *array) around(axis int) (before, at, behind int) {
	if axis < 0 {
		axis += len(a.shape)
	}
	return product(a.shape[:axis]), a.shape[axis], product(a.shape[axis+1:])
}

// without sets the shape of out to that of a without an axis, or with length 1 there.
func (a *array) without(out *array, axis int, keep bool) {
	if axis < 0 {
		axis += len(a.shape)
	}
	out.kind, out.shape = a.kind, append(out.shape[:0], a.shape[:axis]...)
	if keep {
		out.shape = append(out.shape, 1)
	}
	out.shape = append(out.shape, a.shape[axis+1:]...)
	out.grow(out.size())
}

// mostAxes is how many axes an array has at most.
const mostAxes = 6

// steps are how far the next number along each axis of shape lies in x, which is broadcast to it: 0 where x has length
// 1.
func (a *array) steps(shape []int) (steps [mostAxes]int) {
	step := 1
	for k := range a.shape {
		at := len(a.shape) - 1 - k
		if a.shape[at] > 1 {
			steps[len(shape)-1-k] = step
		}
		step *= a.shape[at]
	}
	return steps
}

// broadcast sets the shape of out to that which x and y are broadcast to.
func broadcast(out *array, kind Element, x ...*array) {
	var shape [mostAxes]int
	axes := 0
	for _, x := range x {
		axes = max(axes, len(x.shape))
	}
	for k := range axes {
		shape[k] = 1
		for _, x := range x {
			if at := k - axes + len(x.shape); at >= 0 && x.shape[at] != 1 {
				shape[k] = x.shape[at]
			}
		}
	}
	out.set(kind, shape[:axes]...)
}

// each calls f for each run of numbers along the last axis of shape: where it begins, and where x does.
func each(shape []int, f func(at int, from [3]int), steps ...[mostAxes]int) {
	var place [mostAxes]int
	var from [3]int
	axes := len(shape)
	if product(shape) == 0 {
		return
	}
	if axes == 0 {
		f(0, from)
		return
	}
	run := shape[axes-1]
	for at := 0; ; at += run {
		f(at, from)
		axis := axes - 2
		for ; axis >= 0; axis-- {
			place[axis]++
			for k, s := range steps {
				from[k] += s[axis]
			}
			if place[axis] < shape[axis] {
				break
			}
			for k, s := range steps {
				from[k] -= s[axis] * shape[axis]
			}
			place[axis] = 0
		}
		if axis < 0 {
			return
		}
	}
}
