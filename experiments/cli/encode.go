package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/encode"
	"calibra/layers/encoders"
)

type encodeCmd struct {
	Model   string      `required:"" type:"path" placeholder:"DIR" help:"The directory that calibra pretrain wrote."`
	Data    string      `placeholder:"DATA" help:"letter, satellite, digits (embedded), a labelled csv, a CIFAR archive, a MedMNIST npz or a directory of weather data (those that the network was trained beside)."`
	Label   string      `placeholder:"COLUMN" help:"Label column of a csv file (the last)."`
	Header  data.Header `placeholder:"yes|no" help:"Whether the first row of a csv file names the columns (where it cannot be a row)."`
	HeldOut float64     `placeholder:"SHARE" help:"Share of a table's rows, one region of it, kept as shifted rows (none)."`
	Seed    *uint64     `placeholder:"0" help:"Seed of the division of the rows (of the network's own data, the one it was trained with; of others 0)."`
	Batch   int         `least:"1" most:"65536" default:"64" help:"Rows at a time (${default})."`
	Out     string      `required:"" type:"path" placeholder:"F.npz" help:"Features file to write; shifted rows go to F-shifted.npz."`

	sources []data.RawSource // of the catalog
}

func (c *encodeCmd) Run(ctx context.Context, t *terminal, catalog *experiments.Catalog) error {
	c.sources = catalog.RawSources()
	if !strings.HasSuffix(c.Out, ".npz") {
		return data.Inputf(c.Out, "must end in .npz")
	}
	job, err := c.open()
	if err != nil {
		return err
	}
	job.Batch = c.Batch
	bar := t.progress()
	first := -1 // rows that were there before, and the first batch
	job.Observe = func(done, of int) {
		if first < 0 {
			first = done
		}
		bar.at(float64(done), float64(of), fmt.Sprintf("%d of %d rows%s", done, of, bar.left(float64(done-first), float64(of-first))))
	}
	err = job.Run(ctx, c.Out)
	bar.clear()
	if err != nil {
		return err
	}
	wrote := fmt.Sprintf("wrote %s: %d calibration and %d test rows of %s, %d features, %d classes\n",
		c.Out, job.Raw.Cal.Len(), job.Raw.Test.Len(), job.Raw.Name, job.Encoder.Features(), job.Encoder.Classes())
	if job.Raw.Shifted != nil {
		wrote += fmt.Sprintf("wrote %s: %d shifted rows\n", encode.ShiftedPath(c.Out), job.Raw.Shifted.Len())
	}
	return t.print([]byte(wrote))
}

// origin is the rows that the flags name.
func (c *encodeCmd) origin() encoders.Origin {
	o := encoders.Origin{Data: c.Data, Label: c.Label, Header: c.Header, HeldOut: c.HeldOut}
	if c.Seed != nil {
		o.Seed = *c.Seed
	}
	return o
}

// beside is the rows set aside from those that trained a network; the flags may repeat
// how they were divided. Divided otherwise, rows that trained it would calibrate it.
func (c *encodeCmd) beside(trained encoders.Origin) (encoders.Origin, error) {
	o := c.origin()
	if c.Data != "" && c.Data != trained.Data {
		if path, err := data.AbsoluteRaw(c.Data, c.sources); err != nil || path != trained.Data {
			return o, nil // rows of another origin
		}
	}
	if c.Seed != nil && o.Seed != trained.Seed || o.Label != "" && o.Label != trained.Label || o.Header != "" && o.Header != trained.Header || o.HeldOut != 0 && o.HeldOut != trained.HeldOut {
		return o, data.Inputf(c.Model, "was trained on rows of %s divided otherwise, some of which would now calibrate it; leave --seed, --label and --held-out out", trained.Data)
	}
	return trained, nil
}

// open finds the network and its rows.
func (c *encodeCmd) open() (*encode.Job, error) {
	if strings.HasSuffix(c.Model, ".onnx") {
		return nil, data.Inputf(c.Model, "is an ONNX file, and encode takes the directory that calibra pretrain wrote; write a features file with ONNX Runtime as notebooks/export_features.md shows")
	}
	m, err := encoders.Load(c.Model)
	if err != nil {
		return nil, err
	}
	origin, err := c.beside(m.Config.Origin)
	if err != nil {
		return nil, err
	}
	raw, err := origin.Open(c.sources...)
	if err != nil {
		return nil, err
	}
	if origin.Rows != "" && origin.Rows != raw.Train.Digest() {
		return nil, data.Inputf(c.Model, "was trained on rows of %s that are no longer those of the same division, so that some of them would now calibrate it; restore the data or pretrain anew", origin.Data)
	}
	digest, err := data.Digest(filepath.Join(c.Model, "weights.safetensors"), filepath.Join(c.Model, "config.json"))
	if err != nil {
		return nil, err
	}
	return &encode.Job{Encoder: m, Raw: raw, Key: "pretrained " + digest}, nil
}
