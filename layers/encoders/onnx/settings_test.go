package onnx

import (
	"errors"
	"strings"
	"testing"

	"calibra/data"
)

// TestOutputsOfOneName: a network that names two outputs alike is refused, whichever are
// asked for.
func TestOutputsOfOneName(t *testing.T) {
	outputs := []port{{"x", []int64{-1, 4}}, {"x", []int64{-1, 3}}}
	for _, s := range []Settings{{}, {Features: "x"}, {Logits: "x"}, {Features: "x", Logits: "logits"}, {Classes: 3}} {
		var input *data.InputError
		if _, _, err := s.choose("f.onnx", outputs); !errors.As(err, &input) || !strings.Contains(err.Error(), `two outputs named "x"`) {
			t.Errorf("%+v: got %v", s, err)
		}
	}
}
