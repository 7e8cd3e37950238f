package layers

import (
	"errors"
	"fmt"
	"math"

	"calibra/graph/onnx"
)

// Predictor is a fitted calibrator without its graphs, for serving: rows in, calibrated log-probabilities out, in
// float64. It may be used by many goroutines at once, and allocates next to nothing.
type Predictor struct {
	engine  *onnx.Engine
	classes int
}

// ErrNoNetwork is the error of a calibrator that has no network, and so no Predictor: its Predict has to do.
var ErrNoNetwork = errors.New("layers: the calibrator has no network")

// Compile makes a Predictor of any fitted calibrator that has a network ([onnx.Calibrator]). Later fits do not change
// it.
func Compile(c Calibrator) (*Predictor, error) {
	says, err := onnx.CalibratorOf(c)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoNetwork, err)
	}
	g := onnx.Serve()
	said, err := says.ONNX(g)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoNetwork, err)
	}
	if said.LogProbs != "" {
		said.LogProbs = g.Unmasked(said.LogProbs, math.Inf(-1))
	}
	g.Output(served, said.Logs(g), onnx.Double, said.Classes)
	engine, err := g.Engine()
	if err != nil {
		return nil, err
	}
	return &Predictor{engine, said.Classes}, nil
}

// served is the output of a Predictor's network.
const served = "log_probabilities"

// Reads reports whether rows need features, and whether they need logits.
func (p *Predictor) Reads() (features, logits bool) {
	return p.engine.Reads("features"), p.engine.Reads("logits")
}

// Classes is C.
func (p *Predictor) Classes() int { return p.classes }

// Predict writes the calibrated log-probabilities (N×C) of features (N×M) and logits (N×C), all row by row, to dst.
// What the calibrator does not read may be nil. A constant that is added to a row of logits changes nothing;
// probabilities are their logarithms. A row with a number that is not finite, but for a logit of −∞, has NaN.
func (p *Predictor) Predict(dst, features, logits []float64) error {
	if len(dst)%p.classes != 0 {
		return fmt.Errorf("layers: there is room for %d log-probabilities, and a row has %d", len(dst), p.classes)
	}
	return p.engine.Run(dst, served, len(dst)/p.classes, features, logits)
}
