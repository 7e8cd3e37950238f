package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"calibra/data"
	"calibra/experiments"
	"calibra/layers"
)

type applyCmd struct {
	Model string `required:"" type:"path" placeholder:"DIR" help:"Directory that calibra fit wrote, or a model.safetensors."`
	In    string `required:"" type:"path" placeholder:"F.npz" help:"Features file with test_features and test_logits, as far as the method needs them."`
	Out   string `required:"" type:"path" placeholder:"P.npz" help:"Predictions to write: probs (N×C) of the test rows in file order, and labels if test_labels is there."`

	Intervals *float64 `placeholder:"0.9" help:"Write also lower and upper (N×C), intervals of this level by the delta method; the features file must hold the calibration rows that the model was fitted to."`
}

func (applyCmd) Help() string {
	return `Example:

  calibra apply --model runs/vq --in features.npz --out calibrated.npz
  calibra apply --model runs/vq --in features.npz --intervals 0.9 --out calibrated.npz`
}

func (c *applyCmd) Run(ctx context.Context, methods *experiments.Catalog) error {
	path := c.Model
	if filepath.Ext(path) != ".safetensors" {
		path = filepath.Join(path, "model.safetensors")
	}
	model, method, err := methods.Load(path)
	if err != nil {
		return err
	}
	if err := apart(c.In, c.Out); err != nil {
		return err
	}
	src, err := data.Open(c.In)
	if err != nil {
		return err
	}
	var needs []string
	for _, key := range method.Needs {
		needs = append(needs, "test_"+key)
	}
	if err := src.Require(needs...); err != nil {
		return err
	}
	file, err := layers.ReadModel(path)
	if err != nil {
		return err
	}
	if far := file.Inputs.Far(src.Test); far != "" {
		fmt.Fprintf(os.Stderr, "warning: %s\n", far)
	}
	p, err := model.Predict(src.Test)
	if err != nil {
		return data.Inputf(c.In, "%w", err)
	}
	if err := sameClasses(src, p); err != nil {
		return err
	}
	arrays := p.Arrays()
	if c.Intervals != nil {
		bounds, err := intervals(ctx, model, src, *c.Intervals)
		if err != nil {
			return err
		}
		arrays = append(arrays, bounds...)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := data.WriteNPZ(c.Out, arrays...); err != nil {
		return err
	}
	fmt.Printf("wrote %s: %d rows by %s\n", c.Out, src.Test.Len(), method.Name)
	return nil
}

// apart returns an *InputError if out is the file in, which would be lost.
func apart(in, out string) error {
	read, err := os.Stat(in)
	if err != nil {
		return nil // whoever reads it says so
	}
	if written, err := os.Stat(out); err == nil && os.SameFile(read, written) {
		return data.Inputf(out, "is the file that is read; name another one to be written")
	}
	return nil
}

// sameClasses returns an *InputError if the file is of other classes than the model,
// which a method that reads no logits would not notice.
func sameClasses(src *data.Source, p *data.Predictions) error {
	_, classes := p.LogProbs.Dims()
	if src.Test.Logits != nil && src.Classes != classes {
		return data.Inputf(src.Path, "test_logits has %d columns and the model was fitted on %d classes", src.Classes, classes)
	}
	if i := data.Stray(src.Test.Labels, classes); i >= 0 {
		return data.Inputf(src.Path, "test_labels holds %d at row %d and the model was fitted on %d classes", src.Test.Labels[i], i, classes)
	}
	return nil
}
