package encode

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"calibra/data"
	"calibra/data/disk"
	"calibra/layers/encoders"
)

// Job is the encoding of the rows that a calibrator is fitted and judged on.
type Job struct {
	Encoder encoders.Encoder
	Raw     *data.Raw
	// Key identifies the encoder and its settings: what was encoded under
	// one Key, of the same rows, is never encoded again.
	Key   string
	Batch int // rows at a time; 0 means 64
	// Observe is told how many rows are there, of how many.
	Observe func(done, total int)
}

// part is one set of rows in the order of the partial file.
type part struct {
	name  string
	in    *data.Inputs
	first int // the place of its first row among all
}

func (j *Job) parts() []part {
	cal, test := j.Raw.Cal.Len(), j.Raw.Test.Len()
	out := []part{{"cal", j.Raw.Cal, 0}, {"test", j.Raw.Test, cal}}
	if j.Raw.Shifted != nil {
		out = append(out, part{"shifted", j.Raw.Shifted, cal + test})
	}
	return out
}

// Rows is how many rows are encoded.
func (j *Job) Rows() int {
	parts := j.parts()
	last := parts[len(parts)-1]
	return last.first + last.in.Len()
}

// ShiftedPath is where the shifted rows go: F-shifted.npz beside F.npz.
func ShiftedPath(out string) string { return strings.TrimSuffix(out, ".npz") + "-shifted.npz" }

// Run encodes calibration and test rows into the file out, keys cal_features,
// cal_logits, cal_labels and the same of test, in float32; shifted rows, if the data
// have some, go into ShiftedPath(out) as its test rows.
//
// If ctx is cancelled or an error ends it, out.partial keeps the rows so far, the error
// wraps ctx.Err() or that error, and the same Job goes on from there. Of several that
// encode into the same file at once one works and the others wait: for their own turn, or
// until the same Job's rows are in the file.
func (j *Job) Run(ctx context.Context, out string) error {
	for _, p := range j.parts() {
		if err := p.in.Fits(j.Encoder.Shape()); err != nil {
			return err
		}
	}
	if c := len(j.Raw.Classes); j.Encoder.Classes() < c {
		return data.Inputf("", "the encoder has logits for %d classes and %s has %d; its logits must be one a class", j.Encoder.Classes(), j.Raw.Name, c)
	}
	if err := disk.CheckFile(out); err != nil { // not after the last row
		return err
	}
	kept, done, err := openPartial(ctx, out+".partial", header{j.key(), j.Encoder.Features(), j.Encoder.Classes()})
	if err != nil || done {
		return err
	}
	defer kept.close()
	if err = j.encode(ctx, kept); err == nil {
		err = j.write(kept, out)
	}
	if err != nil {
		return j.stopped(ctx, kept, out, err)
	}
	if disk.Remove(out+".partial") == nil { // while it is locked: who waits for it sees that it is gone
		return nil
	}
	kept.close() // some systems remove no open file
	if err := disk.Remove(out + ".partial"); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return nil
}

// stopped is err, and where the rows are kept that were encoded before it. A file that
// keeps none is removed.
func (j *Job) stopped(ctx context.Context, kept *partial, out string, err error) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if kept.rows == 0 {
		_ = disk.Remove(out + ".partial")
		return err
	}
	return fmt.Errorf("%d of %d rows are kept in %s.partial, the same command goes on with the others: %w", kept.rows, j.Rows(), out, err)
}

// encode appends to kept the rows that it lacks.
func (j *Job) encode(ctx context.Context, kept *partial) error {
	batch := j.Batch
	if batch <= 0 {
		batch = 64
	}
	total := j.Rows()
	if kept.rows > total {
		return fmt.Errorf("encode: %d rows are kept of %d", kept.rows, total)
	}
	for _, p := range j.parts() {
		x := make([]float32, batch*p.in.Width())
		for lo := max(kept.rows-p.first, 0); lo < p.in.Len(); lo += batch {
			if err := ctx.Err(); err != nil {
				return err
			}
			hi := min(lo+batch, p.in.Len())
			p.in.Read(x, lo, hi)
			features, logits, err := j.Encoder.Encode(x[:(hi-lo)*p.in.Width()])
			if err != nil {
				return fmt.Errorf("encode rows %d to %d of %s: %w", lo, hi-1, p.name, err)
			}
			if err := kept.append(features, logits); err != nil {
				return err
			}
			if j.Observe != nil {
				j.Observe(kept.rows, total)
			}
		}
	}
	return nil
}

// key is the hash of all that the rows depend on: the encoder's key and the raw rows.
func (j *Job) key() string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s\n", len(j.Key), j.Key)
	for _, p := range j.parts() {
		fmt.Fprintf(h, "%s %s\n", p.name, p.in.Digest())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// write makes the npz files of the rows in kept.
func (j *Job) write(kept *partial, out string) error {
	files := map[string][]data.Array{}
	for _, p := range j.parts() {
		path, name := out, p.name
		if name == "shifted" {
			path, name = ShiftedPath(out), "test"
		}
		n, m := p.in.Len(), kept.Features
		files[path] = append(files[path],
			data.Array{Name: name + "_features", Value: data.Written{Type: "<f4", Shape: []int{n, m}, Write: func(w io.Writer) error { return kept.copy(w, p.first, n, 0, m) }}},
			data.Array{Name: name + "_logits", Value: data.Written{Type: "<f4", Shape: []int{n, kept.Classes}, Write: func(w io.Writer) error { return kept.copy(w, p.first, n, m, kept.width()) }}},
			data.Array{Name: name + "_labels", Value: p.in.Labels})
		if classes := j.Raw.Classes; name == p.name && p.name == "test" && !data.Numbered(classes) {
			files[path] = append(files[path], data.Array{Name: "class_names", Value: classes})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) { // F-shifted.npz before F.npz: whoever sees F has both
		if err := disk.WriteNPZ(path, files[path]...); err != nil {
			return err
		}
	}
	return nil
}
