package run

import (
	"testing"

	"calibra/graph/simd/simdtest"
)

func TestMain(m *testing.M) { simdtest.OneCore(m) }
