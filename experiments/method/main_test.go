package method

import (
	"testing"

	"calibra/graph/simd/simdtest"
)

func TestMain(m *testing.M) { simdtest.OneCore(m) }
