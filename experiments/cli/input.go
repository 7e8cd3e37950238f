package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"calibra/data"
	"calibra/experiments"

	"github.com/alecthomas/kong"
)

// brought says whether arg names data of the catalog. A file of that name comes first.
func brought(methods *experiments.Catalog, arg string) bool {
	_, err := os.Stat(arg)
	return methods.HasData(arg) && errors.Is(err, fs.ErrNotExist)
}

// decodeInput is decodePath for what may name data of the catalog.
func decodeInput(methods *experiments.Catalog) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		if token := ctx.Scan.Peek(); brought(methods, token.String()) {
			target.SetString(ctx.Scan.Pop().String())
			return nil
		}
		return decodePath(ctx, target)
	}
}

// openInput reads a features file, or makes the rows of data of the catalog: features
// and logits of the first encoder where they are raw, trained with the seed.
func openInput(ctx context.Context, t *terminal, methods *experiments.Catalog, arg string, seed uint64, names data.Names) (*data.Source, error) {
	if !brought(methods, arg) {
		return data.OpenContext(ctx, arg, names)
	}
	o, err := methods.OpenOrigin(arg, "", "")
	if err != nil {
		return nil, err
	}
	if o.Encoders != nil {
		t.note("training the encoder of %s", arg)
	}
	p, err := encoded(ctx, t, o, seed, "")
	if err != nil {
		return nil, err
	}
	return p.Source, nil
}

// encoded are the rows of data, by the encoder of that name where they are raw ("": the first), trained with the seed.
func encoded(ctx context.Context, t *terminal, o *experiments.Origin, seed uint64, encoder string) (*experiments.Problem, error) {
	training, steps := t.steps(ctx, 0)
	p, err := o.Load(training, seed, encoder, "")
	steps.clear()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the encoder of %s was not trained to its end, and nothing was written: %w", o.Name, context.Canceled)
	}
	return p, err
}

// seedOf is the seed that the model was fitted with, whose encoder brought data are read by; 0
// where the folder does not say.
func seedOf(model string) (uint64, error) {
	spec, err := experiments.ReadSpec(filepath.Dir(modelFile(model)))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return spec.Seed, err
}
