package main

import (
	"bufio"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments"

	"gonum.org/v1/gonum/mat"
)

// svmlight reads --data svmlight:FILE, a line "label place:value place:value …" for each row,
// places from 1 and values that are not there 0.
var svmlight = experiments.RawSource{
	Name: "svmlight", Line: "a table in the format of SVMlight",
	Open: func(path string, s data.RawSettings, rng *rand.Rand) (*data.Raw, error) {
		f, err := data.OpenFile(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		var rows []map[int]float64
		var names []string
		columns, numbers := 0, map[string]int{}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			if len(fields) == 0 {
				continue
			}
			row := map[int]float64{}
			for _, field := range fields[1:] {
				place, value, _ := strings.Cut(field, ":")
				j, err := strconv.Atoi(place)
				v, bad := strconv.ParseFloat(value, 64)
				if err != nil || bad != nil || j < 1 {
					return nil, data.Inputf(path, "row %d has %q, which is not PLACE:VALUE", len(rows)+1, field)
				}
				row[j-1] = v
				columns = max(columns, j)
			}
			rows, names = append(rows, row), append(names, fields[0])
			numbers[fields[0]] = 0
		}
		if err := lines.Err(); err != nil {
			return nil, data.Inputf(path, "cannot be read: %w", err)
		}
		if len(rows) == 0 || columns == 0 {
			return nil, data.Inputf(path, "has no rows")
		}
		t := &data.Table{
			Name:     strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)),
			Classes:  slices.Sorted(maps.Keys(numbers)),
			Features: mat.NewDense(len(rows), columns, nil),
		}
		for i, row := range rows {
			for j, v := range row {
				t.Features.Set(i, j, v)
			}
			t.Labels = append(t.Labels, slices.Index(t.Classes, names[i]))
		}
		return t.Divide(s, rng)
	},
}
