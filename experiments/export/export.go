package export

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"calibra/data"
	"calibra/graph/onnx"
	"calibra/layers"

	"google.golang.org/protobuf/encoding/protowire"
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
	g := onnx.New(onnx.Version, numbers, nil)
	if err := calibrate(g, method, c); err != nil {
		return err
	}
	_, err := out.Write(g.File(method))
	return err
}

// calibrate adds a fitted calibrator with its outputs.
func calibrate(g *onnx.Network, method string, c layers.Stateful) error {
	says, ok := c.(onnx.Calibrator)
	if !ok {
		return data.Inputf("", "%s cannot be written as ONNX: %T has no method ONNX(*onnx.Network) (onnx.Outputs, error); use calibra apply, fit another method, or write that one", method, c)
	}
	said, err := says.ONNX(g)
	if err != nil {
		return data.Inputf("", "%s cannot be written as ONNX: %w; use calibra apply, or fit another method", method, err)
	}
	g.SetOutputs(said)
	return nil
}

// Backbone is a network in ONNX whose outputs a calibrator reads.
type Backbone struct {
	Path     string // for error messages
	File     []byte
	Features string // name of the output of N×M features; "" is the one named "features"
	Logits   string // name of the output of N×C logits; "" is the one named "logits", or the only one
}

// Glue writes the backbone with a fitted calibrator behind it: one network from the raw
// input to probabilities and codes. A backbone that cannot be read or lacks an output is a
// *data.InputError. Its operators must be of version 13 or later.
func Glue(out io.Writer, b Backbone, method string, c layers.Stateful) error {
	n, err := b.network()
	if err != nil {
		return err
	}
	bound, err := b.outputs(n.graph)
	if err != nil {
		return err
	}
	g := onnx.New(n.version, onnx.Single, bound)
	if err := calibrate(g, method, c); err != nil {
		return err
	}
	if g.Lacks() { // an output that the method needs and the backbone lacks
		missing := "features"
		if bound["logits"] == "" {
			missing = "logits"
		}
		return data.Inputf(b.Path, "has no output that could be the %s that %s reads; name it with --features-output or --logits-output", missing, method)
	}
	var whole []byte
	for _, f := range n.graph {
		if f.number != 12 { // its outputs
			whole = append(whole, f.raw...)
		}
	}
	_, err = out.Write(g.Finish(append(g.Behind(whole, n.ir), n.rest...), method))
	return err
}

// network is a model in ONNX in parts.
type network struct {
	graph   []field
	version int64  // of the operators
	ir      int64  // of the format, at least 8
	rest    []byte // the other fields, but for the producer
}

// network reads the backbone.
func (b Backbone) network() (n network, err error) {
	fields, err := fieldsOf(b.File)
	if err != nil {
		return n, data.Inputf(b.Path, "is no network in ONNX: %w", err)
	}
	n.ir = 8
	for _, f := range fields {
		switch f.number {
		case 1: // ir_version
			n.ir = max(n.ir, int64(f.varint))
		case 2: // producer_name
		case 7:
			if n.graph, err = fieldsOf(f.bytes); err != nil {
				return n, data.Inputf(b.Path, "has a graph that cannot be read: %w", err)
			}
		case 8:
			name, v, err := operatorSet(f.bytes)
			if err != nil {
				return n, data.Inputf(b.Path, "has an operator set that cannot be read: %w", err)
			}
			if name == "" || name == "ai.onnx" {
				n.version = v
			}
			n.rest = append(n.rest, f.raw...)
		default:
			n.rest = append(n.rest, f.raw...)
		}
	}
	switch {
	case n.graph == nil:
		return n, data.Inputf(b.Path, "is no network in ONNX: it has no graph")
	case n.version < onnx.LeastVersion:
		return n, data.Inputf(b.Path, "uses version %d of ONNX's operators; export it with opset_version=%d or later", n.version, onnx.LeastVersion)
	}
	return n, nil
}

// outputs are the backbone's outputs that stand for features and logits.
func (b Backbone) outputs(graph []field) (map[string]string, error) {
	var names []string
	for _, f := range graph {
		if f.number != 12 {
			continue
		}
		value, err := fieldsOf(f.bytes)
		if err != nil {
			return nil, data.Inputf(b.Path, "has an output that cannot be read: %w", err)
		}
		for _, v := range value {
			if v.number == 1 {
				names = append(names, string(v.bytes))
			}
		}
	}
	bound := map[string]string{}
	for input, asked := range map[string]string{"features": b.Features, "logits": b.Logits} {
		switch {
		case asked != "" && !slices.Contains(names, asked):
			return nil, data.Inputf(b.Path, "has no output %q; it has %s", asked, strings.Join(names, ", "))
		case asked != "":
			bound[input] = asked
		case slices.Contains(names, input):
			bound[input] = input
		case input == "logits" && len(names) == 1:
			bound[input] = names[0]
		}
	}
	return bound, nil
}

// field is one of a protocol buffer, as it stands in the file.
type field struct {
	number protowire.Number
	raw    []byte // with its tag
	bytes  []byte // of a field with a length
	varint uint64
}

func fieldsOf(m []byte) ([]field, error) {
	var fields []field
	for len(m) > 0 {
		number, kind, tag := protowire.ConsumeTag(m)
		if tag < 0 {
			return nil, protowire.ParseError(tag)
		}
		n := protowire.ConsumeFieldValue(number, kind, m[tag:])
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		f := field{number: number, raw: m[:tag+n]}
		switch kind {
		case protowire.BytesType:
			f.bytes, _ = protowire.ConsumeBytes(m[tag:])
		case protowire.VarintType:
			f.varint, _ = protowire.ConsumeVarint(m[tag:])
		}
		fields, m = append(fields, f), m[tag+n:]
	}
	return fields, nil
}

// operatorSet reads an OperatorSetIdProto.
func operatorSet(m []byte) (name string, version int64, err error) {
	fields, err := fieldsOf(m)
	for _, f := range fields {
		switch f.number {
		case 1:
			name = string(f.bytes)
		case 2:
			version = int64(f.varint)
		}
	}
	if err == nil && version < 1 {
		err = fmt.Errorf("version %d", version)
	}
	return name, version, err
}
