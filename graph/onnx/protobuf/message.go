// Package protobuf writes protocol buffers field by field, so that a format needs no generated code. The numbers of
// fields stand beside each use:
//
//	protobuf.Message{}.Text(1, "loss").Single(2, .5) // tag, simple_value
package protobuf

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Message is a message in the making. Each method adds a field and gives the message with it.
type Message []byte

// Number adds a whole number, a truth value or an enumeration's.
func (m Message) Number(field protowire.Number, v int64) Message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), uint64(v))
}

// Bytes adds bytes, or a message.
func (m Message) Bytes(field protowire.Number, b []byte) Message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), b)
}

func (m Message) Text(field protowire.Number, s string) Message { return m.Bytes(field, []byte(s)) }

func (m Message) Single(field protowire.Number, v float32) Message {
	return protowire.AppendFixed32(protowire.AppendTag(m, field, protowire.Fixed32Type), math.Float32bits(v))
}

func (m Message) Double(field protowire.Number, v float64) Message {
	return protowire.AppendFixed64(protowire.AppendTag(m, field, protowire.Fixed64Type), math.Float64bits(v))
}
