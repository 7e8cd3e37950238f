package op_test

import (
	"testing"

	"calibra/graph/op"
)

// TestFormsGiveShapes, and refuse those that do not fit.
func TestFormsGiveShapes(t *testing.T) {
	for _, c := range []struct {
		form string
		in   []op.Shape
		want op.Shape // nil where they do not fit
	}{
		{"B C, C -> B C", []op.Shape{{2, 3}, {3}}, op.Shape{2, 3}},
		{"B C, C -> B C", []op.Shape{{2, 3}, {2}}, nil},
		{"B C, C -> B C", []op.Shape{{2, 3}, {3, 1}}, nil},
		{"B C*C, B C -> B C", []op.Shape{{2, 9}, {2, 3}}, op.Shape{2, 3}}, // C stands alone further on
		{"B C*C, B C -> B C", []op.Shape{{2, 8}, {2, 3}}, nil},
		{"int B w, B M -> 7 M/w", []op.Shape{{2, 3}, {2, 6}}, op.Shape{7, 2}},
		{"int B w, B M -> 7 M/w", []op.Shape{{2, 3}, {2, 7}}, nil},
		{"B M, B L -> B M+L", []op.Shape{{2, 3}, {2, 4}}, op.Shape{2, 7}},
		{"B H, 1 -> B H", []op.Shape{{2, 3}, {2}}, nil},
		{"R C, int B w -> B C where R/w", []op.Shape{{6, 2}, {5, 3}}, op.Shape{5, 2}},
		{"R C, int B w -> B C where R/w", []op.Shape{{7, 2}, {5, 3}}, nil},
		{"R C, int B w -> B C where R/w", []op.Shape{{7, 2}, {5, 0}}, nil},
		{"B C -> int B 3 where C-3", []op.Shape{{2, 3}}, op.Shape{2, 3}},
		{"B C -> int B 3 where C-3", []op.Shape{{2, 2}}, nil},
		{"B C, B m -> B C where C-m+1", []op.Shape{{2, 3}, {2, 3}}, nil},
		{"B C, () -> ()", []op.Shape{{2, 3}, {}}, op.Shape{}},
		{op.Alike(op.Images, 2), []op.Shape{{1, 2, 3, 4}, {1, 2, 3, 4}}, op.Shape{1, 2, 3, 4}},
		{op.Alike(op.Scalar, 1), []op.Shape{{}}, op.Shape{}},
	} {
		got, err := op.Infer(c.form, c.in)
		if (err != nil) != (c.want == nil) || err == nil && !got.Eq(c.want) {
			t.Errorf("%q of %v is %v, %v; want %v", c.form, c.in, got, err, c.want)
		}
	}
}

// TestAKernelSaysItsShapes in one of two ways, or is refused when it is made.
func TestAKernelSaysItsShapes(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an op without shapes is made")
		}
	}()
	op.New(shapeless{})
}

type shapeless struct{}

func (shapeless) Run(op.Value, []op.Value) {}
