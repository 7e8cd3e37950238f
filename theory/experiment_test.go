package theory

import (
	"fmt"
	"strings"
	"testing"
)

// TestEachPanics where it is waited for, not in a goroutine that nobody can catch.
func TestEachPanics(t *testing.T) {
	defer func() {
		if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "a broken replicate") {
			t.Errorf("the panic is %v", p)
		}
	}()
	_, err := each(t.Context(), 1000, nil, func(_ Model, i int) (int, error) {
		if i == 500 {
			panic("theory: a broken replicate")
		}
		return 0, nil
	})
	t.Errorf("it ends with %v", err)
}
