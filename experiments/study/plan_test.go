package study

import (
	"fmt"
	"slices"
	"testing"

	"calibra/data"
)

// TestShare: n shares are a partition, whatever is done, and none is much longer than another.
func TestShare(t *testing.T) {
	var tasks, done []*Task
	var total, most float64
	for k := range 37 {
		task := Task{ID: fmt.Sprintf("%02d", k), Seconds: []float64{.3, .3, 60, 5}[k%4]}
		other := task
		other.Done = k%3 == 0
		tasks, done, total, most = append(tasks, &task), append(done, &other), total+task.Seconds, max(most, task.Seconds)
	}
	ids := func(tasks []*Task) []string { return data.Each(tasks, func(t *Task) string { return t.ID }) }
	for _, n := range []int{1, 2, 4, 8, 50} {
		var all []string
		for i := range n {
			shared := Share(tasks, i+1, n)
			share := ids(shared)
			if !slices.Equal(share, ids(Share(done, i+1, n))) || !slices.IsSorted(share) {
				t.Errorf("share %d of %d is %v", i+1, n, share)
			}
			seconds := 0.0
			for _, task := range shared {
				seconds += task.Seconds
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
