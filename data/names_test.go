package data

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestNames: labels of text are numbered by the names that are known, and names that do not fit are
// refused by a sentence.
func TestNames(t *testing.T) {
	logits := Array{"test_logits", mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})}
	features := Array{"test_features", mat.NewDense(2, 2, []float64{1, 2, 3, 4})}
	labels := func(names ...string) Array { return Array{"test_labels", names} }
	model := Names{Classes: []string{"b", "a", "wäsp"}, Features: []string{"x", "y"}}
	for name, c := range map[string]struct {
		arrays []Array
		given  Names
		want   []int
		fault  string
	}{
		"by order":         {[]Array{features, labels("10", "9")}, Names{}, []int{1, 0}, ""},
		"by the file":      {[]Array{logits, labels("a", "b"), {"class_names", []string{"b", "c", "a"}}}, Names{}, []int{2, 0}, ""},
		"by the model":     {[]Array{logits, labels("a", "wäsp")}, model, []int{1, 2}, ""},
		"too few":          {[]Array{logits, labels("a", "b")}, Names{}, nil, "labels name 2 classes and logits have 3 columns; add class_names"},
		"other form":       {[]Array{logits, labels("wa\u0308sp", " b ")}, model, []int{2, 0}, ""},
		"model's form":     {[]Array{logits, labels("w\u00e4sp", "a")}, Names{Classes: []string{"b", "a", "wa\u0308sp"}}, []int{2, 1}, ""},
		"no labels":        {[]Array{logits, labels("", "")}, model, nil, ""},
		"one of two forms": {[]Array{logits, {"class_names", []string{"\u00e4", "y", "a\u0308"}}}, Names{}, nil, "holds a name twice"},
		"below 0":          {[]Array{logits, {"test_labels", []int{-1, -1}}}, Names{}, nil, "of rows without labels leave the array out"},
		"unknown":          {[]Array{logits, labels("a", "d")}, model, nil, "test_labels says d at row 1, which is none of the 3 classes b, a, wäsp"},
		"no name":          {[]Array{features, labels("a", "")}, Names{}, nil, "has no name at row 1"},
		"other order":      {[]Array{logits, labels("a", "b"), {"class_names", []string{"a", "b", "wäsp"}}}, model, nil, "names class 0 a and the model was fitted with b there"},
		"other features":   {[]Array{features, logits, {"feature_names", []string{"y", "x"}}}, model, nil, "names feature 0 y and the model was fitted with x there"},
		"few features":     {[]Array{features, logits, {"feature_names", []string{"x"}}}, Names{}, nil, "feature_names has 1 names and test_features has 2 columns"},
		"few classes":      {[]Array{logits, {"class_names", []string{"x", "y"}}}, Names{}, nil, "class_names has 2 names and logits have 3 columns"},
		"twice":            {[]Array{logits, {"class_names", []string{"x", "y", "x"}}}, Names{}, nil, "holds a name twice"},
		"names of numbers": {[]Array{logits, {"test_labels", []int{0, 2}}, {"class_names", []string{"x", "y", "z"}}}, Names{}, []int{0, 2}, ""},
	} {
		path := filepath.Join(t.TempDir(), "f.npz")
		if err := writeNPZ(path, c.arrays...); err != nil {
			t.Fatal(err)
		}
		s, err := OpenContext(t.Context(), path, c.given)
		if c.fault != "" {
			if err == nil || !isInput(err) || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: %v does not say %q", name, err, c.fault)
			}
			continue
		}
		if err != nil || !slices.Equal(s.Test.Labels, c.want) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

// TestUnread: arrays that nothing reads are named, and what they were meant to be.
func TestUnread(t *testing.T) {
	logits := mat.NewDense(2, 2, []float64{1, 2, 3, 4})
	for _, c := range []struct {
		file, want string
		arrays     []Array
	}{
		{"f.npz", "", []Array{{"test_logits", logits}, {"class_names", []string{"a", "b"}}}},
		{"f.npz", "nothing reads cal_lables (did you mean cal_labels?), other", []Array{{"test_logits", logits}, {"cal_lables", []int{0, 1}}, {"other", []int{1}}}},
		{"f.csv", "nothing reads the index that pandas wrote (index=False leaves it out), lable (did you mean labels?), sex, group (did you mean groups?)", nil},
		{"f.parquet", "nothing reads price", []Array{{"logits", logits}, {"price", []float64{1, 2}}}},
	} {
		path := filepath.Join(t.TempDir(), c.file)
		err := os.WriteFile(path, []byte(",feature_0,logit_a,logit_b,lable,sex,set,group\n0,1,2,3,4,5,cal,East\n1,2,3,4,5,6,test,West\n"), 0o666)
		if c.arrays != nil {
			err = writeTable(path, c.arrays...)
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, err := Open(path); err != nil || s.Unread != c.want {
			t.Errorf("%q is not %q: %v", s.Unread, c.want, err)
		}
	}
}
