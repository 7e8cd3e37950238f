package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// File is a Parquet file whose footer was read.
type File struct {
	Columns []Column
	Rows    int
	Schema  string // that of Arrow which its writers keep, in base64; "" without

	r      io.ReaderAt
	size   int64
	most   int64 // bytes that a page may have
	groups []rowGroup
}

// Kind is what a column holds.
type Kind int

// Kinds of columns.
const (
	Other   Kind = iota // what this package does not read: structs, maps, times of day
	Float               // numbers of 16, 32 or 64 bits
	Integer             // whole numbers, of up to 64 bits with sign or without
	Truth               // truth values, as 0 and 1
	Text
	Date    // days since 1970; see [Column.Text]
	Moment  // a time of a day
	Decimal // numbers
)

// Column is a column of the table.
type Column struct {
	Name string
	Kind Kind
	List bool // of lists of its kind, one to a row

	chunk                   int // of a row group
	physical, width         int // physical type, and bytes of a value of fixed length
	unsigned, half          bool
	scale                   int // decimals of a decimal
	unit                    int // of a moment, in a second
	maxDefined, maxRepeated int
	repeated                int // definition level from which a list has an element
}

type rowGroup struct {
	rows   int64
	chunks []chunk
}

// chunk is where a column's pages are in a row group.
type chunk struct {
	codec                int64
	values, bytes        int64
	data, dictionary     int64 // offsets; no dictionary: 0
	elsewhere, encrypted bool
}

// Physical types.
const (
	typeBoolean = iota
	typeInt32
	typeInt64
	typeInt96
	typeFloat
	typeDouble
	typeByteArray
	typeFixedLenByteArray
)

// Open reads the footer of the file of size bytes in r. No page of it may have more than most
// bytes when it is decompressed.
func Open(r io.ReaderAt, size, most int64) (*File, error) {
	var tail [8]byte
	if size < 12 {
		return nil, errEarly
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil {
		return nil, err
	}
	switch string(tail[4:]) {
	case "PAR1":
	case "PARE":
		return nil, errors.New("it is encrypted; write it without encryption")
	default:
		return nil, errors.New("it ends without PAR1; copy it again")
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if length > size-12 {
		return nil, fmt.Errorf("its footer claims %d bytes", length)
	}
	footer := make([]byte, length)
	if _, err := r.ReadAt(footer, size-8-length); err != nil {
		return nil, err
	}
	f := &File{r: r, size: size, most: most}
	if err := f.parse(footer); err != nil {
		return nil, fmt.Errorf("its footer is wrong: %w", err)
	}
	return f, nil
}

func (f *File) parse(footer []byte) error {
	d := decoder{b: footer}
	var schema []element
	var rows int64
	d.read(places{
		2: func() { d.list(func(byte) { schema = append(schema, readElement(&d)) }) },
		3: &rows,
		4: func() { d.list(func(byte) { f.groups = append(f.groups, readRowGroup(&d)) }) },
		5: func() { d.list(func(byte) { f.keep(&d) }) },
	})
	if d.err != nil {
		return d.err
	}
	leaves, err := f.columns(schema)
	if err != nil {
		return err
	}
	var sum int64
	for _, g := range f.groups {
		if len(g.chunks) != leaves || g.rows < 0 {
			return fmt.Errorf("a row group has %d columns and the file %d", len(g.chunks), leaves)
		}
		sum += g.rows
	}
	if rows != sum || rows != int64(int(rows)) || rows < 0 {
		return fmt.Errorf("it claims %d rows and its row groups have %d", rows, sum)
	}
	f.Rows = int(rows)
	return nil
}

// keep reads a text that a writer added to the file, and keeps Arrow's schema.
func (f *File) keep(d *decoder) {
	var key, value string
	if d.read(places{1: &key, 2: &value}); key == "ARROW:schema" {
		f.Schema = value
	}
}

// element is a node of the schema.
type element struct {
	physical, width, repetition, children, converted, scale int64
	logical, unit                                           int // fields of unions, 0: none
	signed                                                  bool
	name                                                    string
}

func readElement(d *decoder) element {
	e := element{physical: -1, converted: -1}
	d.read(places{1: &e.physical, 2: &e.width, 3: &e.repetition, 4: &e.name, 5: &e.children, 6: &e.converted, 7: &e.scale, 10: func() {
		d.structure(func(id int, _ byte) {
			if e.logical = id; id != timestamp {
				d.read(places{2: &e.signed})
				return
			}
			d.read(places{2: func() { d.structure(func(unit int, kind byte) { e.unit = unit; d.skip(kind) }) }})
		})
	}})
	return e
}

func readRowGroup(d *decoder) rowGroup {
	var g rowGroup
	d.read(places{1: func() { d.list(func(byte) { g.chunks = append(g.chunks, readChunk(d)) }) }, 3: &g.rows})
	return g
}

func readChunk(d *decoder) chunk {
	var c chunk
	d.read(places{
		1: func() { c.elsewhere = len(d.binary()) > 0 },
		3: places{4: &c.codec, 5: &c.values, 7: &c.bytes, 9: &c.data, 11: &c.dictionary},
		8: func() {
			c.encrypted = true
			d.skip(thriftStruct)
		},
	})
	return c
}

// columns makes the columns of the schema, whose nodes come in depth-first order, and counts
// the leaves.
func (f *File) columns(schema []element) (leaves int, err error) {
	if len(schema) == 0 {
		return 0, errors.New("it has no schema")
	}
	next := 1
	for next < len(schema) {
		c := Column{Name: schema[next].name, chunk: leaves}
		if next, err = f.descend(schema, next, &c, &leaves, 0); err != nil {
			return 0, err
		}
		if leaves != c.chunk+1 || c.maxRepeated > 1 {
			c.Kind = Other
		}
		f.Columns = append(f.Columns, c)
	}
	return leaves, nil
}

// descend goes through the node at, and what is below it, to c, and returns the next node.
func (f *File) descend(schema []element, at int, c *Column, leaves *int, depth int) (next int, err error) {
	if at >= len(schema) || depth > 32 {
		return 0, errors.New("its schema is wrong")
	}
	e := schema[at]
	switch e.repetition {
	case 1: // optional
		c.maxDefined++
	case 2:
		c.maxDefined++
		c.maxRepeated++
		c.repeated = c.maxDefined
	}
	if e.children == 0 {
		*leaves++
		c.describe(e)
		c.List = c.maxRepeated == 1
		if !c.List && depth > 0 || c.maxDefined > 255 {
			c.Kind = Other
		}
		return at + 1, nil
	}
	next = at + 1
	for range min(max(e.children, 0), int64(len(schema))) {
		if next, err = f.descend(schema, next, c, leaves, depth+1); err != nil {
			return 0, err
		}
	}
	return next, nil
}

// timestamp is the logical type of moments, whose units are the powers of a thousand in a second.
const timestamp = 8

var thousands = []int{1, 1e3, 1e6, 1e9}

// describe sets what a leaf holds.
func (c *Column) describe(e element) {
	const (
		text, exact, day, integer, half = 1, 5, 6, 10, 15 // logical types
		utf8, enum, firstInt, lastInt   = 0, 4, 11, 18
		oldExact, oldDay, oldMillis     = 5, 6, 9
		lastUnsigned                    = 14
	)
	c.physical, c.width, c.scale, c.Kind = int(e.physical), int(e.width), int(e.scale), Other
	plain := e.logical == 0 && e.converted < 0
	whole := e.logical == integer || e.logical == 0 && e.converted >= firstInt && e.converted <= lastInt
	c.unsigned = e.logical == integer && !e.signed || e.logical == 0 && e.converted >= firstInt && e.converted <= lastUnsigned
	switch c.physical {
	case typeBoolean:
		c.Kind = Truth
	case typeInt32, typeInt64:
		c.width = 4 * c.physical
		switch {
		case plain || whole:
			c.Kind = Integer
		case e.logical == day || e.logical == 0 && e.converted == oldDay:
			c.Kind = Date
		case e.logical == timestamp && e.unit >= 1 && e.unit <= 3:
			c.Kind, c.unit = Moment, thousands[e.unit]
		case e.logical == 0 && (e.converted == oldMillis || e.converted == oldMillis+1):
			c.Kind, c.unit = Moment, thousands[e.converted-oldMillis+1]
		case e.logical == exact || e.logical == 0 && e.converted == oldExact:
			c.Kind = Decimal
		}
	case typeInt96: // of no other use
		c.width, c.Kind, c.unit = 12, Moment, thousands[3]
	case typeFloat, typeDouble:
		c.width, c.Kind = 4*(c.physical-typeFloat+1), Float
	case typeByteArray:
		if plain || e.logical == text || e.logical == enum || e.logical == 0 && (e.converted == utf8 || e.converted == enum) {
			c.Kind = Text
		}
	case typeFixedLenByteArray:
		if c.width > 0 && (e.logical == exact || e.logical == 0 && e.converted == oldExact) {
			c.Kind = Decimal
		}
		if c.half = c.width == 2 && (plain || e.logical == half); c.half {
			c.Kind = Float
		}
	}
}
