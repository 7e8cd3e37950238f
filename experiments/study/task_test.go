package study

import (
	"slices"
	"testing"
)

// TestShare: n shares are a partition, whatever is done, and none is much longer than another.
func TestShare(t *testing.T) {
	var tasks []Task
	var total, most float64
	for k := range 37 {
		task := Task{Seconds: []float64{.3, .3, 60, 5}[k%4]}
		tasks, total, most = append(tasks, task), total+task.Seconds, max(most, task.Seconds)
	}
	done := slices.Clone(tasks)
	for k := range done {
		done[k].Done = k%3 == 0
	}
	for _, n := range []int{1, 2, 4, 8, 50} {
		var all []int
		for i := range n {
			share := Share(tasks, i+1, n)
			if !slices.Equal(share, Share(done, i+1, n)) || !slices.IsSorted(share) {
				t.Errorf("share %d of %d is %v", i+1, n, share)
			}
			seconds := 0.0
			for _, at := range share {
				seconds += tasks[at].Seconds
			}
			if seconds > total/float64(n)+most {
				t.Errorf("share %d of %d takes %v of %v s", i+1, n, seconds, total)
			}
			all = append(all, share...)
		}
		slices.Sort(all)
		if len(all) != len(tasks) || len(slices.Compact(all)) != len(tasks) {
			t.Errorf("%d shares hold %v", n, all)
		}
	}
}
