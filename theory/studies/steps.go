package studies

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/graph"
	"calibra/layers"
	"calibra/optim"
	"calibra/theory"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"
)

// tableFit is a fit of a map by steps, as package optim fits any: by its rules, minibatches and early stopping. A row
// is an entry (cell, atom, label) of a table, and loss and gradient are a Model's, so that a step costs one gradient of
// the cells that its rows are in.
type tableFit struct {
	Map     layers.Map
	Table   *theory.Table
	Model   theory.Model
	By      optim.Settings
	Rows    []int32                          // the entries of the rows that are fitted
	Held    []int32                          // of those that decide when to stop; nil: none do
	Start   []float64                        // nil: as the map draws its weights
	Observe func(epoch int, theta []float64) // may be nil
}

// run gives θ̂.
func (f tableFit) run(ctx context.Context, rng *rand.Rand) ([]float64, optim.Result, error) {
	weights, err := layers.StartMap(f.Map, f.Table.Sizes(), rng)
	if err != nil {
		return nil, optim.Result{}, fmt.Errorf("theory: start the map: %w", err)
	}
	weights = weights.As(tensor.Float64)
	if f.Start != nil {
		weights.SetVector(f.Start)
	}
	problem := optim.Problem{Loss: graph.NewObjective(weights, nil), Rows: len(f.Rows)}
	if f.Held != nil {
		shares, grad := weightsOf(f.Table, f.Held), make([]float64, f.Model.Dim())
		problem.Validation = func(graph.Session) (float64, error) {
			return f.Model.Gradient(grad, weights.Vector(), shares)
		}
	}
	f.By.Executor = &onTable{tableFit: f}
	if f.Observe != nil {
		f.By.Observe = func(e optim.Epoch) { f.Observe(e.Number, weights.Vector()) }
	}
	result, err := optim.Minimize(ctx, problem, f.By, rng)
	return weights.Vector(), result, err
}

// onTable is where such a fit runs, and its session.
type onTable struct {
	tableFit
	weights, best  *graph.Weights
	optimizer      graph.Optimizer
	batch          int
	learned, grads []*tensor.Dense
	grad           []float64 // what grads hold
	shares         []float64 // that each entry has of a batch
}

var (
	_ graph.Executor = (*onTable)(nil)
	_ graph.Session  = (*onTable)(nil)
)

func (s *onTable) Fit(o *graph.Objective, m graph.Optimizer, _, batch int) (graph.Session, error) {
	s.weights, s.best, s.optimizer, s.batch = o.Weights(), o.Weights().Clone(), m, batch
	s.grad, s.shares = make([]float64, s.Model.Dim()), make([]float64, s.Table.Rows()*s.Table.Classes)
	rest := s.grad
	for _, name := range s.weights.Learned() {
		value := s.weights.Tensor(name)
		size := value.DataSize()
		s.learned = append(s.learned, value)
		s.grads = append(s.grads, tensor.New(tensor.WithShape(value.Shape()...), tensor.WithBacking(rest[:size:size])))
		rest = rest[size:]
	}
	return s, nil
}

// errWhole is of what a fit by steps does not ask for.
var errWhole = errors.New("theory: a fit on a table goes by steps")

func (*onTable) Gradients(*graph.Objective, int) (graph.Gradients, error) { return nil, errWhole }

func (s *onTable) Epoch(ctx context.Context, order []int32) (total float64, err error) {
	for rows := range slices.Chunk(order, s.batch) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		clear(s.shares)
		for _, row := range rows {
			s.shares[s.Rows[row]] += 1 / float64(len(rows))
		}
		loss, err := s.Model.Gradient(s.grad, s.weights.Vector(), s.shares)
		if err != nil {
			return 0, err
		}
		s.optimizer.Step(s.learned, s.grads)
		total += loss * float64(len(rows))
	}
	return total / float64(len(order)), nil
}

func (*onTable) Mean(*graph.Function, int, int) (float64, error) { return 0, errWhole }

func (s *onTable) Keep() error {
	s.best.Set(s.weights)
	return nil
}

func (s *onTable) Restore() error {
	s.weights.Set(s.best)
	return nil
}

func (*onTable) Close() {}

// rowsOf are the entries of the n rows of a sample, in random order.
func rowsOf(sample []float64, n int, rng *rand.Rand) []int32 {
	rows := make([]int32, 0, n)
	for entry, share := range sample {
		for range int(math.Round(share * float64(n))) {
			rows = append(rows, int32(entry))
		}
	}
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

// weightsOf are the shares of the entries among rows.
func weightsOf(t *theory.Table, rows []int32) []float64 {
	weights := make([]float64, t.Rows()*t.Classes)
	for _, entry := range rows {
		weights[entry]++
	}
	floats.Scale(1/float64(len(rows)), weights)
	return weights
}
