package program_test

import (
	"context"
	"strings"
	"testing"

	"calibra/experiments/program"
	"calibra/graph/work"
)

// TestFaultOfAPart: what panics beside others is caught where they are waited for, with its place.
func TestFaultOfAPart(t *testing.T) {
	var fault *program.Fault
	func() {
		defer func() { fault = program.Caught(recover()) }()
		err := work.Parts{N: 1000, AtOnce: 4}.Do(t.Context(), func(_ context.Context, k int) error {
			var none []int
			none[k]++
			return nil
		})
		t.Errorf("they end with %v", err)
	}()
	if !strings.HasPrefix(fault.Place, "program/fault_test.go:") || !strings.Contains(fault.Error(), "index out of range") || strings.Contains(fault.Error(), "\n") {
		t.Error(fault)
	}
}
