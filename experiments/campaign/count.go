package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"calibra/data"
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

// more says whether there is another attack to make, and counts it.
func (n *count) more(c *campaign) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c.ctx.Err() != nil || n.Done >= n.Goal || time.Now().After(n.until) {
		return false
	}
	n.Done++
	return true
}

// failed counts a failure of a kind and tells it.
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
	row := []string{n.Part, strconv.Itoa(n.Done), strconv.Itoa(n.Goal)}
	for _, kind := range wrongs {
		row = append(row, strconv.Itoa(n.failures[kind]))
	}
	return append(row, fmt.Sprintf("%.0f", n.Peak), fmt.Sprintf("%.1f", n.Seconds/60), strconv.FormatUint(seed, 10), n.note)
}

var head = slices.Concat([]string{"part", "attacks", "goal"}, wrongs, []string{"peak MB", "minutes", "seed", "what"})

// table is rows in Markdown.
func table(rows [][]string) string {
	var b strings.Builder
	b.WriteString("# Campaign\n\nWritten by `go run ./experiments/campaign -table` from the latest run of each part. An attack is a\ncommand that is run on what it should refuse or survive; `go doc ./experiments/campaign` says\nwhich there are.\n\n")
	for i, row := range append([][]string{head}, rows...) {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|---|%s---|\n", strings.Repeat("--:|", len(head)-2))
		}
	}
	return b.String()
}

// keep puts the rows into results.csv in dir, in place of earlier ones of the same parts,
// and all of them into RESULTS.md.
func keep(dir string, rows [][]string) error {
	path := filepath.Join(dir, "results.csv")
	kept := map[string][]string{}
	if f, err := data.OpenFile(path); err == nil {
		defer f.Close()
		old, err := csv.NewReader(f).ReadAll()
		if err != nil {
			return err
		}
		for _, row := range old[min(1, len(old)):] {
			kept[row[0]] = row
		}
	}
	for _, row := range rows {
		kept[row[0]] = row
	}
	all := [][]string{}
	for _, p := range parts {
		if row := kept[p.name]; row != nil {
			all = append(all, row)
		}
	}
	var text bytes.Buffer
	if err := data.NewCSVWriter(&text).WriteAll(append([][]string{head}, all...)); err != nil {
		return err
	}
	if err := data.WriteBytes(path, text.Bytes()); err != nil {
		return err
	}
	return data.WriteBytes(filepath.Join(dir, "RESULTS.md"), []byte(table(all)))
}
