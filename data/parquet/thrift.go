package parquet

import (
	"encoding/binary"
	"errors"
)

// The compact protocol of Thrift, in which footers and page headers are written.

// Types of a field's value.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

var errEarly = errors.New("it ends early")

// decoder reads values from b and keeps its first error, after which every value is zero.
type decoder struct {
	b     []byte
	depth int // of structs and lists
	err   error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.b = nil
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail(errEarly)
		return 0
	}
	b := d.b[0]
	d.b = d.b[1:]
	return b
}

func (d *decoder) unsigned() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail(errEarly)
		return 0
	}
	d.b = d.b[n:]
	return v
}

// int is a whole number of any width.
func (d *decoder) int() int64 {
	v := d.unsigned()
	return int64(v>>1) ^ -int64(v&1)
}

func (d *decoder) binary() []byte {
	n := d.unsigned()
	if n > uint64(len(d.b)) {
		d.fail(errEarly)
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

// structure calls do for every field, which reads the value or skips it.
func (d *decoder) structure(do func(id int, kind byte)) {
	const deepest = 32
	if d.depth++; d.depth > deepest {
		d.fail(errors.New("it is nested too deeply"))
	}
	for id := 0; d.err == nil; {
		head := d.byte()
		if head == 0 {
			break
		}
		if delta := int(head >> 4); delta > 0 {
			id += delta
		} else {
			id = int(d.int())
		}
		do(id, head&15)
	}
	d.depth--
}

// list calls do for every element. An element has at least one byte.
func (d *decoder) list(do func(kind byte)) {
	head := d.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = d.unsigned()
	}
	if n > uint64(len(d.b)) {
		d.fail(errEarly)
	}
	for range n {
		if d.err != nil {
			return
		}
		do(head & 15)
	}
}

// skip reads a value of no interest, a field's or an element's.
func (d *decoder) skip(kind byte) {
	switch kind {
	case thriftTrue, thriftFalse:
	case thriftByte:
		d.byte()
	case thriftDouble:
		for range 8 {
			d.byte()
		}
	case thriftBinary:
		d.binary()
	case thriftList, thriftSet:
		if d.depth++; d.depth > 32 {
			d.fail(errors.New("it is nested too deeply"))
		}
		d.list(d.skipElement)
		d.depth--
	case thriftStruct:
		d.structure(func(_ int, kind byte) { d.skip(kind) })
	case 4, 5, 6: // whole numbers
		d.unsigned()
	default: // of a map Parquet has none
		d.fail(errors.New("it has a value of no known type"))
	}
}

// skipElement is skip in a list, where a truth value has a byte.
func (d *decoder) skipElement(kind byte) {
	if kind == thriftTrue || kind == thriftFalse {
		kind = thriftByte
	}
	d.skip(kind)
}

// encoder writes a struct's fields in ascending order.
type encoder struct {
	b    []byte
	last []int // id of the last field of each open struct
}

func (e *encoder) field(id int, kind byte) {
	top := len(e.last) - 1
	e.b = append(e.b, byte(id-e.last[top])<<4|kind) // Parquet's ids are close together
	e.last[top] = id
}

func (e *encoder) unsigned(v uint64) { e.b = binary.AppendUvarint(e.b, v) }

func (e *encoder) zigzag(v int64) { e.unsigned(uint64(v<<1) ^ uint64(v>>63)) }

// int32 and int64 are whole numbers.
func (e *encoder) int32(id int, v int64) { e.field(id, 5); e.zigzag(v) }
func (e *encoder) int64(id int, v int64) { e.field(id, 6); e.zigzag(v) }

func (e *encoder) string(id int, s string) {
	e.field(id, thriftBinary)
	e.text(s)
}

func (e *encoder) text(s string) {
	e.unsigned(uint64(len(s)))
	e.b = append(e.b, s...)
}

// list begins a list of n elements, which the caller writes.
func (e *encoder) list(id int, kind byte, n int) {
	e.field(id, thriftList)
	e.b = append(e.b, 15<<4|kind)
	e.unsigned(uint64(n))
}

// structure writes a struct that is a field, element one that is in a list or by itself.
func (e *encoder) structure(id int, fields func()) {
	e.field(id, thriftStruct)
	e.element(fields)
}

func (e *encoder) element(fields func()) {
	e.last = append(e.last, 0)
	fields()
	e.last = e.last[:len(e.last)-1]
	e.b = append(e.b, 0)
}
