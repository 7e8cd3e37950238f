package study

import (
	"cmp"
	"slices"

	"calibra/data"
	"calibra/experiments"
)

// Task is one cell as it is dealt out to many processes. Its
// JSON is a line of calibra study --list.
type Task struct {
	ID      string  `json:"id"`
	Method  string  `json:"method"`
	Data    string  `json:"data"`
	Seed    uint64  `json:"seed"`
	Done    bool    `json:"done"`
	Cell    string  `json:"cell"`              // in words
	Seconds float64 `json:"seconds,omitempty"` // it is expected to take on one core; 0: unknown

	shift experiments.Shift // of the rows it is judged on
}

// Share are the places in tasks of the i-th of n shares, i from 1, ascending. Every place is
// in one share, whoever computes it and whatever is done, so that n processes that know nothing of
// each other compute all. Shares take about the same time: the longest task goes first, each
// to the share that has the least.
func Share(tasks []Task, i, n int) (places []int) {
	cost := func(at int) int64 { return 1 + int64(1000*tasks[at].Seconds) } // whole milliseconds add up alike on every machine
	order := data.UpTo(len(tasks))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cost(b), cost(a)) })
	load := make([]int64, n)
	for _, at := range order {
		least := 0
		for s := range load {
			if load[s] < load[least] {
				least = s
			}
		}
		load[least] += cost(at)
		if least == i-1 {
			places = append(places, at)
		}
	}
	slices.Sort(places)
	return places
}
