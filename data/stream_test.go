package data

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// noise is n×m draws from N(0, 1).
func noise(n, m int, rng *rand.Rand) *mat.Dense {
	x := mat.NewDense(n, m, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, x)
	return x
}

// TestStreamedArraysAreThoseOfMatrices to the byte, however their rows come.
func TestStreamedArraysAreThoseOfMatrices(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, size := range [][2]int{{1, 1}, {7, 3}, {100, 10}, {12345, 2}} {
		x := noise(size[0], size[1], rng)
		var want, got bytes.Buffer
		if err := NPZ(Array{"x", x})(&want); err != nil {
			t.Fatal(err)
		}
		rows := func(write func([]float64) error) error {
			for lo := 0; lo < size[0]; lo += 9 {
				part := x.Slice(lo, min(lo+9, size[0]), 0, size[1]).(*mat.Dense)
				if err := write(part.RawMatrix().Data); err != nil {
					return err
				}
			}
			return nil
		}
		if err := NPZ(Array{"x", Streamed(size[0], size[1], rows)})(&got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%v: another file", size)
		}
		if err := NPZ(Array{"x", Streamed(size[0]+1, size[1], rows)})(&got); err == nil {
			t.Errorf("%v: a row that is missing is no error", size)
		}
	}
}

// TestStreamReadsWhatOpenReads in batches that do not divide the rows.
func TestStreamReadsWhatOpenReads(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	x, l := noise(50, 6, rng), noise(50, 3, rng)
	labels := make([]int, 50)
	path := filepath.Join(t.TempDir(), "f.npz")
	if err := writeNPZ(path, Array{"cal_features", x}, Array{"test_features", x}, Array{"test_logits", l}, Array{"test_labels", labels}); err != nil {
		t.Fatal(err)
	}
	src, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenStream(path, "test", Names{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Rows != 50 || s.Width != 6 || s.Classes != 3 || len(s.Labels) != 50 {
		t.Fatalf("%d rows, %d features, %d classes", s.Rows, s.Width, s.Classes)
	}
	for _, batch := range []int{7, 50, 1000} {
		next := 0
		err := s.Each(t.Context(), batch, false, func(lo int, part *Set) error {
			if lo != next {
				t.Errorf("the batch at %d begins at %d", next, lo)
			}
			next += part.Len()
			want := src.Test.Rows(seq(lo, part.Len()))
			if !mat.Equal(part.Features, want.Features) || !mat.Equal(part.Logits, want.Logits) || len(part.Labels) != part.Len() {
				t.Errorf("batch %d at %d differs", batch, lo)
			}
			return nil
		})
		if err != nil || next != 50 {
			t.Errorf("%d rows: %v", next, err)
		}
	}
	if err := s.Require("test_features", "val_logits"); err == nil || err.Error() != src.Require("test_features", "val_logits").Error() {
		t.Errorf("what is missing is told in two ways: %v", err)
	}
}

func seq(lo, n int) []int {
	index := make([]int, n)
	for i := range index {
		index[i] = lo + i
	}
	return index
}

// TestStreamRefusesDamage wherever it is, with the row of the file, and gives no stream of
// what is not in order.
func TestStreamRefusesDamage(t *testing.T) {
	dir := t.TempDir()
	each := func(path string) error {
		s, err := OpenStream(path, "test", Names{})
		if err != nil || s == nil {
			return err
		}
		defer s.Close()
		return s.Each(t.Context(), 8, false, func(int, *Set) error { return nil })
	}
	var input *InputError
	x := mat.NewDense(20, 2, nil)
	x.Set(17, 1, math.Inf(1))
	path := filepath.Join(dir, "infinite.npz")
	if err := writeNPZ(path, Array{"test_features", x}); err != nil {
		t.Fatal(err)
	}
	if err := each(path); !errors.As(err, &input) || !strings.Contains(err.Error(), "row 17, column 1") {
		t.Errorf("an infinite feature gives %v", err)
	}
	x.Set(17, 1, 0)
	path = filepath.Join(dir, "damaged.npz")
	if err := writeNPZ(path, Array{"test_features", x}); err != nil {
		t.Fatal(err)
	}
	bytes, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bytes[len(bytes)-150] ^= 1 // the low bits of a value
	if err := os.WriteFile(path, bytes, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := each(path); !errors.As(err, &input) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged value gives %v", err)
	}
	path = filepath.Join(dir, "table.parquet")
	if err := writeTable(path, Array{"probs", mat.NewDense(2, 2, []float64{.5, .5, 1, 0})}); err != nil {
		t.Fatal(err)
	}
	if s, err := OpenStream(path, "test", Names{}); s != nil || err != nil {
		t.Errorf("a table is a stream (%v)", err)
	}
}
