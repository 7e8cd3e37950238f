package onnx

import (
	"encoding/binary"
	"math"

	"calibra/graph/onnx/protobuf"
)

// message is a protocol buffer of onnx.proto in the making (github.com/onnx/onnx, IR 8).
// The numbers of its fields stand beside each use.
type message = protobuf.Message

// Element is a TensorProto.DataType.
type Element int64

// The types of elements.
const (
	Single Element = 1  // FLOAT
	Int64  Element = 7  // INT64
	Truth  Element = 9  // BOOL
	Double Element = 11 // DOUBLE
)

// tensorOf is a TensorProto. Without axes it is a scalar.
func tensorOf(name string, a *array) message {
	var m message
	for _, d := range a.shape {
		m = m.Number(1, int64(d)) // dims
	}
	var raw []byte
	for _, v := range a.singles {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	for _, v := range a.doubles {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
	}
	for _, v := range a.whole {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return m.Number(2, int64(a.kind)).Text(8, name).Bytes(9, raw) // data_type, name, raw_data
}

// valueInfo is a ValueInfoProto of rows: N×columns.
func valueInfo(t table) message {
	var shape message
	shape = shape.Bytes(1, message{}.Text(2, "N")) // dim.dim_param
	shape = shape.Bytes(1, message{}.Number(1, int64(t.shape[1])))
	tensor := message{}.Number(1, int64(t.kind)).Bytes(2, shape)
	return message{}.Text(1, t.name).Bytes(2, message{}.Bytes(1, tensor))
}

// Attribute is a setting of an operator.
type Attribute struct {
	name  string
	value any // int, string, *array, []int, []float32, []string or, of a forest, [][]TreeNode
}

// Int is an attribute of a whole number.
func Int(name string, v int) Attribute { return Attribute{name, v} }

// Text is an attribute of a word.
func Text(name, v string) Attribute { return Attribute{name, v} }

// Ints is one of several whole numbers.
func Ints(name string, values ...int) Attribute { return Attribute{name, values} }

// add adds the attribute to a NodeProto, as an AttributeProto.
func (a Attribute) add(node message) message {
	m := message{}.Text(1, a.name)
	switch v := a.value.(type) {
	case int:
		m = m.Number(3, int64(v)).Number(20, 2) // i, INT
	case string:
		m = m.Text(4, v).Number(20, 3) // s, STRING
	case *array:
		m = m.Bytes(5, tensorOf("", v)).Number(20, 4) // t, TENSOR
	case []float32:
		for _, x := range v {
			m = m.Single(7, x)
		}
		m = m.Number(20, 6) // floats, FLOATS
	case []int:
		for _, x := range v {
			m = m.Number(8, int64(x))
		}
		m = m.Number(20, 7) // ints, INTS
	case []string:
		for _, x := range v {
			m = m.Text(9, x)
		}
		m = m.Number(20, 8) // strings, STRINGS
	case [][]TreeNode:
		for _, part := range treeAttributes(v) {
			node = part.add(node)
		}
		return node
	}
	return node.Bytes(5, m)
}

// message is a NodeProto.
func (n node) message() message {
	var m message
	for _, in := range n.inputs {
		m = m.Text(1, in)
	}
	for _, out := range n.outputs {
		m = m.Text(2, out)
	}
	m = m.Text(4, n.op)
	for _, a := range n.attributes {
		m = a.add(m)
	}
	if n.op == treesOp {
		m = m.Text(7, machineLearning) // domain
	}
	return m
}

// graph is the GraphProto of these operators and constants.
func (g *Network) graph(nodes []node, constants []table) message {
	m := message{}.Text(2, domain)
	for _, n := range nodes {
		m = m.Bytes(1, n.message())
	}
	for _, c := range constants {
		m = m.Bytes(5, tensorOf(c.name, c.array))
	}
	for _, in := range g.inputs {
		m = m.Bytes(11, valueInfo(in))
	}
	for _, out := range g.outputs {
		m = m.Bytes(12, valueInfo(out))
	}
	return m
}

// opset is the OperatorSetIdProto of a domain, "" of ONNX's own operators.
func opset(domain string, version int64) message {
	m := message{}
	if domain != "" {
		m = m.Text(1, domain)
	}
	return m.Number(2, version)
}
