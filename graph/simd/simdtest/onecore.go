package simdtest

import (
	"flag"
	"runtime"
	"runtime/debug"
	"testing"
)

// OneCore runs the tests of a package on one core, as other packages are tested beside it and small problems gain
// nothing by more, and collects their little garbage rarely. Tests of many threads ask for them; go test -cpu 2 gives
// all of them two.
func OneCore(m *testing.M) {
	runtime.GOMAXPROCS(1)
	SeldomCollect()
	m.Run()
}

// SeldomCollect collects the little garbage of tests rarely, and samples what is allocated only where go test is asked
// for a profile of it.
func SeldomCollect() {
	debug.SetGCPercent(400)
	flag.Parse()
	if flag.Lookup("test.memprofile").Value.String() == "" {
		runtime.MemProfileRate = 0
	}
}
