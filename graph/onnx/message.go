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
func tensorOf[T float32 | float64 | int64](name string, values []T, axes ...int) message {
	var m message
	for _, d := range axes {
		m = m.Number(1, int64(d)) // dims
	}
	var kind Element
	var raw []byte
	switch values := any(values).(type) {
	case []float32:
		kind = Single
		for _, v := range values {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		}
	case []float64:
		kind = Double
		for _, v := range values {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
		}
	case []int64:
		kind = Int64
		for _, v := range values {
			raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
		}
	}
	return m.Number(2, int64(kind)).Text(8, name).Bytes(9, raw) // data_type, name, raw_data
}

// valueInfo is a ValueInfoProto of rows: N×columns.
func valueInfo(name string, kind Element, columns int) message {
	var shape message
	shape = shape.Bytes(1, message{}.Text(2, "N")) // dim.dim_param
	shape = shape.Bytes(1, message{}.Number(1, int64(columns)))
	tensor := message{}.Number(1, int64(kind)).Bytes(2, shape)
	return message{}.Text(1, name).Bytes(2, message{}.Bytes(1, tensor))
}

// Attribute is an AttributeProto.
type Attribute message

// Int is an attribute of a whole number.
func Int(name string, v int) Attribute {
	return Attribute(message{}.Text(1, name).Number(3, int64(v)).Number(20, 2)) // i, INT
}

// Text is an attribute of a word.
func Text(name, v string) Attribute {
	return Attribute(message{}.Text(1, name).Text(4, v).Number(20, 3)) // s, STRING
}

// Ints is one of several.
func Ints(name string, values ...int) Attribute {
	m := message{}.Text(1, name)
	for _, v := range values {
		m = m.Number(8, int64(v))
	}
	return Attribute(m.Number(20, 7)) // ints, INTS
}

// tensorAttribute is one of a tensor.
func tensorAttribute(name string, t message) Attribute {
	return Attribute(message{}.Text(1, name).Bytes(5, t).Number(20, 4)) // t, TENSOR
}

// nodeOf is a NodeProto.
func nodeOf(op string, inputs, outputs []string, attributes []Attribute) message {
	var m message
	for _, in := range inputs {
		m = m.Text(1, in)
	}
	for _, out := range outputs {
		m = m.Text(2, out)
	}
	m = m.Text(4, op)
	for _, a := range attributes {
		m = m.Bytes(5, a)
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
