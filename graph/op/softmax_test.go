package op_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/graph/op"

	"gorgonia.org/tensor"
)

// TestSoftmaxRowsAlone: each row of a batch gets the bits it gets alone, however many rows and
// classes there are.
func TestSoftmaxRowsAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []int{1, 3, 10, 1000, 9000} {
		for _, rows := range []int{1, 5, 38} {
			scores, gradients := make([]float32, rows*c), make([]float32, rows*c)
			for i := range scores {
				scores[i], gradients[i] = float32(4*rng.NormFloat64()), float32(rng.NormFloat64())
			}
			logp, grad := softmaxOf(t, scores, gradients, c)
			for b := 0; b < len(scores); b += c {
				wantLogp, wantGrad := softmaxOf(t, scores[b:b+c], gradients[b:b+c], c)
				if !slices.Equal(logp[b:b+c], wantLogp) || !slices.Equal(grad[b:b+c], wantGrad) {
					t.Errorf("row %d of %d×%d differs from what it is alone", b/c, rows, c)
				}
			}
		}
	}
}

// softmaxOf is log-softmax of rows of c scores and its gradient from g.
func softmaxOf(t testing.TB, scores, g []float32, c int) (logp, grad []float32) {
	matrix := func(x []float32) *tensor.Dense {
		return tensor.New(tensor.WithShape(len(x)/c, c), tensor.WithBacking(x))
	}
	out, err := op.LogSoftmax().Do(matrix(scores))
	if err != nil {
		t.Fatal(err)
	}
	gradients, err := op.New(op.LogSoftmaxGradOp{Of: op.Matrix}).Do(out, matrix(g))
	if err != nil {
		t.Fatal(err)
	}
	return out.Data().([]float32), gradients.Data().([]float32)
}

func BenchmarkLogSoftmax(b *testing.B) {
	for _, c := range []int{10, 1000} {
		b.Run(fmt.Sprintf("4096x%d", c), func(b *testing.B) {
			x := make([]float32, 4096*c)
			for i := range x {
				x[i] = float32(i%97) / 10
			}
			for b.Loop() {
				softmaxOf(b, x, x, c)
			}
		})
	}
}
