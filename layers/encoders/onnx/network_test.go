package onnx_test

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// message is a protocol buffer in the making: what these tests need of onnx.proto.
type message []byte

func (m message) number(field int, v uint64) message {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3), v)
}

func (m message) bytes(field int, b []byte) message {
	m = binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3|2), uint64(len(b)))
	return append(m, b...)
}

func (m message) text(field int, s string) message { return m.bytes(field, []byte(s)) }

// value is a ValueInfoProto; axes below 0 are left open.
func value(name string, kind uint64, axes ...int) message {
	var shape message
	for _, d := range axes {
		if d < 0 {
			shape = shape.bytes(1, message{}.text(2, "N"))
		} else {
			shape = shape.bytes(1, message{}.number(1, uint64(d)))
		}
	}
	tensor := message{}.number(1, kind).bytes(2, shape)
	return message{}.text(1, name).bytes(2, message{}.bytes(1, tensor))
}

// weight is a TensorProto of float32.
func weight(name string, values []float32, axes ...int) message {
	var m message
	for _, d := range axes {
		m = m.number(1, uint64(d))
	}
	raw := make([]byte, 0, 4*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return m.number(2, 1).text(8, name).bytes(9, raw)
}

// node is a NodeProto; attributes follow by bytes(5, …).
func node(op string, inputs []string, output string) message {
	var m message
	for _, in := range inputs {
		m = m.text(1, in)
	}
	return m.text(2, output).text(4, op)
}

func intAttribute(name string, v uint64) message {
	return message{}.text(1, name).number(3, v).number(20, 2)
}

func intsAttribute(name string, values ...uint64) message {
	m := message{}.text(1, name)
	for _, v := range values {
		m = m.number(8, v)
	}
	return m.number(20, 7)
}

// write makes a model file of the nodes, weights, inputs and outputs.
func write(t *testing.T, nodes, weights, inputs, outputs []message) string {
	t.Helper()
	var graph message
	add := func(field int, list []message) {
		for _, m := range list {
			graph = graph.bytes(field, m)
		}
	}
	add(1, nodes)
	graph = graph.text(2, "test")
	add(5, weights)
	add(11, inputs)
	add(12, outputs)
	model := message{}.number(1, 8).bytes(7, graph).bytes(8, message{}.number(2, 13)) // IR 8, operators 13
	path := filepath.Join(t.TempDir(), "network.onnx")
	if err := os.WriteFile(path, model, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}
