package parquet

import (
	"cmp"
	"encoding/binary"
	"errors"
)

// The compact protocol of Thrift, in which footers and page headers are written.

// Types of a field's value.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftInt16  = 4
	thriftInt32  = 5
	thriftInt64  = 6
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
	d.err = cmp.Or(d.err, err)
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

// nested calls do within another struct or list.
func (d *decoder) nested(do func()) {
	const deepest = 32
	if d.depth++; d.depth > deepest {
		d.fail(errors.New("it is nested too deeply"))
	}
	do()
	d.depth--
}

// structure calls do for every field, which reads the value or skips it.
func (d *decoder) structure(do func(id int, kind byte)) {
	d.nested(func() {
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
	})
}

// places are where the fields of a struct go, by their numbers: to an *int64, a *string, a *bool,
// the places of a struct's own, or a func() that reads the value.
type places map[int]any

// read reads a struct. Fields without a place are skipped.
func (d *decoder) read(to places) {
	d.structure(func(id int, kind byte) {
		switch at := to[id].(type) {
		case *int64:
			*at = d.int()
		case *string:
			*at = string(d.binary())
		case places:
			d.read(at)
		case func():
			at()
		case *bool:
			*at = kind == thriftTrue
			d.skip(kind)
		default:
			d.skip(kind)
		}
	})
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
		d.nested(func() { d.list(d.skipElement) })
	case thriftStruct:
		d.read(nil)
	case thriftInt16, thriftInt32, thriftInt64:
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

// Values that are written: int32 and int64 as Thrift distinguishes them, string, list, and fields,
// which are those of a struct in ascending order.
type (
	fields []field
	list   []any // of one type, and not empty
)

type field struct {
	id    int // Parquet's are close together
	value any
}

func kindOf(value any) byte {
	switch value.(type) {
	case int32:
		return thriftInt32
	case int64:
		return thriftInt64
	case string:
		return thriftBinary
	case fields:
		return thriftStruct
	}
	return thriftList
}

// appendValue appends a value to b.
func appendValue(b []byte, value any) []byte {
	switch v := value.(type) {
	case int32:
		b = binary.AppendVarint(b, int64(v))
	case int64:
		b = binary.AppendVarint(b, v)
	case string:
		b = append(binary.AppendUvarint(b, uint64(len(v))), v...)
	case fields:
		last := 0
		for _, f := range v {
			b = appendValue(append(b, byte(f.id-last)<<4|kindOf(f.value)), f.value)
			last = f.id
		}
		b = append(b, 0)
	case list:
		b = binary.AppendUvarint(append(b, 15<<4|kindOf(v[0])), uint64(len(v)))
		for _, element := range v {
			b = appendValue(b, element)
		}
	}
	return b
}
