package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is a field of a message: a number or bytes.
type field struct {
	at     protowire.Number
	number uint64
	bytes  []byte
}

var errDamaged = errors.New("onnx: the file is no network, or damaged")

// fields calls f with each field of a message.
func fields(m []byte, f func(field) error) error {
	for len(m) > 0 {
		at, kind, n := protowire.ConsumeTag(m)
		if n < 0 {
			return errDamaged
		}
		m = m[n:]
		x := field{at: at}
		switch kind {
		case protowire.VarintType:
			x.number, n = protowire.ConsumeVarint(m)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(m)
			x.number = uint64(v)
		case protowire.BytesType:
			x.bytes, n = protowire.ConsumeBytes(m)
		default:
			n = protowire.ConsumeFieldValue(at, kind, m)
		}
		if n < 0 {
			return errDamaged
		}
		m = m[n:]
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

// graphOf is the GraphProto of a ModelProto.
func graphOf(file []byte) (graph []byte, err error) {
	err = fields(file, func(x field) error {
		if x.at == 7 {
			graph = x.bytes
		}
		return nil
	})
	if err == nil && graph == nil {
		err = errDamaged
	}
	return graph, err
}

// inputOf is the name and the columns of a ValueInfoProto, as valueInfo writes it.
func inputOf(m []byte) (name string, columns int, err error) {
	var within func(m []byte, path ...protowire.Number) error
	within = func(m []byte, path ...protowire.Number) error {
		return fields(m, func(x field) error {
			switch {
			case x.at != path[0]:
			case len(path) == 1:
				columns = int(x.number)
			default:
				return within(x.bytes, path[1:]...)
			}
			return nil
		})
	}
	err = fields(m, func(x field) error {
		if x.at == 1 {
			name = string(x.bytes)
		}
		return nil
	})
	if err == nil {
		err = within(m, 2, 1, 2, 1, 1) // type, tensor_type, shape, dim, dim_value
	}
	return name, columns, err
}

// attributes are those of an operator.
type attributes struct {
	whole  map[string]int
	lists  map[string][]int
	text   map[string]string
	single map[string][]float32
	texts  map[string][]string
	tensor *array
	trees  *ensemble // of treesOp
}

// operator is a NodeProto.
type operator struct {
	name            string
	inputs, outputs []string
	attributes
}

func operatorOf(m []byte) (o operator, err error) {
	o.attributes = attributes{map[string]int{}, map[string][]int{}, map[string]string{}, map[string][]float32{}, map[string][]string{}, nil, nil}
	err = fields(m, func(x field) error {
		switch x.at {
		case 1:
			o.inputs = append(o.inputs, string(x.bytes))
		case 2:
			o.outputs = append(o.outputs, string(x.bytes))
		case 4:
			o.name = string(x.bytes)
		case 5:
			return o.attributes.add(x.bytes)
		}
		return nil
	})
	return o, err
}

// add adds an AttributeProto.
func (a *attributes) add(m []byte) error {
	name := ""
	return fields(m, func(x field) (err error) {
		switch x.at {
		case 1: // comes first, as this package writes it
			name = string(x.bytes)
		case 3:
			a.whole[name] = int(int64(x.number))
		case 4:
			a.text[name] = string(x.bytes)
		case 5:
			a.tensor, _, err = arrayOf(x.bytes)
		case 7:
			a.single[name] = append(a.single[name], math.Float32frombits(uint32(x.number)))
		case 8:
			a.lists[name] = append(a.lists[name], int(int64(x.number)))
		case 9:
			a.texts[name] = append(a.texts[name], string(x.bytes))
		}
		return err
	})
}

// arrayOf is a TensorProto with its name.
func arrayOf(m []byte) (a *array, name string, err error) {
	a = &array{}
	var raw []byte
	if err := fields(m, func(x field) error {
		switch x.at {
		case 1:
			a.shape = append(a.shape, int(x.number))
		case 2:
			a.kind = Element(x.number)
		case 8:
			name = string(x.bytes)
		case 9:
			raw = x.bytes
		}
		return nil
	}); err != nil {
		return nil, "", err
	}
	n := a.size()
	if a.kind != Double && a.kind != Int64 || len(raw) != 8*n {
		return nil, "", fmt.Errorf("onnx: the constant %q is of a type that an Engine does not compute with, or damaged", name)
	}
	a.grow(n)
	for i := range n {
		if bits := binary.LittleEndian.Uint64(raw[8*i:]); a.kind == Double {
			a.doubles[i] = math.Float64frombits(bits)
		} else {
			a.whole[i] = int(bits)
		}
	}
	return a, name, nil
}
