package laws

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestMain gives the tests one core, as other packages are tested beside them and small problems gain nothing by more,
// and collects their little garbage rarely.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	m.Run()
}
