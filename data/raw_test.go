package data

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// rowsOfInputs is each row's values in words.
func rowsOfInputs(in *Inputs) []string {
	var rows []string
	for i := range in.Len() {
		x := make([]float32, in.Width())
		in.Read(x, i, i+1)
		rows = append(rows, fmt.Sprint(x, in.Labels[i]))
	}
	return rows
}

// TestRawPartsCoverTheTable: every row is in one part, and the same seed gives the
// same rows.
func TestRawPartsCoverTheTable(t *testing.T) {
	for _, held := range []float64{0, 0.2} {
		raw, err := OpenRaw("digits", RawSettings{HeldOut: held}, newRand(1))
		if err != nil {
			t.Fatal(err)
		}
		if raw.Val != nil {
			t.Error("a table has validation rows of its own")
		}
		if err := raw.HoldBack(newRand(2)); err != nil || raw.Val.Len() == 0 || raw.Val.Len() > raw.Train.Len() {
			t.Fatalf("held back: %v", err)
		}
		parts := []*Inputs{raw.Train, raw.Val, raw.Cal, raw.Test}
		if held > 0 {
			parts = append(parts, raw.Shifted)
			if n := raw.Shifted.Len(); n != 359 { // ⌊0.2·1797⌋
				t.Errorf("%d rows are held out", n)
			}
		} else if raw.Shifted != nil {
			t.Error("rows are held out unasked")
		}
		var all []string
		for _, p := range parts {
			all = append(all, rowsOfInputs(p)...)
		}
		want := rowsOfInputs(Digits().Inputs())
		slices.Sort(all)
		slices.Sort(want)
		if !slices.Equal(all, want) {
			t.Errorf("held out %v: the parts are not the table's rows", held)
		}
		again, _ := OpenRaw("digits", RawSettings{HeldOut: held}, newRand(1))
		if !slices.Equal(rowsOfInputs(again.Cal), rowsOfInputs(raw.Cal)) {
			t.Error("the same seed gives other rows")
		}
		if !mat.EqualApprox(raw.Test.Matrix(), raw.Test.Rows(UpTo(raw.Test.Len())).Matrix(), 0) {
			t.Error("all rows are not the rows")
		}
	}
}

// TestHoldOutIsARegion: on one line, the region is its end.
func TestHoldOutIsARegion(t *testing.T) {
	x := mat.NewDense(10, 2, nil)
	for i := range 10 {
		x.SetRow(i, []float64{float64(i*7%10) + 3, 2 * float64(i*7%10)})
	}
	inside, region, err := (&Table{Features: x, Labels: make([]int, 10)}).holdOut(0.3)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(region) != "[1 4 7]" || len(inside) != 7 { // where i·7 mod 10 is 7, 8, 9
		t.Errorf("region %v, inside %v", region, inside)
	}
}

func TestRawImages(t *testing.T) {
	path := tempFile(t, "cifar-10-binary.tar.gz", archived10(t, string(record(7))))
	raw, err := OpenRaw(path, RawSettings{}, newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	if n := raw.Train.Len() + raw.Val.Len() + raw.Test.Len(); n != 10 || raw.Cal.Len() != 1 {
		t.Errorf("%d training rows, %d calibration rows", n, raw.Cal.Len())
	}
	if fmt.Sprint(raw.Cal.Shape) != "[3 32 32]" || raw.Cal.Labels[0] != 7 {
		t.Errorf("shape %v, label %d", raw.Cal.Shape, raw.Cal.Labels[0])
	}
	x := make([]float32, raw.Cal.Width())
	raw.Cal.Read(x, 0, 1)
	if x[0] != 10./255 || x[1024] != 20./255 {
		t.Errorf("pixels %v %v", x[0], x[1024])
	}
}

// TestRawSourceFaults: what a source from outside hands over is looked at before a network is trained on it.
func TestRawSourceFaults(t *testing.T) {
	table := func(labels ...int) *Table {
		return &Table{Name: "mine", Classes: []string{"a", "b"}, Features: mat.NewDense(20, 1, nil), Labels: append(make([]int, 20-len(labels)), labels...)}
	}
	short := table()
	short.Labels = short.Labels[:7]
	for says, of := range map[string]*Table{
		"the Open of the raw source mine gives no rows": nil,
		"row 20 of the table mine has the label 2":      table(2),
		"row 19 of the table mine has the label -1":     table(-1, 0),
		"has 20 rows and 7 labels":                      short,
	} {
		open := func(rest string, s RawSettings, rng *rand.Rand) (*Raw, error) {
			if of == nil {
				return nil, nil
			}
			return of.Divide(s, rng)
		}
		s := RawSettings{Sources: []RawSource{{Name: "mine", Open: open}}}
		if _, err := OpenRaw("mine:x", s, newRand(1)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the error is %v, not that %s", err, says)
		}
	}
}

func TestOpenRawErrors(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	few := tempFile(t, "few.csv", []byte("1,2,a\n3,4,b\n"))
	alike := tempFile(t, "alike.csv", []byte(strings.Repeat("1,2,a\n3,4,a\n", 10)))
	twenty := tempFile(t, "twenty.csv", []byte(strings.Repeat("1,2,a\n3,4,b\n", 10)))
	for name, c := range map[string]struct {
		arg  string
		held float64
	}{
		"nothing there": {filepath.Join(dir, "none"), 0},
		"unknown":       {text, 0},
		"no weather":    {dir, 0},
		"few rows":      {few, 0},
		"one class":     {alike, 0},
		"no row held":   {twenty, 0.01},
		"share":         {"digits", 0.7},
		"no share":      {"digits", math.NaN()},
		"no table":      {text, 0.2},
	} {
		if _, err := OpenRaw(c.arg, RawSettings{HeldOut: c.held}, newRand(1)); !isInput(err) {
			t.Errorf("%s: %v is no input error", name, err)
		}
	}
	if _, err := OpenRaw("digits", RawSettings{Label: "x"}, newRand(1)); !isInput(err) {
		t.Errorf("a label column of no csv file: %v is no input error", err)
	}
}

func isInput(err error) bool {
	var input *InputError
	return errors.As(err, &input)
}

// TestLongTail: of class c there are n·ρ^(−c/(C−1)) rows among those that train and calibrate, and the test rows are
// those of the data as they are.
func TestLongTail(t *testing.T) {
	open := func(ratio float64) *Raw {
		r, err := OpenRaw("digits", RawSettings{LongTail: ratio}, newRand(1))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	whole, thin := open(0), open(10)
	if whole.Test.Digest() != thin.Test.Digest() || thin.Name != "digits-lt10" {
		t.Errorf("%s has other test rows", thin.Name)
	}
	for _, part := range [][2]*Inputs{{whole.Train, thin.Train}, {whole.Cal, thin.Cal}} {
		had, has := make([]int, 10), make([]int, 10)
		for k, counts := range [][]int{had, has} {
			for _, y := range part[k].Labels {
				counts[y]++
			}
		}
		for c := range has {
			want := int(float64(part[0].Len()) / 10 * math.Pow(10, -float64(c)/9))
			if has[c] != min(want, had[c]) {
				t.Errorf("class %d has %d rows of %d, not %d", c, has[c], had[c], want)
			}
		}
	}
	for _, ratio := range []float64{.5, -1, math.NaN(), math.Inf(1)} {
		if _, err := OpenRaw("digits", RawSettings{LongTail: ratio}, newRand(1)); err == nil {
			t.Errorf("the ratio %v is taken", ratio)
		}
	}
}
