package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"calibra/data"
	"calibra/experiments/cli"
)

// applyFlags are those of calibra-beam apply.
type applyFlags struct {
	Model string `required:"" placeholder:"DIR" help:"Directory that calibra fit wrote, or a model.safetensors."`
	In    string `required:"" placeholder:"PATTERN" help:"Features files, as calibra apply reads them: a file or a pattern of shards."`
	Out   string `required:"" placeholder:"DIR" help:"Directory to write the predictions to, each under the name of its shard."`
	cli.ApplyFlags
	tempFlag
}

const applyHelp = `Calibrate features files with a fitted model, each as calibra apply does.

  calibra-beam apply --model runs/vq --in 'features/part-*.npz' --out calibrated
  calibra-beam apply --model gs://bucket/vq --in 'gs://bucket/part-*.npz' --out gs://bucket/calibrated`

// apply calibrates features files: each as calibra apply does.
func apply(ctx context.Context, args []string, out io.Writer) error {
	var flags applyFlags
	if err := parse("apply", applyHelp, &flags, args, out); err != nil {
		return err
	}
	// what would fail on every shard
	if err := withModel(ctx, flags.Model, func(_, model string) error { return flags.Check(model) }); err != nil {
		return err
	}
	shards, err := list(ctx, flags.In)
	if err != nil {
		return err
	}
	names := map[string]string{}
	for _, shard := range shards {
		if other, taken := names[base(shard.Path)]; taken {
			return data.Inputf(shard.Path, "has the name of %s, and the predictions of both would be one file; apply them one after the other", other)
		}
		names[base(shard.Path)] = shard.Path
		if join(flags.Out, base(shard.Path)) == shard.Path {
			return data.Inputf(shard.Path, "is read and would be written; name another directory by --out")
		}
	}
	failed, total, err := each(ctx, shards, &applyFn{flags.Model, flags.Out, flags.ApplyFlags}, flags.Temp)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "wrote the predictions of %d of %d shards to %s\n", total-len(failed), total, flags.Out)
	return failures(failed, total, "shards")
}

// applyFn applies a model to one file.
type applyFn struct {
	Model, Out string
	Flags      cli.ApplyFlags
}

// args are those of calibra apply.
func (f *applyFn) args(model, in, out string) []string {
	args := []string{"apply", "--model", model, "--in", in, "--out", out}
	if level := f.Flags.Intervals; level != nil {
		args = append(args, "--intervals", fmt.Sprint(*level))
	}
	if level := f.Flags.Sets; level != nil {
		args = append(args, "--sets", fmt.Sprint(*level))
	}
	if f.Flags.TwoStage {
		args = append(args, "--two-stage")
	}
	return args
}

func (f *applyFn) ProcessElement(ctx context.Context, shard Shard) (Outcome, error) {
	err := withModel(ctx, f.Model, func(dir, model string) error { return f.apply(ctx, shard, dir, model) })
	return outcome(shard.Number, shard.Path, err)
}

// apply applies a model on this machine; dir is for what is made on the way.
func (f *applyFn) apply(ctx context.Context, shard Shard, dir, model string) error {
	path, err := fetched(ctx, shard.Path, dir)
	if err != nil {
		return err
	}
	if !remote(f.Out) {
		if err := os.MkdirAll(f.Out, 0o777); err != nil {
			return data.Inputf("", "the directory %s cannot be made: %w", f.Out, err)
		}
		_, err = part(ctx, f.args(model, path, join(f.Out, base(shard.Path))))
		return err
	}
	made := filepath.Join(dir, "calibrated-"+base(shard.Path))
	if _, err = part(ctx, f.args(model, path, made)); err != nil {
		return err
	}
	content, err := data.ReadFile(made)
	if err != nil {
		return err
	}
	return store(ctx, join(f.Out, base(shard.Path)), content)
}

// withModel calls do with a directory that is removed afterwards, and the model on this machine.
func withModel(ctx context.Context, from string, do func(dir, model string) error) error {
	dir, err := os.MkdirTemp("", "calibra-beam-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	model, err := fetchedModel(ctx, from, dir)
	if err != nil {
		return err
	}
	return do(dir, model)
}

// fetchedModel is a model on this machine: a copy in dir, or the model itself if it is here.
func fetchedModel(ctx context.Context, from, dir string) (string, error) {
	if !remote(from) {
		return from, nil
	}
	if strings.HasSuffix(from, ".safetensors") {
		return fetched(ctx, from, dir)
	}
	to := filepath.Join(dir, "model")
	if err := os.Mkdir(to, 0o777); err != nil {
		return "", err
	}
	return to, download(ctx, from, to)
}
