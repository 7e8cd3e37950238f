package study

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"calibra/data"
	"calibra/experiments"
)

// loadProblem is the cell's problem. What an encoder makes of raw rows is kept in
// dir beside the cells, as features files that any other tool reads too, so that
// it is trained once for all studies that share dir.
func loadProblem(ctx context.Context, dir string, c Cell) (*experiments.Problem, error) {
	if c.Origin.Encoders == nil {
		return c.Origin.Load(ctx, c.Seed, c.Encoder)
	}
	sum := sha256.Sum256([]byte(problemKey(c)))
	base := filepath.Join(dir, "encoded-"+hex.EncodeToString(sum[:10]))
	kept, err := readProblem(base, c)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return kept, err
	}
	p, err := c.Origin.Load(ctx, c.Seed, c.Encoder)
	if err != nil {
		return nil, err
	}
	if p.Shifted != nil {
		if err := data.WriteNPZ(base+"-shifted.npz", arrays("test", p.Shifted)...); err != nil {
			return nil, err
		}
	}
	return p, data.WriteNPZ(base+".npz", append(arrays("cal", p.Source.Cal), arrays("test", p.Source.Test)...)...)
}

func arrays(part string, s *data.Set) []data.Array {
	return []data.Array{
		{Name: part + "_features", Value: s.Features}, {Name: part + "_logits", Value: s.Logits}, {Name: part + "_labels", Value: s.Labels},
	}
}

// readProblem reads what loadProblem wrote; the shifted rows are written first.
func readProblem(base string, c Cell) (*experiments.Problem, error) {
	if _, err := os.Stat(base + ".npz"); err != nil {
		return nil, err
	}
	src, err := data.Open(base + ".npz")
	if err != nil {
		return nil, err
	}
	p := &experiments.Problem{Source: src, Classes: c.Origin.Classes()}
	if _, err := os.Stat(base + "-shifted.npz"); err == nil {
		shifted, err := data.Open(base + "-shifted.npz")
		if err != nil {
			return nil, err
		}
		p.Shifted = shifted.Test
	}
	return p, nil
}
