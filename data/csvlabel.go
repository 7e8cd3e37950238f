package data

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// What makes a column of a raw table a label, a quantity or an index is known of so many rows.
const fewRows, manyRows = 10, 20

// doubtful reports whether the first row, whose features are numbers, may be a header for all that:
// because it counts the columns, or because its label occurs nowhere else.
func (t *Table) doubtful(first []string) bool {
	counts := func(from int) bool {
		for i, field := range first {
			if strings.TrimSpace(field) != strconv.Itoa(from+i) {
				return false
			}
		}
		return true
	}
	once := !slices.Contains(t.Labels[1:], t.Labels[0])
	return (counts(0) || counts(1)) && len(first) > 2 || once && t.Len() >= fewRows
}

// checkLabels returns an *InputError where the labels are a quantity rather than classes, with the
// columns that look like classes. It names in Notice the column that is an index.
func (t *Table) checkLabels(path string, named bool) error {
	n, c := t.Len(), len(t.Classes)
	if n < manyRows {
		return nil
	}
	what := t.label
	if what == "" {
		what = "the last"
	}
	is := ""
	switch {
	case c > n/2:
		is = fmt.Sprintf("has %d values in %d rows", c, n)
	case !named && numeric(t.Classes) && slices.ContainsFunc(t.Classes, decimal):
		is = "holds decimals, as " + t.Classes[slices.IndexFunc(t.Classes, decimal)]
	}
	like, index := t.candidates()
	if is != "" {
		hint := "no other column looks like one; name the label column by --label"
		if like != nil {
			hint = strings.Join(like, ", ") + " may be: name the label column by --label, or move it to the end"
		}
		return Inputf(path, "column %s %s, so it is no label; %s", Printable(what), is, hint)
	}
	if index != "" {
		t.Notice = fmt.Sprintf("column %s counts the rows and looks like an index; leave it out", index)
	}
	return nil
}

func decimal(number string) bool {
	v, err := strconv.ParseFloat(number, 64)
	return err == nil && v != math.Trunc(v)
}

// candidates finds the feature columns that look like labels, of few integers, and the first that
// looks like an index.
func (t *Table) candidates() (like []string, index string) {
	n, m := t.Features.Dims()
	for j := range m {
		name := fmt.Sprint(j + 1)
		if t.Columns != nil {
			name = Printable(t.Columns[j])
		}
		first := t.Features.At(0, j)
		whole, quantity, counts := map[float64]bool{}, false, first == 0 || first == 1
		for i := 0; i < n && (counts || !quantity); i++ {
			v := t.Features.At(i, j)
			counts = counts && v == first+float64(i)
			if quantity = quantity || v != math.Trunc(v) || len(whole) > n/10; !quantity {
				whole[v] = true
			}
		}
		if counts && index == "" {
			index = name
		}
		const most = 5
		if !quantity && len(whole) >= 2 && len(whole) <= n/10 && len(like) < most {
			like = append(like, fmt.Sprintf("%s (%d values)", name, len(whole)))
		}
	}
	return like, index
}
