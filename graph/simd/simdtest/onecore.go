package simdtest

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// OneCore runs the tests of a package on one core, as other packages are tested beside it and small problems gain
// nothing by more, and collects their little garbage rarely. Tests of many threads ask for them; go test -cpu 2 gives
// all of them two.
func OneCore(m *testing.M) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	m.Run()
}
