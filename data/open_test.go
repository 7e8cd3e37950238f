package data

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// patience is a context that is cancelled when it has been asked so often.
type patience struct {
	context.Context
	left atomic.Int64
}

func (p *patience) Err() error {
	if p.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Predictions whose reading is cancelled are none, and those that are read to the end are whole.
func TestReadPredictionsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.npz")
	x := mat.NewDense(20000, 3, nil)
	if err := writeNPZ(path, Array{"logits", x}, Array{"labels", make([]int, 20000)}); err != nil {
		t.Fatal(err)
	}
	for asked := int64(0); ; asked++ {
		ctx := &patience{Context: t.Context()}
		ctx.left.Store(asked)
		p, err := ReadPredictionsContext(ctx, path, "")
		if err == nil {
			if rows, _ := p.LogProbs.Dims(); rows != 20000 || asked < 3 {
				t.Errorf("%d rows after %d looks at the context", rows, asked)
			}
			return
		}
		if p != nil || !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled when asked %d times: %v, %v", asked, p, err)
		}
	}
}

// A file whose reading is cancelled, wherever that is, gives the context's error and nothing
// else; and one that is read to its end is what [Open] reads.
func TestOpenContext(t *testing.T) {
	dir := t.TempDir()
	const rows = 40000
	x, labels := mat.NewDense(rows, 8, nil), make([]int, rows)
	var csv strings.Builder
	csv.WriteString("set,label,logits_0,logits_1\n")
	for i := range rows {
		labels[i] = i % 2
		for j := range 8 {
			x.Set(i, j, float64(i*7919%1009)+float64(j)/3)
		}
		fmt.Fprintf(&csv, "%s,%d,%v,%v\n", []string{"cal", "test"}[i%2], i/2%2, x.At(i, 0), x.At(i, 1))
	}
	npz := filepath.Join(dir, "f.npz")
	if err := writeNPZ(npz, Array{"cal_logits", x}, Array{"cal_labels", labels}, Array{"test_logits", x}, Array{"test_labels", labels}); err != nil {
		t.Fatal(err)
	}
	paths := []string{npz, tempFile(t, "f.csv", []byte(csv.String()))}
	tables, err := filepath.Glob(filepath.Join("testdata", "tables", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(paths, tables...) {
		want, err := Open(path)
		if err != nil {
			continue // a table of a test that it is refused
		}
		cancelled := 0
		for asked := int64(0); ; asked++ {
			ctx := &patience{Context: t.Context()}
			ctx.left.Store(asked)
			have, err := OpenContext(ctx, path, Names{})
			if err == nil {
				if !reflect.DeepEqual(have, want) {
					t.Errorf("%s: another source is read with a context", path)
				}
				break
			}
			cancelled++
			if input := (*InputError)(nil); have != nil || !errors.Is(err, context.Canceled) || !errors.As(err, &input) {
				t.Errorf("%s, cancelled when asked %d times: %v, %v", path, asked, have, err)
				break
			}
		}
		if cancelled < 3 {
			t.Errorf("%s is read with %d looks at the context", path, cancelled)
		}
	}
}
