package data

import (
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestDescribe: features belong to predictions unless labels contradict, whatever calls the classes.
func TestDescribe(t *testing.T) {
	probs := Array{"probs", mat.NewDense(4, 2, []float64{.5, .5, .5, .5, .5, .5, .5, .5})}
	x := mat.NewDense(4, 1, []float64{1, 2, 3, 4})
	names := func(all ...string) Array { return Array{"class_names", all} }
	for name, c := range map[string]struct {
		said, file []Array
		fault      string
	}{
		"no labels":         {[]Array{{"labels", []int{0, 1, 1, 0}}}, nil, ""},
		"the same":          {[]Array{{"labels", []int{0, 1, 1, 0}}}, []Array{{"labels", []int{0, 1, 1, 0}}}, ""},
		"others":            {[]Array{{"labels", []int{0, 1, 1, 0}}}, []Array{{"labels", []int{0, 1, 0, 1}}}, "2 of 4 labels contradict, the first at row 2, which is 0 here and 1 there"},
		"names":             {[]Array{{"labels", []int{0, 1, 1, 0}}, names("b", "a")}, []Array{{"labels", []string{"b", "a", "a", "b"}}}, ""},
		"other names":       {[]Array{{"labels", []int{0, 1, 1, 0}}, names("b", "a")}, []Array{{"labels", []string{"a", "a", "a", "b"}}}, "1 of 4 labels contradict, the first at row 0, which is a here and b there"},
		"names alone":       {[]Array{{"labels", []int{1, 0, 0, 1}}}, []Array{{"labels", []string{"a", "b", "b", "a"}}}, ""},
		"other names alone": {[]Array{{"labels", []int{1, 0, 0, 1}}}, []Array{{"labels", []string{"a", "b", "a", "a"}}}, "1 of 4 labels contradict, the first at row 2"},
		"of the first row":  {[]Array{{"labels", []int{0, 1, 1, 0}}}, []Array{{"labels", []string{"a", "a", "a", "b"}}}, "1 of 4 labels contradict, the first at row 0"},
	} {
		dir := t.TempDir()
		said, file := filepath.Join(dir, "p.npz"), filepath.Join(dir, "f.npz")
		if err := writeNPZ(said, append(c.said, probs)...); err != nil {
			t.Fatal(err)
		}
		if err := writeNPZ(file, append(c.file, Array{"features", x}, Array{"groups", []string{"n", "s", "s", "n"}})...); err != nil {
			t.Fatal(err)
		}
		p, err := ReadPredictions(said)
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.Describe(file, said)
		switch {
		case c.fault != "":
			if err == nil || !isInput(err) || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: %v does not say %q", name, err, c.fault)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case !mat.Equal(d.Features, x) || len(d.Groups.Names) != 2 || d.Groups.Of[2] != 1:
			t.Errorf("%s: %v", name, d)
		}
	}
}
