package data

import (
	"bytes"
	_ "embed"
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
	return Each(Stratify(t.Labels, fractions, rng), t.Set().Rows)
}

// The embedded tables are from the UCI Machine Learning Repository, CC BY 4.0:
// see tables/LICENSES.
var (
	//go:embed tables/letter-recognition.csv.gz
	letterCSV []byte
	//go:embed tables/satellite.csv.gz
	satelliteCSV []byte
	//go:embed tables/digits.csv.gz
	digitsCSV []byte
)

// EmbeddedTables are the embedded tables by name.
var EmbeddedTables = map[string]func() *Table{"letter": Letter, "satellite": Satellite, "digits": Digits}

// Letter is UCI Letter Recognition (Slate 1991): 20,000 black-and-white images of
// capital letters in 20 fonts, each as 16 integer moments and edge counts; 26
// classes, A to Z.
func Letter() *Table { return embedded("letter", letterCSV, "lettr") }

// Satellite is UCI Statlog Landsat Satellite (Srinivasan 1993): 6,435 pixels of a
// scene with their eight neighbours in four spectral bands, 36 integers; 6
// classes of soil and crop.
func Satellite() *Table { return embedded("satellite", satelliteCSV, "classes") }

// Digits is the test part of UCI Optical Recognition of Handwritten Digits
// (Alpaydin and Kaynak 1998): 1,797 images of 8×8 pixels, 0 to 16; 10 classes.
func Digits() *Table { return embedded("digits", digitsCSV, "") }

func embedded(name string, gz []byte, label string) *Table {
	t, err := CSV{Label: label}.read(name, bytes.NewReader(gz))
	if err != nil {
		panic("data: embedded table: " + err.Error())
	}
	return t
}
