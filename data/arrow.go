package data

import (
	"calibra/data/parquet"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	arrays "github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"
)

// boundedMemory panics where a file of size bytes claims more than it can hold when
// compressed as well as deflate can.
type boundedMemory struct {
	memory.Allocator
	size int64
}

func (b boundedMemory) Allocate(n int) []byte { return b.Reallocate(n, nil) }

func (b boundedMemory) Reallocate(n int, old []byte) []byte {
	if int64(n) > mostOf(b.size) {
		panic(fmt.Sprintf("it claims %s", size(float64(n))))
	}
	return b.Allocator.Reallocate(n, old)
}

// checkFooter returns an error if the footer of an Arrow file claims more fields, children,
// metadata or batches than its bytes can hold: the reader makes room for them before it
// looks. A footer that is damaged otherwise may panic.
func checkFooter(r *io.SectionReader) error {
	var tail [10]byte // its length, then the magic
	if _, err := r.ReadAt(tail[:], r.Size()-int64(len(tail))); err != nil {
		return err
	}
	length, end := int64(binary.LittleEndian.Uint32(tail[:])), r.Size()-int64(len(tail))
	if length > end {
		return fmt.Errorf("its footer claims %d bytes", length)
	}
	c := claims{footer: make([]byte, length)}
	if _, err := r.ReadAt(c.footer, end-length); err != nil {
		return err
	}
	root := flatbuffers.Table{Bytes: c.footer, Pos: flatbuffers.GetUOffsetT(c.footer)}
	for _, slot := range []flatbuffers.VOffsetT{8, 10, 12} { // dictionaries, batches, metadata
		c.vector(root, slot)
	}
	if schema, ok := tableAt(root, 6); ok {
		c.vector(schema, 8)
		c.fields(schema, 6)
	}
	return c.err
}

// claims are the lengths in a footer, whose layout is Schema.fbs and File.fbs of Arrow's format.
type claims struct {
	footer []byte
	seen   int // fields
	err    error
}

// vector is where the vector in a slot of the table begins, and its length.
func (c *claims) vector(t flatbuffers.Table, slot flatbuffers.VOffsetT) (start flatbuffers.UOffsetT, length int) {
	at := flatbuffers.UOffsetT(t.Offset(slot))
	if at == 0 || c.err != nil {
		return 0, 0
	}
	length = t.VectorLen(at)
	if length < 0 || length > len(c.footer)/flatbuffers.SizeUOffsetT {
		c.err = fmt.Errorf("its footer of %d bytes claims %d parts", len(c.footer), length)
		return 0, 0
	}
	return t.Vector(at), length
}

// fields goes through the fields in a slot, and theirs.
func (c *claims) fields(t flatbuffers.Table, slot flatbuffers.VOffsetT) {
	start, length := c.vector(t, slot)
	for i := range length {
		if c.seen++; c.seen > len(c.footer) && c.err == nil {
			c.err = fmt.Errorf("its footer of %d bytes claims more fields", len(c.footer))
		}
		if c.err != nil {
			return
		}
		field := flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(start + flatbuffers.UOffsetT(i*flatbuffers.SizeUOffsetT))}
		c.vector(field, 16) // metadata
		c.fields(field, 14) // children
	}
}

// tableAt is the table in a slot of another.
func tableAt(t flatbuffers.Table, slot flatbuffers.VOffsetT) (flatbuffers.Table, bool) {
	at := flatbuffers.UOffsetT(t.Offset(slot))
	if at == 0 {
		return t, false
	}
	return flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(at + t.Pos)}, true
}

// readArrow reads the columns of numbers and of lists of numbers, and the column set.
func readArrow(path string, r *io.SectionReader) ([]*column, error) {
	if err := checkFooter(r); err != nil {
		return nil, err
	}
	f, err := ipc.NewFileReader(r, ipc.WithAllocator(boundedMemory{memory.NewGoAllocator(), r.Size()}))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	columns := make([]*column, f.Schema().NumFields())
	for i := range f.NumRecords() {
		batch, err := f.RecordBatch(i)
		if err != nil {
			return nil, err
		}
		for k, field := range f.Schema().Fields() {
			if columns[k] == nil {
				columns[k] = newColumn(field.Name)
			}
			rows := columns[k].rows + batch.Column(k).Len()
			columns[k].append(batch.Column(k))
			columns[k].rows = rows // of a column with a fault too
			if err := columns[k].room(path); err != nil {
				return nil, err
			}
		}
	}
	return slices.DeleteFunc(columns, func(c *column) bool { return c == nil }), nil // of a file without rows
}

// append appends the rows of an array. One that is neither of text, of numbers nor of lists of
// numbers is a fault of the column, whose rows nobody counts from then on.
func (c *column) append(a arrow.Array) {
	values := a
	lists, isList := a.(arrays.ListLike)
	if isList {
		values = lists.ListValues()
	}
	text := textOf(a)
	if c.name == "groups" && text == nil {
		text = namesOf(a)
	}
	number, whole := numberOf(values)
	c.list, c.whole = isList, whole
	if a.DataType().ID() == arrow.NULL {
		number = func(int) float64 { return 0 } // which no row asks for
	}
	if text != nil {
		if d, ok := a.DataType().(*arrow.DictionaryType); ok {
			c.ordered = d.Ordered
			words := a.(*arrays.Dictionary).Dictionary()
			c.rank(Each(UpTo(words.Len()), textOf(words)))
		}
		c.begin(true)
	} else if a.DataType().ID() == arrow.STRUCT && slices.Contains(sparkVectors, c.said) {
		c.fault = errVectors
	} else if number == nil {
		c.fail("is of type %s; it must hold numbers", a.DataType())
	}
	var row []float64
	for i := 0; i < a.Len() && c.fault == nil; i++ {
		switch {
		case a.IsNull(i):
			c.addNone()
		case text != nil:
			c.addText(text(i))
		case isList:
			row = row[:0]
			from, to := lists.ValueOffsets(i)
			for j := int(from); j < int(to); j++ {
				if values.IsNull(j) {
					c.fail("has a list with a hole at row %d", c.rows)
				}
				row = append(row, number(j))
			}
			c.add(row...)
		default:
			c.add(number(i))
		}
	}
}

// textOf gives the strings of an array; nil if it holds none.
func textOf(a arrow.Array) func(i int) string {
	switch a := a.(type) {
	case interface{ Value(i int) string }:
		return a.Value
	case *arrays.Dictionary:
		if text := textOf(a.Dictionary()); text != nil {
			return func(i int) string { return text(a.GetValueIndex(i)) }
		}
	}
	return nil
}

// namesOf gives the names that dates, moments, decimals and truth values are as groups; nil of other arrays.
func namesOf(a arrow.Array) func(i int) string {
	switch a := a.(type) {
	case *arrays.Date32:
		return func(i int) string { return parquet.DateText(a.Value(i).ToTime()) }
	case *arrays.Date64:
		return func(i int) string { return parquet.DateText(a.Value(i).ToTime()) }
	case *arrays.Timestamp:
		unit := a.DataType().(*arrow.TimestampType).Unit
		return func(i int) string { return parquet.DateText(a.Value(i).ToTime(unit)) }
	case *arrays.Decimal128:
		scale := a.DataType().(*arrow.Decimal128Type).Scale
		return func(i int) string { return a.Value(i).ToString(scale) }
	case *arrays.Boolean:
		return a.ValueStr
	}
	return nil
}

// categoriesIn are the columns of categories by Arrow's schema, in base64, and whether their order has a meaning; none
// where it cannot be read. It is a message of Message.fbs behind its length, whose header is a table of Schema.fbs.
func categoriesIn(schema string) (ordered map[string]bool) {
	defer func() {
		if recover() != nil { // an offset of a damaged schema leads out of it
			ordered = nil
		}
	}()
	message, err := base64.StdEncoding.DecodeString(schema)
	const before = 8 // the mark 0xffffffff and the length
	if err != nil || len(message) < before {
		return nil
	}
	c := claims{footer: message[before:]}
	header, _ := tableAt(flatbuffers.Table{Bytes: c.footer, Pos: flatbuffers.GetUOffsetT(c.footer)}, 8)
	start, length := c.vector(header, 6)
	ordered = map[string]bool{}
	for i := range length {
		field := flatbuffers.Table{Bytes: c.footer, Pos: header.Indirect(start + flatbuffers.UOffsetT(i*flatbuffers.SizeUOffsetT))}
		name := flatbuffers.UOffsetT(field.Offset(4))
		if dictionary, is := tableAt(field, 12); is && name != 0 {
			ordered[field.String(name+field.Pos)] = dictionary.GetBoolSlot(8, false)
		}
	}
	return ordered
}

// integers are the arrays of integers.
var integers = []func(a arrow.Array) func(i int) float64{
	numbersOf[int8], numbersOf[int16], numbersOf[int32], numbersOf[int64],
	numbersOf[uint8], numbersOf[uint16], numbersOf[uint32], numbersOf[uint64],
}

// numberOf gives the numbers of an array, truth values as 0 and 1, and whether they are whole;
// nil if it holds none.
func numberOf(a arrow.Array) (number func(i int) float64, whole bool) {
	switch a := a.(type) {
	case *arrays.Dictionary:
		entry, whole := numberOf(a.Dictionary())
		if entry == nil {
			return nil, false
		}
		return func(i int) float64 { return entry(a.GetValueIndex(i)) }, whole
	case *arrays.Float16:
		return func(i int) float64 { return parquet.Half(a.Value(i).Uint16()) }, false // Float32 is wrong near 0
	case *arrays.Float32:
		return numbersOf[float32](a), false
	case *arrays.Float64:
		return a.Value, false
	case *arrays.Decimal128:
		scale := a.DataType().(*arrow.Decimal128Type).Scale
		return func(i int) float64 { return a.Value(i).ToFloat64(scale) }, false
	case *arrays.Boolean:
		return func(i int) float64 {
			if a.Value(i) {
				return 1
			}
			return 0
		}, true
	}
	for _, of := range integers {
		if number := of(a); number != nil {
			return number, true
		}
	}
	return nil, false
}

// numbersOf gives the numbers of an array of T; nil if it is of another type.
func numbersOf[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32](a arrow.Array) func(i int) float64 {
	if a, ok := a.(interface{ Value(i int) T }); ok {
		return func(i int) float64 { return float64(a.Value(i)) }
	}
	return nil
}

// writeArrow writes the columns in batches of arrowRows rows.
func writeArrow(out io.Writer, columns []*column) error {
	var fields []arrow.Field
	for _, c := range columns {
		kind := arrow.DataType(arrow.PrimitiveTypes.Float64)
		if c.whole {
			kind = arrow.PrimitiveTypes.Int64
		}
		if c.list {
			kind = arrow.FixedSizeListOf(int32(c.width), kind)
		}
		fields = append(fields, arrow.Field{Name: c.name, Type: kind})
	}
	schema := arrow.NewSchema(fields, nil)
	w, err := ipc.NewFileWriter(out, ipc.WithSchema(schema))
	if err != nil {
		return err
	}
	const arrowRows = 8192
	for lo := 0; lo < columns[0].rows; lo += arrowRows {
		hi := min(lo+arrowRows, columns[0].rows)
		batch := Each(UpTo(len(columns)), func(k int) arrow.Array { return columns[k].arrow(fields[k].Type, lo, hi) })
		if err := w.Write(arrays.NewRecordBatch(schema, batch, int64(hi-lo))); err != nil {
			return err
		}
	}
	return w.Close()
}

// arrow is the rows lo … hi−1 as an array of the type.
func (c *column) arrow(kind arrow.DataType, lo, hi int) arrow.Array {
	each := max(c.width, 1)
	values := c.values[lo*each : hi*each]
	bytes, number := arrow.Float64Traits.CastToBytes(values), arrow.DataType(arrow.PrimitiveTypes.Float64)
	if c.whole {
		whole := Each(values, func(v float64) int64 { return int64(v) })
		bytes, number = arrow.Int64Traits.CastToBytes(whole), arrow.PrimitiveTypes.Int64
	}
	made := arrays.NewData(number, len(values), []*memory.Buffer{nil, memory.NewBufferBytes(bytes)}, nil, 0, 0)
	if c.list {
		made = arrays.NewData(kind, hi-lo, []*memory.Buffer{nil}, []arrow.ArrayData{made}, 0, 0)
	}
	return arrays.MakeFromData(made)
}
