package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/metrics"
)

// totalsEnding is how files of totals end.
const totalsEnding = ".totals"

// totalsFlags are those of an evaluation in shards, on any engine that can run a command.
type totalsFlags struct {
	Totals string `type:"path" placeholder:"T.totals" group:"Many machines:" help:"Write sums from which the global metrics of these rows follow, and print no metrics. calibra evaluate --in FOLDER then evaluates all such files of a folder together."`
	First  uint64 `default:"0" placeholder:"ROW" group:"Many machines:" help:"With --totals, the number of the first of these rows among all rows. Bootstrap draws depend on it (${default})."`
}

// write writes the totals of rows.
func (f totalsFlags) write(p *data.Predictions, s metrics.Settings, u metrics.Uncertainty, seed uint64) error {
	if !strings.HasSuffix(f.Totals, totalsEnding) {
		return data.Inputf("", "--totals is %s; it must end in %s, by which a folder of them is read", f.Totals, totalsEnding)
	}
	t, err := metrics.NewTotals(p.LogProbs.RawMatrix().Cols, s, u, seed)
	if err != nil {
		return asUsage(err)
	}
	if err := t.Add(p.LogProbs, p.Labels, metrics.Settings{Rows: p.Weights, Soft: p.Soft}, f.First); err != nil {
		return asUsage(err)
	}
	text, err := t.MarshalBinary()
	if err != nil {
		return err
	}
	return disk.WriteBytes(f.Totals, text)
}

// merged is the report of the totals in a folder, and what they were counted by; nil where path is none.
func merged(ctx context.Context, path string) (*metrics.Report, error) {
	if !isDir(path) {
		return nil, nil
	}
	files, err := filepath.Glob(filepath.Join(path, "*"+totalsEnding))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, data.Inputf(path, "it is not a file but a directory, and has neither predictions.npz, which calibra fit writes, nor totals, which calibra evaluate --totals writes; name a file of predictions"))
	}
	var all *metrics.Totals
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		text, err := data.ReadFile(file)
		if err != nil {
			return nil, err
		}
		part := &metrics.Totals{}
		if err := part.UnmarshalBinary(text); err != nil {
			return nil, data.Inputf(file, "is no file of totals: %w", err)
		}
		if all == nil {
			all = part
		} else if err := all.Merge(part); err != nil {
			return nil, data.Inputf(file, "does not go with %s: %w", filepath.Base(files[0]), err)
		}
	}
	return all.Report()
}
