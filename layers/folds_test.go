package layers

import (
	"errors"
	"slices"
	"testing"

	"calibra/data"
)

// Each row is held out once, and fitted to by all folds but that one; a class is divided alike.
func TestFolds(t *testing.T) {
	labels := make([]int, 90)
	for i := range labels {
		labels[i] = i % 3
	}
	var held []int
	for _, f := range Folds(&data.Set{Labels: labels}, 5, newRand(1)) {
		held = append(held, f.Held...)
		if all := slices.Sorted(slices.Values(slices.Concat(f.Fit, f.Held))); len(all) != 90 || all[0] != 0 || len(slices.Compact(all)) != 90 {
			t.Errorf("a fold is of the rows %v", all)
		}
		for c := range 3 {
			of := 0
			for _, row := range f.Held {
				if labels[row] == c {
					of++
				}
			}
			if of != 6 {
				t.Errorf("%d rows of class %d are held out of 30 by one of 5 folds", of, c)
			}
		}
	}
	if slices.Sort(held); len(slices.Compact(held)) != 90 {
		t.Errorf("the rows %v are held out", held)
	}
	if few := FewRows(labels, 30, newRand(1)); len(few) != 30 {
		t.Errorf("%d rows for 30", len(few))
	}
	for folds, right := range map[int]bool{1: false, 2: true, 90: true, 91: false} {
		if err := CheckFolds(folds, 90); (err == nil) != right || !right && !errors.As(err, new(*SettingError)) {
			t.Errorf("%d folds of 90 rows: %v", folds, err)
		}
	}
}
