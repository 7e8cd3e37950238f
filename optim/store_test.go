package optim

import "testing"

// TestStoreOfManyNumbers: 20 pairs of up to 400,000 numbers, 128 MB of more, and 5 of any.
func TestStoreOfManyNumbers(t *testing.T) {
	for n, want := range map[int]int{0: 20, 400_000: 20, 1_000_000: 8, 1_500_000: 5, 100_000_000: 5} {
		if got := storeOf(n); got != want {
			t.Errorf("%d numbers: %d pairs, want %d", n, got, want)
		}
	}
}
