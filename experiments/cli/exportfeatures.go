package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/method"
	"calibra/experiments/program"
)

// exported is what a file records of where it comes from.
type exported struct {
	Format  string          `json:"format"`
	Data    string          `json:"data"`
	Digest  string          `json:"digest"`
	Encoder string          `json:"encoder,omitempty"`
	Seed    uint64          `json:"seed"`
	Program program.Program `json:"program"`
}

// export writes the rows that studies use for a seed.
func (c *encodeCmd) export(ctx context.Context, t *terminal, catalog *method.Catalog) error {
	switch {
	case c.Data == "":
		return data.Inputf("", "encode lacks --model or --data; write, for example, %s", firstExample("encode"))
	case c.HeldOut != 0:
		return data.Inputf("", "--held-out divides the rows of a network of your own; give its --model too")
	}
	o, err := c.tableFlags.origin(catalog, c.Data, "")
	if err != nil {
		return err
	}
	said := exported{Format: "calibra features 1", Data: o.Name, Digest: o.Digest, Seed: or(c.Seed, 0), Encoder: c.Encoder}
	switch {
	case o.Encoders == nil && c.Encoder != "":
		return data.Inputf("", "%s has features already; leave --encoder out", c.Data)
	case o.Encoders != nil && c.Encoder == "":
		said.Encoder = o.Encoders[0].Name
	}
	if said.Program, err = program.ThisProgram(); err != nil {
		return err
	}
	p, err := encoded(ctx, t, o, said.Seed, said.Encoder)
	if err != nil {
		return err
	}
	if err := p.Source.Require("cal_features", "cal_logits", "cal_labels", "test_features", "test_logits", "test_labels"); err != nil {
		return err
	}
	arrays, err := said.arrays(p.Source, o.Classes())
	if err != nil {
		return err
	}
	if err := disk.WriteNPZ(c.Out, arrays...); err != nil {
		return err
	}
	_, m := p.Source.Cal.Features.Dims()
	return t.closing(fmt.Sprintf("%d calibration and %d test rows of %s, %d features, %d classes", p.Source.Cal.Len(), p.Source.Test.Len(), o.Name, m, p.Source.Classes), relative(c.Out))
}

// arrays are those of the file: the rows, the names of the classes (nil: none), and where they come from.
func (e exported) arrays(src *data.Source, classes []string) ([]data.Array, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	arrays := sourceArrays(src)
	for _, part := range []data.Array{{Name: "cal_rows", Value: src.Cal.Numbers}, {Name: "test_rows", Value: src.Test.Numbers}} {
		if part.Value.([]int) != nil {
			arrays = append(arrays, part)
		}
	}
	if classes != nil {
		arrays = append(arrays, data.Array{Name: "class_names", Value: classes})
	}
	return append(arrays, data.Array{Name: "provenance", Value: []string{string(text)}}), nil
}
