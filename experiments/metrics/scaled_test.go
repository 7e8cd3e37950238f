package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestSpentEmbeddingsMeasureAlike, in both protocols and at all rows or some.
func TestSpentEmbeddingsMeasureAlike(t *testing.T) {
	p := generate(300, 4, 5, 2, rand.New(rand.NewPCG(1, 1)))
	values := make([]float32, 300*5)
	for at := range values {
		values[at] = float32(p.embedding.At(at/5, at%5))
		p.embedding.Set(at/5, at%5, float64(values[at]))
	}
	for _, protocol := range protocols {
		for _, anchors := range []int{0, 40} {
			said := func(embedding mat.Matrix) []byte {
				s := Settings{Protocol: protocol, Anchors: anchors}
				r, err := Evaluate(context.Background(), p.logProbs, p.labels, embedding, s, Uncertainty{Replicates: 40, Redraws: 5}, rand.New(rand.NewPCG(2, 0)))
				if err != nil {
					t.Fatal(err)
				}
				text, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				return text
			}
			want, got := said(p.embedding), said(NewSpent(slices.Clone(values), 5))
			if !bytes.Equal(got, want) {
				t.Errorf("%v, %d anchors: a spent embedding gives\n%s, a kept one\n%s", protocol, anchors, got, want)
			}
		}
	}
}

// TestArrangedRowsAreWhereTheyBelong, from one order to the next.
func TestArrangedRowsAreWhereTheyBelong(t *testing.T) {
	const rows = 50
	a := &arranged{dim: 2}
	for i := range rows {
		a.values = append(a.values, float32(i), float32(-i))
	}
	rng := rand.New(rand.NewPCG(3, 3))
	for range 3 {
		order := rng.Perm(rows)
		a.arrange(order)
		for j, i := range order {
			if a.values[2*j] != float32(i) || a.values[2*j+1] != float32(-i) {
				t.Fatalf("place %d has the row %v, not %d", j, a.values[2*j:2*j+2], i)
			}
		}
	}
}

// TestIDsOfEverySize hold what was put in.
func TestIDsOfEverySize(t *testing.T) {
	for _, most := range []int{2, 256, 257, 1 << 16, 1<<16 + 1} {
		x := newIDs(3, most)
		x.set(1, int32(most-1))
		if got := x.all(3); got[0] != 0 || got[1] != int32(most-1) || x.at(1) != int32(most-1) {
			t.Errorf("below %d: %v", most, got)
		}
	}
}
