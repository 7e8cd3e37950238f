package parquet

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/klauspost/compress/snappy"
)

// Output is a column to write, without nulls.
type Output struct {
	Name    string
	Integer bool      // of 64 bits; else double precision
	Width   int       // of the list in each row; 0: a number
	Values  []float64 // rows×max(Width, 1)
}

// pageValues are about how many values a page has.
const pageValues = 1 << 16

// Write writes a table of the columns in one row group, compressed with Snappy.
func Write(out io.Writer, rows int, columns []Output) error {
	w := &counter{w: out}
	w.write([]byte("PAR1"))
	chunks := make([]written, len(columns))
	for i, c := range columns {
		chunks[i].at = w.n
		each := max(c.Width, 1)
		step := max(pageValues/each, 1)
		for lo := 0; lo < rows; lo += step {
			hi := min(lo+step, rows)
			head, body, full := c.page(hi-lo, c.Values[lo*each:hi*each])
			w.write(head)
			w.write(body)
			chunks[i].full += len(head) + full
		}
		chunks[i].packed = w.n - chunks[i].at
	}
	footer := footer(rows, columns, chunks)
	w.write(footer)
	w.write(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))))
	w.write([]byte("PAR1"))
	return w.err
}

// counter counts the bytes that were written, and keeps the first error.
type counter struct {
	w   io.Writer
	n   int
	err error
}

func (c *counter) write(b []byte) {
	if c.err == nil {
		_, c.err = c.w.Write(b)
		c.n += len(b)
	}
}

// written is where a column's pages are, and how long they are.
type written struct{ at, packed, full int }

// page is a page of version 1: header and compressed body.
func (c Output) page(rows int, values []float64) (head, body []byte, full int) {
	var b []byte
	if c.Width > 0 {
		var levels []byte // 0 begins a row
		for range rows {
			levels = run(levels, 1, 0)
			if c.Width > 1 {
				levels = run(levels, c.Width-1, 1)
			}
		}
		b = appendLevels(b, levels)
		b = appendLevels(b, run(nil, len(values), 1)) // every element is there
	}
	for _, v := range values {
		bits := math.Float64bits(v)
		if c.Integer {
			bits = uint64(int64(v))
		}
		b = binary.LittleEndian.AppendUint64(b, bits)
	}
	body = snappy.Encode(nil, b)
	head = appendValue(nil, fields{{1, int32(dataPage)}, {2, int32(len(b))}, {3, int32(len(body))},
		{5, fields{{1, int32(len(values))}, {2, int32(plain)}, {3, int32(runs)}, {4, int32(runs)}}}})
	return head, body, len(b)
}

// run appends n equal levels of one bit.
func run(b []byte, n int, level byte) []byte {
	return append(binary.AppendUvarint(b, uint64(n)<<1), level)
}

func appendLevels(b, levels []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(levels))), levels...)
}

func (c Output) physical() int32 {
	if c.Integer {
		return typeInt64
	}
	return typeDouble
}

func footer(rows int, columns []Output, chunks []written) []byte {
	schema, places, bytes := list{fields{{4, "calibra"}, {5, int32(len(columns))}}}, list{}, 0
	for i, c := range columns {
		schema = append(schema, c.schema()...)
		places = append(places, c.chunk(rows, chunks[i]))
		bytes += chunks[i].full
	}
	group := fields{{1, places}, {2, int64(bytes)}, {3, int64(rows)}}
	const version = int32(2)
	return appendValue(nil, fields{{1, version}, {2, schema}, {3, int64(rows)}, {4, list{group}}, {6, "calibra"}})
}

// schema is the nodes of a column.
func (c Output) schema() list {
	const required, repeated, isList, logicalList = int32(0), int32(2), int32(3), 3
	if c.Width == 0 {
		return list{fields{{1, c.physical()}, {3, required}, {4, c.Name}}}
	}
	return list{
		fields{{3, required}, {4, c.Name}, {5, int32(1)}, {6, isList}, {10, fields{{logicalList, fields{}}}}},
		fields{{3, repeated}, {4, "list"}, {5, int32(1)}},
		fields{{1, c.physical()}, {3, required}, {4, "element"}},
	}
}

// chunk is the metadata of a column's pages.
func (c Output) chunk(rows int, w written) fields {
	const snappyCodec = int32(1)
	path := list{c.Name} // below the schema's root
	if c.Width > 0 {
		path = append(path, "list", "element")
	}
	return fields{
		{2, int64(0)}, // where the metadata would stand a second time
		{3, fields{{1, c.physical()}, {2, list{int32(plain), int32(runs)}}, {3, path}, {4, snappyCodec}, {5, int64(rows * max(c.Width, 1))},
			{6, int64(w.full)}, {7, int64(w.packed)}, {9, int64(w.at)}}},
	}
}
