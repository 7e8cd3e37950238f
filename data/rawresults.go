package data

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// OpenRawResults reads a csv of raw results as the paper's authors write it: a
// header and a row for each sample, with the columns true (the label), preds (the
// predicted class, not read), logits_0 … logits_{C−1} and features_0 …
// features_{M−1}, in any order. Other columns are not read. Whatever is wrong
// with the file is an *InputError.
func OpenRawResults(path string) (*Set, error) {
	f, err := openOr(path, "name a csv with the columns true, preds, logits_i and features_i")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	records := newCSV(f)
	header, err := records.Read()
	if err != nil {
		return nil, Inputf(path, "cannot be read: %w", err)
	}
	records.ReuseRecord = true
	label := slices.Index(header, "true")
	if label < 0 {
		return nil, Inputf(path, "has no column true; it has %s", strings.Join(header[:min(len(header), 8)], ", "))
	}
	logits, err := numberedColumns(header, "logits_")
	if err != nil {
		return nil, Inputf(path, "%w", err)
	}
	features, err := numberedColumns(header, "features_")
	if err != nil {
		return nil, Inputf(path, "%w", err)
	}
	if len(logits) < 2 {
		return nil, Inputf(path, "has %d columns logits_i; there must be one for each of at least two classes", len(logits))
	}

	set := &Set{}
	var u, z []float64
	for row := 2; ; row++ {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, Inputf(path, "cannot be read: %w", err)
		}
		if u, err = appendNumbers(u, record, header, logits); err != nil {
			return nil, Inputf(path, "row %d %w", row, err)
		}
		if z, err = appendNumbers(z, record, header, features); err != nil {
			return nil, Inputf(path, "row %d %w", row, err)
		}
		y, err := strconv.ParseFloat(record[label], 64) // pandas may write 3.0
		if k := int(y); err != nil || float64(k) != y || k < 0 || k >= len(logits) {
			return nil, Inputf(path, "row %d has the label %.20q; labels must lie in 0…%d", row, record[label], len(logits)-1)
		}
		set.Labels = append(set.Labels, int(y))
		if row%(1<<16) == 0 {
			if err := CheckRoom(path, "the table", row, 8*float64(len(logits)+len(features)), "rows"); err != nil {
				return nil, err
			}
		}
	}
	n := len(set.Labels)
	if n == 0 {
		return nil, Inputf(path, "has no rows")
	}
	set.Logits = mat.NewDense(n, len(logits), u)
	if len(features) > 0 {
		set.Features = mat.NewDense(n, len(features), z)
	}
	return set, nil
}

// numberedColumns finds the columns prefix0, prefix1, … of a header.
func numberedColumns(header []string, prefix string) ([]int, error) {
	column := make(map[int]int)
	for j, name := range header {
		if suffix, ok := strings.CutPrefix(name, prefix); ok {
			if i, err := strconv.Atoi(suffix); err == nil {
				column[i] = j
			}
		}
	}
	index := make([]int, len(column))
	for i := range index {
		j, ok := column[i]
		if !ok {
			return nil, fmt.Errorf("has %d columns %si and none of them is %s%d", len(column), prefix, prefix, i)
		}
		index[i] = j
	}
	return index, nil
}

// appendNumbers appends the fields of a record at the given columns.
func appendNumbers(dst []float64, record, header []string, columns []int) ([]float64, error) {
	for _, j := range columns {
		v, err := strconv.ParseFloat(record[j], 64)
		if err != nil || v-v != 0 {
			return nil, fmt.Errorf("has %.40q in column %s, where a finite number should be", record[j], header[j])
		}
		dst = append(dst, v)
	}
	return dst, nil
}
