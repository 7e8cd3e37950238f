package layers

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"

	"calibra/data"
	"calibra/graph"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

// Calibrator is every method of a study, learned or not.
type Calibrator interface {
	// Fit learns from the calibration rows. Methods that stop early do so on val;
	// with a nil val they run all their epochs. A method that needs logits or
	// features and finds none says so.
	//
	// If ctx is cancelled, the error wraps ctx.Err() and what was learned so far can
	// be used, unless the method says that this is nothing; Predict then fails as it
	// does before Fit.
	Fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) error
	// Predict gives the calibrated log-probabilities of each row of x. It is safe
	// for concurrent use once Fit has returned.
	Predict(x *data.Set) (*data.Predictions, error)
}

// Embedder is a calibrator with features of its own. The published tables measure its
// local calibration in the principal components of these, standardized.
type Embedder interface {
	// Embed gives x's rows as those features (N×M), or nil if they are the raw ones.
	Embed(x *data.Set) (mat.Matrix, error)
}

// Similar is a calibrator that learns which rows are alike. The published tables measure
// its local calibration in the learned similarity itself, neither standardized nor
// projected, as the distances in it are what was learned.
type Similar interface {
	// Similarity gives x's rows in that space (N×P).
	Similarity(x *data.Set) (*mat.Dense, error)
}

// Parametric is a calibrator that is one [Map].
type Parametric interface {
	// Parameterization is that map, nil of a method that has none before Fit.
	Parameterization() Map
}

// Divided is a calibrator on a divided latent space.
type Divided interface {
	// Read gives Predict's posteriors and the codes of the same rows; these are nil if the space
	// is not divided after all.
	Read(x *data.Set) (*data.Predictions, *Quantized, error)
}

// State is all that a fitted calibrator consists of.
type State struct {
	Config  json.RawMessage // sizes and settings, as the calibrator marshals them
	Weights *graph.Weights
}

// Stateful is a calibrator that can be saved and restored.
type Stateful interface {
	Calibrator
	// State is the fitted state. It fails before Fit.
	State() (State, error)
	// Restore replaces the receiver's state. It refuses weights whose names or
	// shapes are not those that the configuration calls for.
	Restore(State) error
}

// Stage is one part of a fit, as a report shows it.
type Stage struct {
	Name   string // "divide"
	Result optim.Result
	Time   time.Duration // wall time
}
