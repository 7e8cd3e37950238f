package data

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
)

// priorsRounding is how far from 1 written priors may sum, by their rounding.
const priorsRounding = .01

// ReadPriors reads how frequent each of C classes is from a csv file with the columns class and prior, in any order and
// among others: a row for each class, by its name or, where that is no name, its number. They are 0 or more, sum to 1
// but for their rounding, and are divided by their sum.
func ReadPriors(path string, classes int, names []string) ([]float64, error) {
	file, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	heads, at := []string{"class", "prior"}, [2]int{-1, -1}
	column := func(header []string, name string) int {
		return slices.IndexFunc(header, func(s string) bool { return strings.EqualFold(strings.TrimSpace(s), name) })
	}
	records, err := newRecords(path, file, func(header []string) bool { return column(header, heads[0]) >= 0 && column(header, heads[1]) >= 0 })
	if err != nil {
		return nil, err
	}
	priors, numbers := slices.Repeat([]float64{math.NaN()}, classes), numbers{commas: records.Comma != ','}
	err = records.each(0, func(n int, record []string) error {
		if n == 1 {
			for k, head := range heads {
				if at[k] = column(record, head); at[k] < 0 {
					return Inputf(path, "has no column %s; its first row must name the columns class and prior", head)
				}
			}
			return nil
		}
		class := plainName(record[at[0]])
		y := slices.Index(names, class)
		if number, err := strconv.Atoi(class); y < 0 && err == nil && number >= 0 && number < classes {
			y = number
		}
		p, err := numbers.parse(strings.TrimSpace(record[at[1]]))
		switch {
		case y < 0:
			return Inputf(path, "line %d has the class %.40q, which is none of the %d classes of the model", records.line(), class, classes)
		case !math.IsNaN(priors[y]):
			return Inputf(path, "line %d has the class %.40q again; each class must have one row", records.line(), class)
		case err != nil || !(p >= 0 && p <= 1):
			return Inputf(path, "line %d has the prior %.40q; it must be a number in 0…1", records.line(), record[at[1]])
		}
		priors[y] = p
		return nil
	})
	if err == nil {
		err = numbers.check(path)
	}
	if err != nil {
		return nil, err
	}
	if y := slices.IndexFunc(priors, math.IsNaN); y >= 0 {
		return nil, Inputf(path, "has no row for the class %s; each of the %d classes must have one", ClassName(names, y), classes)
	}
	sum := floats.Sum(priors)
	if math.Abs(sum-1) > priorsRounding {
		return nil, Inputf(path, "has priors that sum to %.6g; they must sum to 1", sum)
	}
	floats.Scale(1/sum, priors)
	return priors, nil
}

// ClassName is the name of class y, its number where it has no name.
func ClassName(names []string, y int) string {
	if y < 0 || y >= len(names) {
		return strconv.Itoa(y)
	}
	return names[y]
}
