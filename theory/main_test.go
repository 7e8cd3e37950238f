package theory

import (
	"runtime/debug"
	"testing"
)

// TestMain collects the little garbage of many small fits rarely.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}
