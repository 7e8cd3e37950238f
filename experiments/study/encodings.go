package study

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments"
	"calibra/experiments/program"
)

// encoding is what a store records of raw rows that were encoded. The features lie beside it
// in features files, which any other tool reads too.
type encoding struct {
	Program program.Program `json:"program"`
	// The rows' numbers in the raw table, by which seeds are matched row by row; nil
	// where they have none.
	Cal     []int `json:"cal,omitempty"`
	Test    []int `json:"test,omitempty"`
	Shifted []int `json:"shifted,omitempty"`
	// Shift is what the shifted rows are; "" means that there are none.
	Shift experiments.Shift `json:"shift,omitempty"`
}

// problem is the cell's problem. What an encoder makes of raw rows is kept beside the
// cells, so that it is trained once for all studies that share them.
func (st Store) problem(ctx context.Context, c Cell) (*experiments.Problem, error) {
	if c.Origin.Encoders == nil {
		return c.Origin.Load(ctx, c.Spec.Seed, c.Spec.Encoder, c.Spec.Shift)
	}
	sum := sha256.Sum256([]byte(problemKey(c)))
	base := filepath.Join(st.Dir, "encoded-"+hex.EncodeToString(sum[:10]))
	kept, err := st.readProblem(base, c)
	if err != nil || kept != nil {
		return kept, err
	}
	p, err := c.Origin.Load(ctx, c.Spec.Seed, c.Spec.Encoder, c.Spec.Shift)
	if err != nil {
		return nil, err
	}
	return p, st.writeProblem(base, p)
}

// writeProblem writes the features first, so that an encoding that is there is there in
// full.
func (st Store) writeProblem(base string, p *experiments.Problem) error {
	e := encoding{Program: st.Program, Cal: p.Source.Cal.Numbers, Test: p.Source.Test.Numbers}
	if p.Shifted != nil {
		e.Shift, e.Shifted = p.Shift, p.Shifted.Numbers
		if err := disk.WriteNPZ(base+"-shifted.npz", arrays("test", p.Shifted)...); err != nil {
			return err
		}
	}
	if err := disk.WriteNPZ(base+".npz", append(arrays("cal", p.Source.Cal), arrays("test", p.Source.Test)...)...); err != nil {
		return err
	}
	return writeJSON(base+".json", e)
}

func arrays(part string, s *data.Set) []data.Array {
	return []data.Array{
		{Name: part + "_features", Value: s.Features}, {Name: part + "_logits", Value: s.Logits}, {Name: part + "_labels", Value: s.Labels},
	}
}

// readProblem reads what writeProblem wrote, nil if that is not there or stale.
func (st Store) readProblem(base string, c Cell) (*experiments.Problem, error) {
	var e encoding
	err := readJSON(base+".json", &e)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !e.Program.Same(st.Program) {
		return nil, nil
	}
	src, err := data.Open(base + ".npz")
	if err != nil {
		return nil, err
	}
	src.Cal.Numbers, src.Test.Numbers = e.Cal, e.Test
	p := &experiments.Problem{Source: src, Shift: e.Shift}
	if e.Shift != "" {
		shifted, err := data.Open(base + "-shifted.npz")
		if err != nil {
			return nil, err
		}
		p.Shifted = shifted.Test
		p.Shifted.Numbers = e.Shifted
	}
	for _, part := range []*data.Set{src.Cal, src.Test, p.Shifted} {
		if part != nil {
			part.Names.Classes = c.Origin.Classes()
		}
	}
	return p, nil
}
