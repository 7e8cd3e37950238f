package graph

import (
	"context"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// CPU runs graphs in this process.
var CPU Executor = cpu{}

type cpu struct{}

func (cpu) Fit(o *Objective, m Optimizer, _, batch int) (Session, error) {
	s := &local{loss: o, optimizer: m, batch: batch, best: o.weights.Clone()}
	for _, name := range o.weights.Learned() {
		s.learned = append(s.learned, o.weights.Tensor(name))
	}
	return s, nil
}

func (cpu) Gradients(o *Objective, _ int) (Gradients, error) {
	return inPlace{o, map[*Program]*known{}}, nil
}

// inPlace computes the gradients of an objective where it is. The tables stay what they are until
// Close, so what depends on them and on the rows alone is computed once for each piece of rows.
type inPlace struct {
	*Objective
	known map[*Program]*known
}

func (g inPlace) Gradient(rows []int32) (float64, []*tensor.Dense, error) {
	return g.gradient(rows, func(p *Program) bool {
		k := g.known[p]
		if k == nil {
			k = &known{}
			g.known[p] = k
		}
		return k.put(p, rows)
	})
}

// known is what a program's fixed steps gave for pieces of rows, one of which is in place.
type known struct {
	pieces []piece
	last   int
}

type piece struct {
	rows   []int32 // nil: none
	values []gorgonia.Value
}

// put puts in place what the fixed steps gave for these rows, or else room for it, and reports which. There is room
// for a new piece where its rows come after those of the newest, as in a pass over all; else it takes the newest's.
func (k *known) put(p *Program, rows []int32) bool {
	if len(k.pieces) > 0 && !slices.Equal(p.Rows.Int32s(), k.pieces[k.last].rows) {
		k.pieces[k.last].rows = nil // somebody else ran the program
	}
	k.last = slices.IndexFunc(k.pieces, func(q piece) bool { return slices.Equal(q.rows, rows) })
	is := k.last >= 0
	if !is {
		newest := len(k.pieces) - 1
		if newest < 0 || len(k.pieces[newest].rows) > 0 && rows[0] > slices.Max(k.pieces[newest].rows) {
			newest++
			k.pieces = append(k.pieces, piece{values: p.room()})
		}
		k.last, k.pieces[newest].rows = newest, slices.Clone(rows)
	}
	p.fix(k.pieces[k.last].values)
	return is
}

func (inPlace) Close() {}

// local is a fit in this process.
type local struct {
	loss      *Objective
	optimizer Optimizer
	batch     int
	learned   []*tensor.Dense
	best      *Weights
}

func (s *local) Epoch(ctx context.Context, order []int32) (float64, error) {
	var total float64
	for lo, batch := 0, 1; lo < len(order); lo, batch = lo+s.batch, batch+1 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		rows := order[lo:min(lo+s.batch, len(order))]
		loss, grads, err := s.gradient(rows)
		if p := ProberOf(s.optimizer); p != nil && err == nil {
			p.Probe(s.learned, grads)
			_, grads, err = s.gradient(rows)
		}
		if err != nil {
			return 0, fmt.Errorf("batch %d: %w", batch, err)
		}
		s.optimizer.Step(s.learned, grads)
		if err := s.loss.Commit(len(rows)); err != nil {
			return 0, fmt.Errorf("batch %d: %w", batch, err)
		}
		total += loss * float64(len(rows))
	}
	return total / float64(len(order)), nil
}

// gradient is the loss with its gradients, all of them finite.
func (s *local) gradient(rows []int32) (float64, []*tensor.Dense, error) {
	loss, grads, err := s.loss.Gradient(rows)
	if err != nil {
		return 0, nil, err
	}
	if name := s.loss.Trouble(loss, grads); name != "" {
		return 0, nil, fmt.Errorf("%s is not finite (it starts at %s)", name, s.loss.NonFinite(len(rows)))
	}
	return loss, grads, nil
}

func (s *local) Mean(f *Function, n, size int) (float64, error) { return f.Mean(n, size) }

func (s *local) Keep() error {
	s.best.Set(s.loss.weights)
	return nil
}

func (s *local) Restore() error {
	s.loss.weights.Set(s.best)
	return nil
}

func (*local) Close() {}
