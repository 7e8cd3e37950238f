package onnx

import (
	"fmt"

	"calibra/data"
)

// width is the number of values a row of an output of the given shape, for n rows.
// Axes of length 1 behind the first do not count: the N×M×1×1 of a pooling layer is
// N×M.
func width(path, name string, shape []int64, n int) (int, error) {
	if len(shape) < 2 || shape[0] != int64(n) {
		return 0, data.Inputf(path, "its output %s has shape %v for %d rows; it must have one vector for each", name, shape, n)
	}
	w, long := int64(1), 0
	for _, d := range shape[1:] {
		w *= d
		if d > 1 {
			long++
		}
	}
	if long > 1 || w == 0 {
		return 0, data.Inputf(path, "its output %s has shape %v; it must be one vector a row, such as the pooled features", name, shape)
	}
	return int(w), nil
}

// finite returns an error for the first value that is not.
func finite(path, name string, values []float32, width int) error {
	for i, v := range values {
		if v-v != 0 {
			return fmt.Errorf("onnx: %s: its output %s is %v at row %d, column %d; every value must be finite", path, name, v, i/width, i%width)
		}
	}
	return nil
}
