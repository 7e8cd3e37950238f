package metrics

import "testing"

// TestIDsOfEverySize hold what was put in.
func TestIDsOfEverySize(t *testing.T) {
	for _, most := range []int{2, 256, 257, 1 << 16, 1<<16 + 1} {
		x := newIDs(3, most)
		x.set(1, int32(most-1))
		if got := x.all(3); got[0] != 0 || got[1] != int32(most-1) || x.at(1) != int32(most-1) {
			t.Errorf("below %d: %v", most, got)
		}
	}
}
