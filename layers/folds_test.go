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

// TestGroupFolds: each group lies whole in one fold, each row is held out once, and a class that all groups have alike
// is divided alike.
func TestGroupFolds(t *testing.T) {
	x := &data.Set{Labels: make([]int, 120), Groups: data.Groups{Of: make([]int, 120), Names: data.Numerals(24)}}
	for i := range x.Labels {
		x.Labels[i], x.Groups.Of[i] = i%3, i/5 // 24 groups of five
	}
	folds, err := GroupFolds(x, 5, newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	in, seen := map[int]int{}, 0
	for k, f := range folds {
		if len(f.Held)+len(f.Fit) != 120 || len(f.Held) < 20 || len(f.Held) > 25 {
			t.Errorf("fold %d holds out %d rows and is fitted to %d", k, len(f.Held), len(f.Fit))
		}
		for _, i := range f.Held {
			seen++
			if other, there := in[x.Groups.Of[i]]; there && other != k {
				t.Errorf("group %d is in two folds", x.Groups.Of[i])
			}
			in[x.Groups.Of[i]] = k
		}
	}
	if seen != 120 {
		t.Errorf("%d rows are held out", seen)
	}
	if _, err := GroupFolds(x, 25, newRand(1)); err == nil {
		t.Error("25 folds of 24 groups")
	}
}
