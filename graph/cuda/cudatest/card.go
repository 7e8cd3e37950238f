package cudatest

import (
	"sync"
	"testing"

	"calibra/graph/cuda"
)

// Card is the card of this machine, one device for all tests; without one the test is skipped.
func Card(t testing.TB) *cuda.Device {
	t.Helper()
	return card(t, shared)
}

var shared = sync.OnceValues(cuda.OpenCard)

// OwnCard is the same card as a device of its own, whose settings a test may change.
func OwnCard(t testing.TB) *cuda.Device {
	t.Helper()
	return card(t, cuda.OpenCard)
}

func card(t testing.TB, open func() (*cuda.Device, error)) *cuda.Device {
	t.Helper()
	d, err := open()
	if err != nil {
		t.Skipf("there is no card to test on: %v", err)
	}
	t.Logf("on %s", d.Describe())
	t.Cleanup(func() {
		if err := d.Err(); err != nil {
			t.Errorf("the device ends with an error: %v", err)
		}
	})
	return d
}
