package data

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Table is raw labelled data, from before any classifier saw it.
type Table struct {
	Name     string
	Columns  []string   // M names, nil if the source has none
	Classes  []string   // C names in ascending order; numbers ascend as numbers
	Features *mat.Dense // N×M; NaN: a number is missing
	Labels   []int      // N values in 0…C−1
	// Values are, for each column of text, its different values in ascending order, which Features
	// number from 0, and nil for a column of numbers. nil: all are numbers.
	Values [][]string
	Notice string // what is odd about the rows, "" if nothing is

	ids   []int  // columns that number or name the rows
	label string // name of the label column, "" if it has none
}

// Len is N, the number of rows.
func (t *Table) Len() int { return len(t.Labels) }

// Set is the table's features and labels as a Set without logits. They are
// shared, not copied.
func (t *Table) Set() *Set { return &Set{Features: t.Features, Labels: t.Labels} }

// Split divides the table's rows as [Stratify] does, one Set a fraction.
func (t *Table) Split(fractions []float64, rng *rand.Rand) []*Set {
	var sets []*Set
	for _, rows := range Stratify(t.Labels, fractions, rng) {
		sets = append(sets, t.Set().Rows(rows))
	}
	return sets
}
