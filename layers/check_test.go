package layers

import (
	"strings"
	"testing"

	"calibra/graph"

	"gorgonia.org/gorgonia"
)

// unmoved learns a weight that its posterior does not depend on.
type unmoved struct{ Dirichlet }

func (unmoved) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node { return b.LogSoftmax(in.LogProbs) }

// TestCheckMapFindsFaults: the paper's map passes, a map whose loss does not depend on its
// weights and one without the input that it reads do not.
func TestCheckMapFindsFaults(t *testing.T) {
	if err := CheckMap(Bilinear{}, newRand(1)); err != nil {
		t.Error(err)
	}
	if err := CheckMap(unmoved{}, newRand(1)); err == nil || !strings.Contains(err.Error(), "does not depend") {
		t.Errorf("weights without use: %v", err)
	}
	if err := CheckMap(reader{}, newRand(1)); err == nil || !strings.Contains(err.Error(), "needs a base that gives") {
		t.Errorf("an input that is not there: %v", err)
	}
}

// reader reads an input that no base has.
type reader struct{ Dirichlet }

func (reader) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	return b.LogSoftmax(b.Linear("dirichlet", in.Input(b, "nothing")))
}
