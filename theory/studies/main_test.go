package studies

import (
	"testing"

	"calibra/graph/simd/simdtest"
)

// TestMain collects the little garbage of many small fits rarely.
func TestMain(m *testing.M) {
	simdtest.SeldomCollect()
	m.Run()
}
