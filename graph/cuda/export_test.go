package cuda

import (
	"reflect"

	"gorgonia.org/gorgonia"
)

// What tests of the table and its fusions need, from outside as package cudatest is.

type Step = step
type Launch = enqueuer

var (
	LaunchesOf = launchesOf
	Takings    = takings
	Blendings  = blendings
)

func NewStep(o gorgonia.Op, out Operand, in []Operand) Step { return step{Op: o, Out: out, In: in} }

func Run(d *Device, l Launch) { l.enqueue(d) }

// Rows are the kinds of ops in the table.
func Rows() (kinds []reflect.Type) {
	for kind := range table {
		kinds = append(kinds, kind)
	}
	return kinds
}

// HasMap tells whether there is a kernel for the elementwise function f.
func HasMap(f string) bool {
	_, has := maps[f]
	return has
}
