package data

import (
	"bytes"
	_ "embed"
)

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
