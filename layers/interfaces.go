package layers

import (
	"context"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
)

// This file has what a calibrator, the base and the map in it must do, and what they may do beyond that. An optional
// power is a small interface: whoever wants it asks whether the value at hand has it, and leaves it at that, or says in
// one sentence what is missing, where it has not. A wrapper, such as [Ensemble], passes on what it wraps.
//
//	of              interface              who asks for it, and what for
//	a calibrator    Calibrator             all: Fit and Predict
//	                Stateful               model files, every method of the command
//	                Staged                 metrics.json, the report and curves of a run; BestEpochs; Ensemble
//	                Redrawer               Ensemble, whose members share what the first one chose
//	                HeldOut                anchored.Pool, which weighs its members by it
//	                Averaging              fit, compare and study, which tell of candidates and kept classifiers of the members
//	                Embedder, Similar      the metrics' own embedding of a method
//	                Parametric             theory rate --set map=
//	                Bounded                apply --intervals
//	                BoundedInStages        apply --intervals --two-stage
//	                onnx.Calibrator        export --onnx, and Compile, which serves rows without a graph
//	                anchored.Ranker        fit, which prints the candidates; anchored.Mixer, with their shares
//	a base          Base                   Train
//	                Staged, Embedder       Trained, for its own
//	                Quantizing             Trained.Read: codes and quantized features; TwoStage: the error of its head
//	                ONNXBase               Trained.ONNX
//	a map           Map                    Train
//	                Costed                 a fit to another loss, such as that with a penalty
//	                Noisy                  a fit that draws at each step
//	                Informed               inputs beside log p̂ and the region; in a network ONNXInformed
//	                anchored.Scored        corrections of package anchored, which add to its scores
//	                anchored.Hierarchical  the choice of a correction's spread, by folds
//	part of a map   Prior, SlotScale       Bilinear and the maps like it
//	part of a base  Codes                  Divide, anchored.Anchor

// Calibrator is every method of a study, learned or not.
type Calibrator interface {
	// Fit learns from the calibration rows. Methods that stop early do so on val;
	// with a nil val they run all their epochs. A method that needs logits or
	// features and finds none returns an error.
	//
	// If ctx is cancelled, the error wraps ctx.Err() and what was learned so far can
	// be used, unless the method documents that this is nothing; Predict then fails as it
	// does before Fit.
	Fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) error
	// Predict gives the calibrated log-probabilities of each row of x. It is safe
	// for concurrent use once Fit has returned.
	Predict(x *data.Set) (*data.Predictions, error)
}

// Stateful is a calibrator that can be saved and restored.
type Stateful interface {
	Calibrator
	// State is the fitted state. It fails before Fit.
	State() (State, error)
	// Restore replaces the receiver's state. It refuses weights whose names or
	// shapes do not fit the configuration.
	Restore(State) error
}

// Staged is a calibrator that is fitted in stages, or a [Base] whose own are shown before its map's.
type Staged interface {
	// Stages reports how the last Fit went.
	Stages() []Stage
}

// Redrawer is a calibrator that chooses its settings by the rows, and can fit others by the same choice.
type Redrawer interface {
	Calibrator
	// Redraw is Fit with the settings that chosen found; chosen is a calibrator of the same kind, fitted to the same
	// rows. The receiver draws from rng.
	Redraw(ctx context.Context, chosen Calibrator, cal, val *data.Set, rng *rand.Rand) error
}

// HeldOut is a calibrator that knows what it would have said of the rows of its fit, had it not seen their labels.
type HeldOut interface {
	Calibrator
	// HeldOut are the log-probabilities of the rows of the last Fit (N×C), in their order, each from a fit that
	// did not see the row's label. nil before Fit and of a restored model.
	HeldOut() *mat.Dense
}

// Averaging is a calibrator that is a mean of others.
type Averaging interface {
	// Fitted are the fitted members; the first is the fit that its rng alone would give. nil before Fit.
	Fitted() []Stateful
}

// MembersOf are the members of an average; for any other calibrator, the calibrator itself.
func MembersOf(c Stateful) []Stateful {
	if a, ok := c.(Averaging); ok {
		return a.Fitted()
	}
	return []Stateful{c}
}

// Embedder is a calibrator with features of its own. The published tables measure its
// local calibration in the principal components of these, standardized.
type Embedder interface {
	// Embed gives x's rows as those features (N×M), or nil if they are the raw ones.
	Embed(x *data.Set) (mat.Matrix, error)
}

// Similar is a calibrator that learns which rows are similar. The published tables measure
// its local calibration in the learned similarity itself, neither standardized nor
// projected, since its distances were learned.
type Similar interface {
	// Similarity gives x's rows in that space (N×P).
	Similarity(x *data.Set) (*mat.Dense, error)
}

// Parametric is a calibrator that is one [Map].
type Parametric interface {
	// Parameterization is that map, nil of a method that has none before Fit.
	Parameterization() Map
}

// Bounded is a fitted calibrator that knows how far its posteriors would move on other
// calibration rows.
type Bounded interface {
	Calibrator
	// Unbounded returns why there are no bounds, nil where there are. It is called before any row is read.
	Unbounded() error
	// Sizes have the class counts of the rows of the fit.
	Sizes() Sizes
	// Bounds are the bounds of each posterior of x at a level (N×C each), from the rows of the fit
	// or from other rows of their law, which count as many in all.
	Bounds(ctx context.Context, cal, x *data.Set, level float64) (lower, upper *mat.Dense, err error)
}

// BoundedInStages is Bounded, and can count the error of its base too.
type BoundedInStages interface {
	Bounded
	BoundsOfStages(ctx context.Context, cal, x *data.Set, level float64) (lower, upper *mat.Dense, err error)
}

// Base is the predictor that a [Map] calibrates.
type Base interface {
	// Fit learns the base itself, if it has anything to learn.
	Fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) error
	// View is log p̂ and the region of each row of x.
	View(x *data.Set) (*View, error)
	// Sizes are the sizes that a Map on top can rely on, after Fit.
	Sizes() Sizes
	// State and Restore are as in Stateful; the weights may be empty.
	State() (State, error)
	Restore(State) error
}

// Quantizing is a Base with a finite description of each row: it divides the latent space. Its p̂ is a linear head
// with a bias on the quantized features, fitted to the calibration rows with the penalty ½λ‖θ‖².
type Quantizing interface {
	Base
	// Quantized are the features of the rows of a view that it made.
	Quantized(v *View) *Quantized
	// Ridge is λ, an error where what the head was fitted with is no such penalty.
	Ridge() (float64, error)
}

// ONNXBase is a [Base] that writes itself in ONNX, so that every [Map] on it does.
type ONNXBase interface {
	// ViewONNX adds what the base makes of all rows to g.
	ViewONNX(g *onnx.Network) (*ONNXView, error)
}

// Map is a calibration map as a graph, the part that a researcher edits: one file,
// one Map. A Map is a description; its weights are kept beside it.
type Map interface {
	// Init draws the starting weights, in float64, named by paths such as
	// "bilinear/receiver". A Map that needs regions returns an error if s has none.
	Init(s Sizes, rng *rand.Rand) (*graph.Weights, error)
	// LogProbs describes the calibrated log-probabilities (B×C) of a batch.
	LogProbs(b *graph.Builder, in Batch) *gorgonia.Node
}

// Costed is a Map that is fitted to another loss than the mean negative log-likelihood,
// such as that with a penalty.
type Costed interface {
	Map
	// Loss describes the mean loss of a batch, in.Labels its labels; rows are all that the map is
	// fitted to, or as how many they count by their weights, in a step and on validation rows
	// alike, for penalties that weigh as a share of them.
	Loss(b *graph.Builder, in Batch, rows int) *gorgonia.Node
}

// Noisy is a Map whose fit draws at random at each step, as dropout does. Validation rows
// are judged by its loss without noise.
type Noisy interface {
	Map
	// NoisyLoss describes the loss of a step, as [Costed] describes the loss of rows.
	NoisyLoss(b *graph.Builder, in Batch, rows int, noise Noise) *gorgonia.Node
}

// Informed is a Map with inputs of its own, which its graph finds by name (in.Input).
type Informed interface {
	Map
	// Inputs are matrices of N rows, made of a view and of the state among the weights.
	Inputs(v *View, w *graph.Weights) (map[string]mat.Matrix, error)
}

// ONNXInformed is an [Informed] map whose inputs write themselves in ONNX.
type ONNXInformed interface {
	// InputsONNX adds to g what Inputs gives of a view, by the same names.
	InputsONNX(g *onnx.Network, v *ONNXView, w *graph.Weights) (map[string]onnx.Value, error)
}
