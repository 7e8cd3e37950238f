package program_test

import (
	"strings"
	"testing"
	"time"

	"calibra/experiments/program"
)

// TestSideBySidePanics: what panics beside others is caught where they are waited for,
// once, with its place, and no more work begins.
func TestSideBySidePanics(t *testing.T) {
	for _, jobs := range []int{1, 4} {
		done := make([]bool, 1000)
		var fault *program.Fault
		func() {
			defer func() { fault = program.Caught(recover()) }()
			err := program.SideBySide(t.Context(), len(done), jobs, func(i int) {
				if i == 7 {
					var none []int
					none[i]++
				}
				if i > 7 {
					time.Sleep(time.Millisecond) // or all is done before the panic is told
				}
				done[i] = true
			}, nil)
			t.Errorf("%d jobs end with %v", jobs, err)
		}()
		if !strings.HasPrefix(fault.Place, "program/fault_test.go:") || !strings.Contains(fault.Error(), "index out of range [7]") || strings.Contains(fault.Error(), "\n") {
			t.Errorf("%d jobs: %v", jobs, fault)
		}
		if done[len(done)-1] || !done[0] {
			t.Errorf("%d jobs: the first is done: %v, the last: %v", jobs, done[0], done[len(done)-1])
		}
	}
}
