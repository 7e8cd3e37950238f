package export

import (
	"io"

	"calibra/data"
	"calibra/graph/onnx"
	"calibra/layers"
)

// Numbers is the type of a network's inputs and probabilities.
type Numbers = onnx.Element

// The types; calibra apply reads and writes float64.
const (
	Float32 = onnx.Single
	Float64 = onnx.Double
)

// Write writes a fitted calibrator as a network in ONNX with such numbers. method is the name it goes by in
// error messages and in the file. One that cannot be written is a *data.InputError.
func Write(out io.Writer, numbers Numbers, method string, c layers.Stateful) error {
	g := onnx.New(numbers)
	says, err := onnx.CalibratorOf(c)
	if err != nil {
		return data.Inputf("", "%s cannot be written as ONNX: %w; use calibra apply, fit another method, or write that one", method, err)
	}
	said, err := says.ONNX(g)
	if err != nil {
		return data.Inputf("", "%s cannot be written as ONNX: %w; use calibra apply, or fit another method", method, err)
	}
	g.SetOutputs(said)
	_, err = out.Write(g.File(method))
	return err
}
