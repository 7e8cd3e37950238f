package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"calibra/data/parquet"
)

// The npy format, as NEP 1 and numpy.lib.format define it. Writing is npyio's;
// reading is ours, because npyio v0.9.0 has no half precision, panics on a
// header without a newline, and allocates whatever a header claims.

// header describes the array that follows it.
type header struct {
	kind    byte // 'f', 'i' or 'u', of truth values too; 'U' or 'S' of text; 0 of anything else
	size    int  // bytes of one element
	order   binary.ByteOrder
	fortran bool
	shape   []int
	dtype   string // as the file has it
	length  int64  // bytes of the header itself
}

// maxHeader is beyond any header of a plain array: numpy writes 128 bytes.
const maxHeader = 1 << 16

var (
	descrField   = regexp.MustCompile(`'descr'\s*:\s*'([^']*)'`)
	fortranField = regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`)
	shapeField   = regexp.MustCompile(`'shape'\s*:\s*\(([0-9,\sL]*)\)`)
	plainDescr   = regexp.MustCompile(`^([<>|=]?)([fiu])([1248])$`)
	textDescr    = regexp.MustCompile(`^([<>|=]?)([US])([0-9]{1,4})$`)
)

// readHeader reads the magic string, the version and the dictionary.
func readHeader(r io.Reader) (*header, error) {
	var start [8]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return nil, truncated(err)
	}
	if string(start[:6]) != "\x93NUMPY" {
		return nil, errors.New("is not an npy array; write the file with numpy.savez")
	}
	var length, prefix int
	switch start[6] {
	case 1:
		var b [2]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return nil, truncated(err)
		}
		length, prefix = int(binary.LittleEndian.Uint16(b[:])), 10
	case 2, 3:
		var b [4]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return nil, truncated(err)
		}
		length, prefix = int(binary.LittleEndian.Uint32(b[:])), 12
	default:
		return nil, fmt.Errorf("has npy version %d; versions 1 to 3 are known", start[6])
	}
	if length > maxHeader {
		return nil, fmt.Errorf("has an npy header of %d bytes, which no plain array needs", length)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, truncated(err)
	}
	h := &header{length: int64(prefix + length)}
	return h, h.parse(string(text))
}

// parse fills h from a header's dictionary.
func (h *header) parse(text string) error {
	descr := descrField.FindStringSubmatch(text)
	fortran := fortranField.FindStringSubmatch(text)
	shape := shapeField.FindStringSubmatch(text)
	if descr == nil || fortran == nil || shape == nil {
		return fmt.Errorf("has no readable npy header (%.80q); save a plain array of numbers", text)
	}
	d := plainDescr.FindStringSubmatch(descr[1])
	if d == nil {
		d = textDescr.FindStringSubmatch(descr[1])
	}
	h.dtype = descr[1]
	h.order = binary.LittleEndian
	switch {
	case h.dtype == "|b1": // 0 and 1
		h.kind, h.size = 'u', 1
	case d != nil && d[2]+d[3] != "f1":
		h.kind = d[2][0]
		h.size, _ = strconv.Atoi(d[3]) // digits
		if h.kind == 'U' {
			h.size *= 4 // UTF-32
		}
		if d[1] == ">" {
			h.order = binary.BigEndian
		}
	}
	h.fortran = fortran[1] == "True"
	for _, field := range strings.Split(shape[1], ",") {
		field = strings.TrimSuffix(strings.TrimSpace(field), "L") // 3L: Python 2
		if field == "" {
			continue
		}
		n, err := strconv.Atoi(field)
		if err != nil {
			return fmt.Errorf("has the shape (%.40s); it must be whole numbers", shape[1])
		}
		h.shape = append(h.shape, n)
	}
	return nil
}

// text says that the elements are no numbers.
func (h *header) text() bool { return h.kind == 'U' || h.kind == 'S' }

// bytes is the size of the elements, or an error where it overflows.
func (h *header) bytes() (int64, error) {
	total := int64(h.size)
	for _, n := range h.shape {
		if n != 0 && total > math.MaxInt64/16/int64(n) {
			return 0, fmt.Errorf("has the shape %s, which is too large for memory", shapeString(h.shape))
		}
		total *= int64(n)
	}
	return total, nil
}

// decode reads len(dst) elements as T, which float32 may be where it holds them.
func decode[T float32 | float64](h *header, r io.Reader, dst []T) error {
	return h.chunks(r, len(dst), func(at int, b []byte) {
		dst := dst[at : at+len(b)/h.size]
		switch {
		case h.kind == 'f' && h.size == 2:
			table := halves()
			for i := range dst {
				dst[i] = T(table[h.order.Uint16(b[2*i:])])
			}
		case h.kind == 'f' && h.size == 4:
			for i := range dst {
				dst[i] = T(math.Float32frombits(h.order.Uint32(b[4*i:])))
			}
		case h.kind == 'f':
			for i := range dst {
				dst[i] = T(math.Float64frombits(h.order.Uint64(b[8*i:])))
			}
		case h.kind == 'u' && h.size == 8:
			for i := range dst {
				dst[i] = T(h.order.Uint64(b[8*i:]))
			}
		default:
			for i := range dst {
				dst[i] = T(h.integer(b[i*h.size:]))
			}
		}
	})
}

// ints reads len(dst) integer elements. A u8 beyond the range of int becomes
// math.MaxInt64, which no caller takes for a label.
func (h *header) ints(r io.Reader, dst []int) error {
	return h.chunks(r, len(dst), func(at int, b []byte) {
		for i := range len(b) / h.size {
			dst[at+i] = int(h.integer(b[i*h.size:]))
		}
	})
}

// integer decodes the integer at the head of b.
func (h *header) integer(b []byte) int64 {
	if h.kind == 'i' {
		switch h.size {
		case 1:
			return int64(int8(b[0]))
		case 2:
			return int64(int16(h.order.Uint16(b)))
		case 4:
			return int64(int32(h.order.Uint32(b)))
		default:
			return int64(h.order.Uint64(b))
		}
	}
	switch h.size {
	case 1:
		return int64(b[0])
	case 2:
		return int64(h.order.Uint16(b))
	case 4:
		return int64(h.order.Uint32(b))
	default:
		return int64(min(h.order.Uint64(b), math.MaxInt64))
	}
}

// chunks reads n elements in pieces and hands each piece, with the index of its
// first element, to decode.
func (h *header) chunks(r io.Reader, n int, decode func(at int, b []byte)) error {
	buf := make([]byte, min(n, max(1<<16/h.size, 1))*h.size) // whole elements
	for at := 0; at < n; {
		b := buf[:min((n-at)*h.size, len(buf))]
		if _, err := io.ReadFull(r, b); err != nil {
			return truncated(err)
		}
		decode(at, b)
		at += len(b) / h.size
	}
	return nil
}

// Half is the value of a half-precision number.
func Half(bits uint16) float32 { return halves()[bits] }

// halves is the value of each of the 65,536 half-precision numbers.
var halves = sync.OnceValue(func() *[1 << 16]float32 {
	var table [1 << 16]float32
	for bits := range table {
		table[bits] = float32(parquet.Half(uint16(bits)))
	}
	return &table
})

// truncated says in plain words that the bytes end too early.
func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("is truncated; copy or write the file again")
	}
	return err
}

// shapeString writes a shape as numpy does: (3, 4), (5,), ().
func shapeString(shape []int) string {
	var s []string
	for _, n := range shape {
		s = append(s, strconv.Itoa(n))
	}
	if len(s) == 1 {
		return "(" + s[0] + ",)"
	}
	return "(" + strings.Join(s, ", ") + ")"
}
