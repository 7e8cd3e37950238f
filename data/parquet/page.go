package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
)

// Page is some values of a column: of lists their elements, which may begin in the page before.
// Row i of levels is of value i, or of a row without one.
type Page struct {
	Values
	Dictionary []string // whose texts the values are; nil where they stand in the page itself
	levels     int      // their number, with those of rows and elements without a value
	defined    []uint32 // nil: all are there
	rows       []uint32 // repetition levels, nil: each is a row
	column     *Column
}

// Values are numbers or text.
type Values struct {
	Numbers []float64
	Text    []string
}

func (v *Values) len() int { return len(v.Numbers) + len(v.Text) }

// State is the meaning of a level.
type State int

// States of a level.
const (
	Present State = iota // the next value
	Null                 // a row, or an element of a list, without a value
	Empty                // a row whose list has no elements
	Hole                 // an element of a list without a value
)

// Each calls do for every level in order, with whether it begins a row, and the number of its
// value where it has one. It ends where do returns false.
func (p *Page) Each(do func(begins bool, s State, value int) bool) {
	value := 0
	for i := range p.levels {
		begins := p.rows == nil || p.rows[i] == 0
		s := Present
		if p.defined != nil && int(p.defined[i]) < p.column.maxDefined {
			switch d := int(p.defined[i]); {
			case !p.column.List || d < p.column.repeated-1:
				s = Null
			case d == p.column.repeated-1:
				s = Empty
			default:
				s = Hole
			}
		}
		if !do(begins, s, value) {
			return
		}
		if s == Present {
			value++
		}
	}
}

// pageHeader is what stands before a page.
type pageHeader struct {
	kind, full, packed            int64
	values, encoding              int64
	definedEncoding, rowsEncoding int64
	definedBytes, rowsBytes       int64 // of version 2
	compressed                    bool  // of version 2
	checksum                      int64
	hasChecksum                   bool
}

// Kinds of pages.
const (
	dataPage       = 0
	indexPage      = 1
	dictionaryPage = 2
	dataPage2      = 3
)

func readPageHeader(d *decoder) pageHeader {
	h := pageHeader{compressed: true}
	d.read(places{1: &h.kind, 2: &h.full, 3: &h.packed, 4: func() { h.checksum, h.hasChecksum = d.int(), true },
		5: places{1: &h.values, 2: &h.encoding, 3: &h.definedEncoding, 4: &h.rowsEncoding},
		7: places{1: &h.values, 2: &h.encoding},
		8: places{1: &h.values, 4: &h.encoding, 5: &h.definedBytes, 6: &h.rowsBytes, 7: &h.compressed},
	})
	return h
}

// Read calls do with the pages of a column of a kind other than Other, in order, until it returns
// an error. The page is used again.
func (f *File) Read(c *Column, do func(p *Page) error) error {
	for _, g := range f.groups {
		if err := f.readChunk(c, g, do); err != nil {
			return err
		}
	}
	return nil
}

// longestHeader is more than any page header takes: it may hold two values as statistics.
const longestHeader = 1 << 20

func (f *File) readChunk(c *Column, g rowGroup, do func(p *Page) error) error {
	chunk, err := f.chunk(c, g)
	if err != nil {
		return err
	}
	at := g.chunks[c.chunk]
	p := pager{column: c, most: f.most, unpack: codecs[at.codec], left: at.values}
	for p.left > 0 {
		header := decoder{b: chunk[:min(len(chunk), longestHeader)]}
		h := readPageHeader(&header)
		if header.err != nil {
			return header.err
		}
		chunk = chunk[min(len(chunk), longestHeader)-len(header.b):]
		if h.packed < 0 || h.packed > int64(len(chunk)) || h.full < 0 || h.full > f.most {
			return fmt.Errorf("a page claims %d bytes, and %d decompressed", h.packed, h.full)
		}
		body := chunk[:h.packed]
		chunk = chunk[h.packed:]
		if h.hasChecksum && crc32.ChecksumIEEE(body) != uint32(h.checksum) {
			return errors.New("a page's checksum is wrong")
		}
		page, err := p.read(h, body)
		if err != nil {
			return err
		}
		if page != nil {
			if err := do(page); err != nil {
				return err
			}
		}
	}
	return nil
}

// chunk reads the pages of a column in a row group.
func (f *File) chunk(c *Column, g rowGroup) ([]byte, error) {
	at := g.chunks[c.chunk]
	switch {
	case at.encrypted:
		return nil, errors.New("it is encrypted; write it without encryption")
	case at.elsewhere:
		return nil, errors.New("its values are in another file")
	case codecs[at.codec] == nil:
		return nil, codecError(at.codec)
	case !c.List && at.values != g.rows:
		return nil, fmt.Errorf("it has %d values in a row group of %d rows", at.values, g.rows)
	}
	start := at.data
	if at.dictionary > 0 && at.dictionary < start {
		start = at.dictionary
	}
	if start < 0 || at.bytes < 0 || start > f.size || at.bytes > f.size-start {
		return nil, errors.New("its pages lie outside the file")
	}
	chunk := make([]byte, at.bytes)
	if _, err := f.r.ReadAt(chunk, start); err != nil {
		return nil, errEarlyOf(err)
	}
	return chunk, nil
}

// pager decodes the pages of a chunk.
type pager struct {
	column     *Column
	most       int64
	unpack     func(dst, src []byte) error
	left       int64 // values that are still to come
	dictionary *Values
	full       []byte // a page decompressed
}

// read decodes a page; nil if it is none of data.
func (p *pager) read(h pageHeader, body []byte) (*Page, error) {
	switch h.kind {
	case indexPage:
		return nil, nil
	case dictionaryPage:
		if p.dictionary != nil {
			return nil, errors.New("it has two dictionaries")
		}
		full, err := p.decompress(int(h.full), body)
		if err != nil {
			return nil, err
		}
		if h.encoding != plainDictionary && h.encoding != plain || h.values < 0 || h.values > 8*int64(len(full)) {
			return nil, fmt.Errorf("its dictionary of %d bytes claims %d values in encoding %d", len(full), h.values, h.encoding)
		}
		p.dictionary = &Values{}
		return nil, p.column.plain(p.dictionary, full, int(h.values))
	case dataPage, dataPage2:
	default:
		return nil, fmt.Errorf("it has a page of kind %d", h.kind)
	}
	if h.values < 0 || h.values > min(p.left, p.most/8) {
		return nil, fmt.Errorf("a page claims %d values; at most %d fit", h.values, min(p.left, p.most/8))
	}
	p.left -= h.values
	page := &Page{column: p.column, levels: int(h.values)}
	split := p.first
	if h.kind == dataPage2 {
		split = p.second
	}
	values, err := split(page, h, body)
	if err != nil {
		return nil, err
	}
	if p.dictionary != nil && (h.encoding == dictionary || h.encoding == plainDictionary) {
		page.Dictionary = p.dictionary.Text
	}
	n := page.levels
	for _, d := range page.defined {
		if int(d) < p.column.maxDefined {
			n--
		}
	}
	return page, p.values(&page.Values, h.encoding, values, n)
}

func (p *pager) decompress(full int, body []byte) ([]byte, error) {
	if cap(p.full) < full {
		p.full = make([]byte, full)
	}
	p.full = p.full[:full]
	return p.full, p.unpack(p.full, body)
}

// first reads the levels of a page of version 1, and gives what follows them.
func (p *pager) first(page *Page, h pageHeader, body []byte) (rest []byte, err error) {
	if rest, err = p.decompress(int(h.full), body); err != nil {
		return nil, err
	}
	for _, l := range []struct {
		levels   *[]uint32
		most     int
		encoding int64
	}{{&page.rows, p.column.maxRepeated, h.rowsEncoding}, {&page.defined, p.column.maxDefined, h.definedEncoding}} {
		switch {
		case l.most == 0:
			continue
		case l.encoding != runs:
			return nil, errors.New("its levels are BIT_PACKED, which is not read; write it with another program")
		case len(rest) < 4 || int64(binary.LittleEndian.Uint32(rest)) > int64(len(rest)-4):
			return nil, errEarly
		}
		n := binary.LittleEndian.Uint32(rest)
		if *l.levels, err = readLevels(rest[4:4+n], l.most, page.levels); err != nil {
			return nil, err
		}
		rest = rest[4+n:]
	}
	return rest, nil
}

// second is first of version 2, whose levels are not compressed.
func (p *pager) second(page *Page, h pageHeader, body []byte) (rest []byte, err error) {
	levels := h.rowsBytes + h.definedBytes
	if h.rowsBytes < 0 || h.definedBytes < 0 || levels > int64(len(body)) || levels > h.full {
		return nil, errEarly
	}
	if page.rows, err = readLevels(body[:h.rowsBytes], p.column.maxRepeated, page.levels); err != nil {
		return nil, err
	}
	if page.defined, err = readLevels(body[h.rowsBytes:levels], p.column.maxDefined, page.levels); err != nil {
		return nil, err
	}
	if !h.compressed {
		return body[levels:], nil
	}
	if h.full == levels && int64(len(body)) == levels { // nothing was compressed
		return nil, nil
	}
	return p.decompress(int(h.full-levels), body[levels:])
}

// readLevels reads n levels of up to most; nil if that is 0.
func readLevels(b []byte, most, n int) ([]uint32, error) {
	if most == 0 {
		return nil, nil
	}
	levels := make([]uint32, n)
	if err := hybrid(levels, b, bits.Len(uint(most))); err != nil {
		return nil, err
	}
	for _, l := range levels {
		if int(l) > most {
			return nil, fmt.Errorf("it has a level of %d where %d is the most", l, most)
		}
	}
	return levels, nil
}
