package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Encodings of values.
const (
	plain           = 0
	plainDictionary = 2
	runs            = 3
	deltas          = 5
	deltaLengths    = 6
	deltaStrings    = 7
	dictionary      = 8
	streams         = 9
)

// values decodes n values of a page. No more memory is taken than 64 bytes for every byte of it,
// but for repetitions, whose number the levels and the footer must state as well.
func (p *pager) values(v *Values, encoding int64, b []byte, n int) error {
	c := p.column
	text := c.Kind == Text
	switch {
	case n == 0:
		return nil
	case encoding == plain:
		return c.plain(v, b, n)
	case encoding == dictionary || encoding == plainDictionary:
		return p.looked(v, b, n)
	case encoding == runs && c.Kind == Truth:
		if len(b) < 4 {
			return errEarly
		}
		truth := make([]uint32, n)
		err := hybrid(truth, b[4:], 1)
		v.fill(n, func(i int) float64 { return float64(truth[i]) })
		return err
	case encoding == deltas && c.whole():
		whole, _, err := readDeltas(b, n)
		v.fill(len(whole), func(i int) float64 { return c.number(uint64(whole[i])) })
		return err
	case encoding == streams && (c.Kind == Float || c.whole()):
		return c.streams(v, b, n)
	case encoding == deltaLengths && text:
		return prefixed(v, make([]int64, n), b, n)
	case encoding == deltaStrings && text:
		prefixes, rest, err := readDeltas(b, n)
		if err != nil {
			return err
		}
		return prefixed(v, prefixes, rest, n)
	}
	return fmt.Errorf("its values are in encoding %d, which its type does not have", encoding)
}

// fill makes v the numbers of 0 … n−1.
func (v *Values) fill(n int, number func(i int) float64) {
	v.Numbers = make([]float64, n)
	for i := range v.Numbers {
		v.Numbers[i] = number(i)
	}
}

// number is the number with the given bits.
func (c *Column) number(b uint64) float64 {
	switch {
	case c.half:
		return Half(uint16(b))
	case c.physical == typeFloat:
		return float64(math.Float32frombits(uint32(b)))
	case c.physical == typeDouble:
		return math.Float64frombits(b)
	case c.unsigned && c.width == 4:
		return float64(uint32(b))
	case c.unsigned:
		return float64(b)
	case c.width == 4:
		return float64(int32(b))
	}
	return float64(int64(b))
}

// Half is the value of a half-precision number (IEEE 754 binary16: sign, 5 bits of exponent with
// bias 15, 10 bits of fraction).
func Half(b uint16) float64 {
	exponent, fraction := int(b>>10&31), float64(b&1023)
	v := math.Ldexp(fraction+1024, exponent-25)
	switch {
	case exponent == 0:
		v = math.Ldexp(fraction, -24)
	case exponent == 31 && fraction == 0:
		v = math.Inf(1)
	case exponent == 31:
		v = math.NaN()
	}
	if b>>15 == 1 {
		return -v
	}
	return v
}

// little is the number of up to eight bytes.
func little(b []byte) uint64 {
	switch len(b) {
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	case 8:
		return binary.LittleEndian.Uint64(b)
	}
	var v uint64
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	return v
}

func (c *Column) plain(v *Values, b []byte, n int) error {
	switch {
	case c.Kind == Text:
		for range n {
			if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4) {
				return errEarly
			}
			length := binary.LittleEndian.Uint32(b)
			v.Text = append(v.Text, string(b[4:4+length]))
			b = b[4+length:]
		}
		return nil
	case c.Kind == Truth:
		if len(b) < (n+7)/8 {
			return errEarly
		}
		v.fill(n, func(i int) float64 { return float64(b[i/8] >> (i % 8) & 1) })
		return nil
	}
	if len(b)/c.width < n {
		return errEarly
	}
	v.fill(n, func(i int) float64 { return c.bytes(b[i*c.width : (i+1)*c.width]) })
	return nil
}

// streams is encoding BYTE_STREAM_SPLIT: the first bytes of all values, then the second.
func (c *Column) streams(v *Values, b []byte, n int) error {
	if len(b)/c.width < n {
		return errEarly
	}
	n = len(b) / c.width
	value := make([]byte, c.width)
	v.fill(n, func(i int) float64 {
		for k := range value {
			value[k] = b[k*n+i]
		}
		return c.bytes(value)
	})
	return nil
}

// looked are values by their numbers in the dictionary.
func (p *pager) looked(v *Values, b []byte, n int) error {
	if p.dictionary == nil || len(b) == 0 {
		return errors.New("it has no dictionary before its values")
	}
	index := make([]uint32, n)
	if err := hybrid(index, b[1:], int(b[0])); err != nil {
		return err
	}
	for _, i := range index {
		if int64(i) >= int64(p.dictionary.len()) {
			return fmt.Errorf("it asks for value %d of a dictionary of %d", i, p.dictionary.len())
		}
		if p.column.Kind == Text {
			v.Text = append(v.Text, p.dictionary.Text[i])
		} else {
			v.Numbers = append(v.Numbers, p.dictionary.Numbers[i])
		}
	}
	return nil
}

// hybrid fills dst with numbers of so many bits, in runs of one number or packed eight by eight.
func hybrid(dst []uint32, b []byte, width int) error {
	if width > 32 {
		return fmt.Errorf("its numbers claim %d bits", width)
	}
	bytes := (width + 7) / 8
	for len(dst) > 0 {
		head, n := binary.Uvarint(b)
		if n <= 0 {
			return errEarly
		}
		b = b[n:]
		if head&1 == 0 {
			if head == 0 || len(b) < bytes {
				return errEarly
			}
			run := min(head>>1, uint64(len(dst)))
			value := uint32(little(b[:bytes]))
			for i := range dst[:run] {
				dst[i] = value
			}
			dst, b = dst[run:], b[bytes:]
			continue
		}
		groups := min(head>>1, uint64(len(dst)+7)/8) // of eight
		if groups == 0 || uint64(len(b)) < groups*uint64(width) {
			return errEarly
		}
		count := min(int(groups)*8, len(dst))
		unpack(b, width, count, func(i int, v uint64) { dst[i] = uint32(v) })
		dst, b = dst[count:], b[groups*uint64(width):]
	}
	return nil
}

// unpack calls do with n numbers of so many bits, at most 64, of b.
func unpack(b []byte, width, n int, do func(i int, v uint64)) {
	at := 0 // bits
	for i := range n {
		var v uint64
		for got := 0; got < width; {
			take := min(8-at%8, width-got)
			v |= uint64(b[at/8]>>(at%8)) & (1<<take - 1) << got
			got, at = got+take, at+take
		}
		do(i, v)
	}
}

// readDeltas reads n whole numbers in encoding DELTA_BINARY_PACKED, and gives what follows them.
func readDeltas(b []byte, n int) (whole []int64, rest []byte, err error) {
	d := decoder{b: b}
	block, minis, total, value := d.unsigned(), d.unsigned(), d.unsigned(), d.int()
	if d.err != nil || total != uint64(n) {
		return nil, nil, fmt.Errorf("it has %d differences for %d values", total, n)
	}
	const mostBlock = 1 << 20
	if minis == 0 || block > mostBlock || block%minis != 0 || block/minis%8 != 0 || block == 0 {
		return nil, nil, fmt.Errorf("its differences come in blocks of %d in %d parts", block, minis)
	}
	whole = append(make([]int64, 0, min(n, 64*len(b)+1)), value)
	each := int(block / minis)
	for len(whole) < n && d.err == nil {
		least := d.int()
		if uint64(len(d.b)) < minis {
			return nil, nil, errEarly
		}
		widths := d.b[:minis]
		d.b = d.b[minis:]
		for _, width := range widths {
			if len(whole) == n {
				break
			}
			if width > 64 || len(d.b) < each/8*int(width) {
				return nil, nil, errEarly
			}
			unpack(d.b, int(width), min(each, n-len(whole)), func(_ int, v uint64) {
				value += least + int64(v)
				whole = append(whole, value)
			})
			d.b = d.b[each/8*int(width):]
		}
	}
	return whole, d.b, d.err
}

// prefixed are texts that begin with so many bytes of the one before, and the rest of which
// follows the lengths of these rests.
func prefixed(v *Values, prefixes []int64, b []byte, n int) error {
	lengths, b, err := readDeltas(b, n)
	if err != nil {
		return err
	}
	last, all := "", 0
	for i, length := range lengths {
		if length < 0 || length > int64(len(b)) || prefixes[i] < 0 || prefixes[i] > int64(len(last)) {
			return errEarly
		}
		last = last[:prefixes[i]] + string(b[:length])
		const longest = 1 << 26 // texts of a page together, which is more than classes need
		if all += len(last); all > longest {
			return errors.New("its text is too long")
		}
		v.Text, b = append(v.Text, last), b[length:]
	}
	return nil
}
