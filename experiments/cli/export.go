package cli

import (
	"fmt"
	"io"
	"path/filepath"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/export"
	"calibra/experiments/method"
	"calibra/layers"
)

type exportCmd struct {
	Model string `required:"" type:"model" placeholder:"DIR" help:"Directory that calibra fit wrote, or a model.safetensors."`
	ONNX  string `name:"onnx" required:"" type:"output" placeholder:"F.onnx" help:"Network to write. Its inputs are features and logits, as far as the method reads them. Its outputs are probabilities and, where the method has a codebook, codes."`

	Numbers string `enum:"float32,float64" default:"float32" help:"Type of the inputs and of the probabilities: float32 or float64. With float64, methods without features give the numbers of calibra apply to 1e-15, the others to 1e-6 (${default})."`
}

func (c *exportCmd) files() []string { return []string{c.ONNX} }

func (c *exportCmd) Run(t *terminal, methods *method.Catalog) error {
	if err := checkONNX(c.ONNX); err != nil {
		return err
	}
	path := modelFile(c.Model)
	model, method, err := methods.Load(path)
	if err != nil {
		return err
	}
	numbers := map[string]export.Numbers{"float32": export.Float32, "float64": export.Float64}[c.Numbers]
	err = disk.WriteFile(c.ONNX, func(out io.Writer) error {
		return export.Write(out, numbers, method.Name, model)
	})
	if err != nil {
		return err
	}
	of := ""
	if n := len(layers.MembersOf(model)); n > 1 {
		of = fmt.Sprintf(", the mean of %d members,", n)
	}
	return t.closing(method.Name+of+" as a network in ONNX: "+method.Line, relative(c.ONNX))
}

// checkONNX is an *InputError of a file whose name is that of another kind; "" is none.
func checkONNX(path string) error {
	if end := filepath.Ext(path); end != "" && end != ".onnx" {
		return data.Inputf(path, "ends in %s and would hold a network in ONNX; name a file that ends in .onnx", end)
	}
	return nil
}
