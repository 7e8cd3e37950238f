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

	"gonum.org/v1/gonum/mat"
)

// The npy format, as NEP 1 and numpy.lib.format define it
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).

// header describes the array that follows it.
type header struct {
	kind    byte // 'f', 'i' or 'u', of truth values too; 'U' or 'S' of text; 0 of anything else
	size    int  // bytes of one element
	order   binary.ByteOrder
	fortran bool
	shape   []int
	dtype   string // as the file has it
	unit    string // of numpy's datetime64, which groups may be, else ""
	length  int64  // bytes of the header itself
}

// maxHeader is beyond any header of a plain array: numpy writes 128 bytes.
const maxHeader = 1 << 16

var (
	descrField   = regexp.MustCompile(`'descr'\s*:\s*'([^']*)'`)
	fortranField = regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`)
	shapeField   = regexp.MustCompile(`'shape'\s*:\s*\(([0-9,\sL]*)\)`)
	plainDescr   = regexp.MustCompile(`^[<>|=]?(?:([fiu])([1248])|([US])([0-9]{1,4}))$`)
	dateDescr    = regexp.MustCompile(`^[<>]M8\[(D|h|m|s|ms|us|ns)\]$`)
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
	size := 2 // of the length that follows
	switch start[6] {
	case 1:
	case 2, 3:
		size = 4
	default:
		return nil, fmt.Errorf("has npy version %d; versions 1 to 3 are known", start[6])
	}
	var b [4]byte
	if _, err := io.ReadFull(r, b[:size]); err != nil {
		return nil, truncated(err)
	}
	length := int(binary.LittleEndian.Uint32(b[:]))
	if length > maxHeader {
		return nil, fmt.Errorf("has an npy header of %d bytes, which no plain array needs", length)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, truncated(err)
	}
	h := &header{length: int64(len(start) + size + length)}
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
	h.dtype, h.order = descr[1], binary.LittleEndian
	if strings.HasPrefix(h.dtype, ">") {
		h.order = binary.BigEndian
	}
	plain, date := plainDescr.FindStringSubmatch(h.dtype), dateDescr.FindStringSubmatch(h.dtype)
	switch {
	case h.dtype == "|b1": // 0 and 1
		h.kind, h.size = 'u', 1
	case plain != nil && !strings.HasSuffix(h.dtype, "f1"):
		h.kind = (plain[1] + plain[3])[0]
		h.size, _ = strconv.Atoi(plain[2] + plain[4]) // digits
		if h.kind == 'U' {
			h.size *= 4 // UTF-32
		}
	case date != nil:
		h.size, h.unit = 8, date[1]
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

// text reports whether the elements are text rather than numbers.
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

// finite returns an error for the first value of rows of so many columns, of which row lo is
// the first, that is NaN, or infinite unless it is allowed.
func finite[T float32 | float64](values []T, cols, lo int, allowed func(v float64) bool) error {
	for i, v := range values {
		if v-v != 0 && !allowed(float64(v)) {
			return fmt.Errorf("holds %v at row %d, column %d; every value must be finite", v, lo+i/cols, i%cols)
		}
	}
	return nil
}

func onlyFinite(float64) bool { return false }

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
	var v uint64
	switch h.size {
	case 1:
		v = uint64(b[0])
	case 2:
		v = uint64(h.order.Uint16(b))
	case 4:
		v = uint64(h.order.Uint32(b))
	default:
		v = h.order.Uint64(b)
	}
	if h.kind == 'u' {
		return int64(min(v, math.MaxInt64))
	}
	above := 64 - 8*h.size // bits that the sign fills
	return int64(v<<above) >> above
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

// halves is the value of each of the 65,536 half-precision numbers.
var halves = sync.OnceValue(func() *[1 << 16]float32 {
	var table [1 << 16]float32
	for bits := range table {
		table[bits] = float32(parquet.Half(uint16(bits)))
	}
	return &table
})

// truncated is the error of bytes that end too early, in plain words.
func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("is truncated; copy or write the file again")
	}
	return err
}

// Written is an array of an npz file that is not in memory, of values in little endian, row by row.
type Written struct {
	Type  string // "<f4", "<f8", "<i8", or "<U7" of texts
	Shape []int
	Write func(io.Writer) error // of the values
}

// Streamed is an array of N×C (float64) whose rows are made while it is written: each calls write with
// the values of the next rows, row by row, until there are N.
func Streamed(rows, columns int, each func(write func(values []float64) error) error) Written {
	return Written{Type: "<f8", Shape: []int{rows, columns}, Write: func(w io.Writer) error {
		left := rows * columns
		err := each(func(values []float64) error {
			left -= len(values)
			return binary.Write(w, binary.LittleEndian, values)
		})
		if err == nil && left != 0 {
			err = fmt.Errorf("data: %d of %d values were not written", left, rows*columns)
		}
		return err
	}}
}

// written is the value of an [Array] as it is written.
func written(value any) (Written, error) {
	switch v := value.(type) {
	case Written:
		return v, nil
	case []string:
		return writtenText(v), nil
	case []float64:
		return writtenSlice("<f8", v), nil
	case []float32:
		return writtenSlice("<f4", v), nil
	case []int:
		return writtenSlice("<i8", Each(v, func(x int) int64 { return int64(x) })), nil
	case mat.Matrix:
		n, m := v.Dims()
		return Streamed(n, m, func(write func([]float64) error) error {
			buffer := make([]float64, m)
			for i := range n {
				if err := write(Row(v, i, buffer)); err != nil {
					return err
				}
			}
			return nil
		}), nil
	}
	return Written{}, fmt.Errorf("is a %T, which an npz file cannot hold", value)
}

func writtenSlice[T any](descr string, values []T) Written {
	return Written{Type: descr, Shape: []int{len(values)}, Write: func(w io.Writer) error {
		return binary.Write(w, binary.LittleEndian, values)
	}}
}

// writtenText is texts as numpy has them, of as many code points as the longest.
func writtenText(text []string) Written {
	longest := 1
	for _, s := range text {
		longest = max(longest, len([]rune(s)))
	}
	return Written{Type: fmt.Sprintf("<U%d", longest), Shape: []int{len(text)}, Write: func(w io.Writer) error {
		for _, s := range text {
			element := make([]rune, longest)
			copy(element, []rune(s))
			if err := binary.Write(w, binary.LittleEndian, element); err != nil {
				return err
			}
		}
		return nil
	}}
}

// write writes the header, and the values behind it.
func (v Written) write(w io.Writer) error {
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", v.Type, shapeString(v.Shape))
	dict += strings.Repeat(" ", 63-(10+len(dict))%64) + "\n"
	head := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(dict)))
	if _, err := w.Write(append(head, dict...)); err != nil {
		return err
	}
	return v.Write(w)
}

// shapeString writes a shape as numpy does: (3, 4), (5,), ().
func shapeString(shape []int) string {
	if len(shape) == 1 {
		return fmt.Sprintf("(%d,)", shape[0])
	}
	return "(" + strings.Join(Each(shape, strconv.Itoa), ", ") + ")"
}
