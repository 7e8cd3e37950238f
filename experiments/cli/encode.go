package cli

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/method"
	"calibra/experiments/program"
	"calibra/graph/work"
	"calibra/layers/encoders"

	"gonum.org/v1/gonum/mat"
)

type encodeCmd struct {
	Model   string `type:"path" placeholder:"DIR" help:"Directory that calibra pretrain wrote. Without it, the rows that studies use are written."`
	Data    string `type:"rows" placeholder:"DATA" help:"letter, satellite, digits (embedded), a labelled csv, a CIFAR archive, a MedMNIST npz or a directory of weather data (the data that the network was trained on). Without --model also cubic, proximity, proximity100, longtail1000, rare, calibrated (synthetic), or a features file."`
	Encoder string `placeholder:"NAME" help:"Without --model: the network that encodes raw rows (the first that studies use)."`
	tableFlags
	HeldOut float64 `placeholder:"SHARE" help:"Share of the rows of a table, from one region of it, that are kept apart as shifted rows (none)."`
	Seed    *uint64 `placeholder:"0" help:"Seed that divides the rows. For the network's own data it must be the seed of its training (that seed; 0 for other data)."`
	Out     string  `required:"" type:"output" placeholder:"F.npz" help:"Features file to write. Shifted rows go to F-shifted.npz."`

	sources []data.RawSource // of the catalog
}

func (c *encodeCmd) files() []string { return []string{c.Out, shiftedPath(c.Out)} }

func (c *encodeCmd) Run(ctx context.Context, t *terminal, catalog *method.Catalog) error {
	c.sources = catalog.RawSources()
	if !strings.HasSuffix(c.Out, ".npz") {
		return data.Inputf(c.Out, "must end in .npz")
	}
	if err := disk.CheckFile(c.Out); err != nil { // not after the last row
		return err
	}
	switch {
	case c.Model == "":
		return c.export(ctx, t, catalog)
	case c.Encoder != "":
		return data.Inputf("", "--model is a network; leave --encoder out")
	}
	network, raw, err := c.open()
	if err != nil {
		return err
	}
	if raw.Notice != "" {
		t.warn("raw_rows", "warning: of %s %s", raw.Name, raw.Notice)
	}
	if known := network.Classes(); known < len(raw.Classes) {
		return data.Inputf("", "the encoder has logits for %d classes and %s has %d; its logits must be one a class", known, raw.Name, len(raw.Classes))
	}
	parts := []encodedPart{{"cal", c.Out, raw.Cal}, {"test", c.Out, raw.Test}}
	if raw.Shifted != nil {
		parts = append(parts, encodedPart{"test", shiftedPath(c.Out), raw.Shifted})
	}
	rows := data.Each(parts, func(p encodedPart) float64 { return float64(p.in.Len()) })
	files := map[string][]data.Array{}
	for i, p := range parts {
		x, err := encoders.EncodeInputs(work.Piece(ctx, "encode "+p.name, i, rows...), network, p.in)
		if err != nil {
			return err
		}
		files[p.path] = append(files[p.path], inSingle(p.name+"_features", x.Features), inSingle(p.name+"_logits", x.Logits), data.Array{Name: p.name + "_labels", Value: p.in.Labels})
	}
	if !data.Numbered(raw.Classes) {
		files[c.Out] = append(files[c.Out], data.Array{Name: "class_names", Value: raw.Classes})
	}
	for _, path := range slices.Sorted(maps.Keys(files)) { // F-shifted.npz before F.npz: whoever sees F has both
		if err := disk.WriteNPZ(path, files[path]...); err != nil {
			return err
		}
	}
	wrote, shifted := []string{relative(c.Out)}, ""
	if raw.Shifted != nil {
		wrote, shifted = append(wrote, relative(shiftedPath(c.Out))), fmt.Sprintf(", %d shifted", raw.Shifted.Len())
	}
	return t.closing(fmt.Sprintf("%d calibration, %d test%s rows of %s, %d features, %d classes", raw.Cal.Len(), raw.Test.Len(), shifted, raw.Name, network.Features(), network.Classes()), wrote...)
}

// encodedPart is rows whose arrays begin with name in the file at path.
type encodedPart struct {
	name, path string
	in         *data.Inputs
}

// shiftedPath is where the shifted rows go: F-shifted.npz beside F.npz.
func shiftedPath(out string) string { return strings.TrimSuffix(out, ".npz") + "-shifted.npz" }

// inSingle is a matrix in single precision, as a network gives it.
func inSingle(name string, x mat.Matrix) data.Array {
	n, m := x.Dims()
	return data.Array{Name: name, Value: data.Written{Type: "<f4", Shape: []int{n, m}, Write: func(w io.Writer) error {
		buffer, row := make([]float64, m), make([]float32, m)
		for i := range n {
			for j, v := range data.Row(x, i, buffer) {
				row[j] = float32(v)
			}
			if err := binary.Write(w, binary.LittleEndian, row); err != nil {
				return err
			}
		}
		return nil
	}}}
}

// rows are those that the flags name.
func (c *encodeCmd) rows() encoders.Origin {
	o := encoders.Origin{Data: c.Data, Label: c.Label, Header: c.Header, HeldOut: c.HeldOut, LongTail: float64(c.LongTail)}
	if c.Seed != nil {
		o.Seed = *c.Seed
	}
	return o
}

// beside is the rows set aside from those that trained a network; the flags may repeat
// how they were divided. Divided otherwise, rows that trained it would calibrate it.
func (c *encodeCmd) beside(trained encoders.Origin) (encoders.Origin, error) {
	o := c.rows()
	if c.Data != "" && c.Data != trained.Data {
		if path, err := data.AbsoluteRaw(c.Data, c.sources); err != nil || path != trained.Data {
			return o, nil // rows of another origin
		}
	}
	if c.Seed != nil && o.Seed != trained.Seed || o.Label != "" && o.Label != trained.Label || o.Header != "" && o.Header != trained.Header || o.HeldOut != 0 && o.HeldOut != trained.HeldOut || o.LongTail != 0 && o.LongTail != trained.LongTail {
		return o, data.Inputf(c.Model, "was trained on rows of %s divided otherwise, and some of its training rows would calibrate it; leave --seed, --label and --held-out out", trained.Data)
	}
	return trained, nil
}

// open finds the network and its rows.
func (c *encodeCmd) open() (*encoders.Model, *data.Raw, error) {
	if strings.HasSuffix(c.Model, ".onnx") {
		return nil, nil, data.Inputf(c.Model, "is an ONNX file, and encode takes the directory that calibra pretrain wrote; write a features file with ONNX Runtime as notebooks/export_features.md shows")
	}
	m, err := encoders.Load(c.Model)
	if err != nil {
		return nil, nil, err
	}
	origin, err := c.beside(m.Config.Origin)
	if err != nil {
		return nil, nil, err
	}
	columns := m.Config.Columns
	if columns == nil {
		columns = data.AsTheyAre // as before there was a list of them
	}
	raw, err := origin.Open(columns, c.sources...)
	if err != nil {
		return nil, nil, err
	}
	if origin.Rows != "" && origin.Rows != raw.Train.Digest() {
		return nil, nil, data.Inputf(c.Model, "was trained on other rows than the same division of %s gives, and some of its training rows would calibrate it; restore the data or pretrain anew", origin.Data)
	}
	return m, raw, nil
}

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
	case o.Encoders != nil && c.Encoder == "":
		said.Encoder = o.Encoders[0].Name
	}
	if said.Program, err = program.ThisProgram(); err != nil {
		return err
	}
	p, err := encoded(ctx, t, catalog, o, said.Seed, said.Encoder)
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
