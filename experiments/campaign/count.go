package main

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"calibra/data"
	"calibra/experiments/bench"
)

// Wrongs are what an attack may show, in the order of the table.
var wrongs = []string{"traces", "wrong exits", "long answers", "mixed folders", "destroyed inputs", "leftovers", "bad predictions", "hangs"}

// count is what became of the attacks of one part. It may be used by several at once.
type count struct {
	Part    string
	Goal    int
	Done    int
	Peak    float64 // MB of the hungriest command
	Seconds float64
	note    string

	mu       sync.Mutex
	failures map[string]int
	began    time.Time
	until    time.Time
}

// more reports whether there is another attack to make, and counts it.
func (n *count) more(c *campaign) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c.ctx.Err() != nil || n.Done >= n.Goal || time.Now().After(n.until) {
		return false
	}
	n.Done++
	return true
}

// failed counts a failure of a kind and prints it.
func (n *count) failed(kind, format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(wrongs, kind) {
		panic("campaign: no kind of failure: " + kind)
	}
	if n.failures == nil {
		n.failures = map[string]int{}
	}
	n.failures[kind]++
	fmt.Printf("%s: %s: %s\n", n.Part, kind, fmt.Sprintf(format, args...))
}

func (n *count) ate(megabytes float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.Peak = max(n.Peak, megabytes)
}

func (n *count) wrong() (all int) {
	for _, k := range n.failures {
		all += k
	}
	return all
}

func (n *count) String() string {
	return fmt.Sprintf("%s: %d of %d attacks in %.0f s, %d failures, at most %.0f MB", n.Part, n.Done, n.Goal, n.Seconds, n.wrong(), n.Peak)
}

// row is the count as a line of results.csv.
func (n *count) row(seed uint64) []string {
	failures := data.Each(wrongs, func(kind string) string { return strconv.Itoa(n.failures[kind]) })
	return slices.Concat([]string{n.Part, strconv.Itoa(n.Done), strconv.Itoa(n.Goal)}, failures,
		[]string{fmt.Sprintf("%.0f", n.Peak), fmt.Sprintf("%.1f", n.Seconds/60), strconv.FormatUint(seed, 10), n.note})
}

// page is what is kept of the latest run of each part, in their order.
var page = bench.Page{
	Intro: "# Campaign\n\nWritten by `go run ./experiments/campaign -table` from the latest run of each part. An attack is a\ncommand that is run on what it should refuse or survive; `go doc ./experiments/campaign` says\nwhich there are.\n",
	Head:  slices.Concat([]string{"part", "attacks", "goal"}, wrongs, []string{"peak MB", "minutes", "seed", "what"}),
	Keys:  1,
	Order: func(a, b []string) int { return place(a) - place(b) },
}

// place is that of a row's part.
func place(row []string) int {
	return slices.IndexFunc(parts, func(p part) bool { return p.name == row[0] })
}
