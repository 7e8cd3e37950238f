package theory

import (
	"fmt"
	"strings"
	"testing"
)

// TestForEachPanics where it is waited for, not in a goroutine that nobody can catch.
func TestForEachPanics(t *testing.T) {
	defer func() {
		if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "a broken replicate") {
			t.Errorf("the panic is %v", p)
		}
	}()
	err := forEach(t.Context(), 1000, func() (int, error) { return 0, nil }, func(_, i int) error {
		if i == 500 {
			panic("theory: a broken replicate")
		}
		return nil
	})
	t.Errorf("it ends with %v", err)
}
