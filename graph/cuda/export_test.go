package cuda

import (
	"reflect"

	"gorgonia.org/gorgonia"
)

// What tests of the table and its fusions need, from outside as package cudatest is.

type (
	Step    = step
	Launch  = func(*Device)
	Operand = operand
)

var (
	LaunchesOf = launchesOf
	Takings    = takings
	Has        = has
)

func NewStep(o gorgonia.Op, out operand, in []operand) Step {
	return step{o, out, in, bind(o, out, in)}
}

func (s step) Launch() Launch { return s.launch }

// Rows are the kinds of ops in the table.
func Rows() (kinds []reflect.Type) {
	for kind := range table {
		kinds = append(kinds, kind)
	}
	return kinds
}

// HasMap reports whether there is a kernel for the elementwise function f.
func HasMap(f string) bool {
	_, has := functions[f]
	return has
}

func (d *Device) Enqueue(o gorgonia.Op, out operand, in []operand) { bind(o, out, in)(d) }
func (d *Device) FillInt(m Memory, v int32)                        { d.fillInt(m, v) }
func (d *Device) NewCursor() cursor                                { return d.newCursor() }
func (d *Device) NewTaking(n int, of []taken) pieces               { return d.newTaking(n, of) }
func (d *Device) TakeRows(t pieces, order Memory, at cursor, batch int) {
	d.takeRows(t, order, at, batch)
}
