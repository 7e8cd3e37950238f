package graph

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"gorgonia.org/tensor"
)

// The safetensors format (huggingface.co/docs/safetensors): the length of a JSON
// header as a little-endian uint64, the header, and the tensors' bytes. The header
// maps each name to dtype, shape and byte range; __metadata__ maps strings to
// strings.

// maxHeader bounds the header that a reader accepts, as the reference reader does.
const maxHeader = 100 << 20

type tensorEntry struct {
	Dtype   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets []uint64 `json:"data_offsets"` // of its first byte and of the one after its last
}

// WriteSafetensors writes all weights, state included, and the metadata. The same
// input gives the same bytes.
func WriteSafetensors(out io.Writer, w *Weights, metadata map[string]string) error {
	if out == nil || w == nil {
		return errors.New("graph: safetensors need weights, and a writer")
	}
	header := map[string]any{"__metadata__": metadata}
	var at uint64
	for _, name := range w.names {
		t := w.tensors[name]
		dtype, size := "F32", 4
		if t.Dtype() == tensor.Float64 {
			dtype, size = "F64", 8
		}
		end := at + uint64(t.DataSize()*size)
		header[name] = tensorEntry{dtype, slices.Clone([]int(t.Shape())), []uint64{at, end}}
		at = end
	}
	text, err := json.Marshal(header) // keys in ascending order
	if err != nil {
		return fmt.Errorf("graph: write safetensors: %w", err)
	}
	text = append(text, bytes.Repeat([]byte(" "), -len(text)&7)...) // data starts on a multiple of 8
	if _, err := out.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)); err != nil {
		return fmt.Errorf("graph: write safetensors: %w", err)
	}
	for _, name := range w.names {
		t := w.tensors[name]
		var values any = t.Float32s()
		if t.Dtype() == tensor.Float64 {
			values = t.Float64s()
		}
		if err := binary.Write(out, binary.LittleEndian, values); err != nil {
			return fmt.Errorf("graph: write safetensors: %w", err)
		}
	}
	return nil
}

// ReadSafetensors reads the weights of a file in memory, in the order of their
// bytes, and its metadata. All tensors must be F32 or F64; they must cover
// the bytes without gap or overlap, and every value must be finite. Those that are F64 beside
// others of F32 are exact; nothing else distinguishes learned weights from state: all others are
// read as learned.
func ReadSafetensors(file []byte) (*Weights, map[string]string, error) {
	w, metadata, err := readSafetensors(file)
	if err != nil {
		return nil, nil, fmt.Errorf("not a usable safetensors file: %w", err)
	}
	return w, metadata, nil
}

func readSafetensors(file []byte) (*Weights, map[string]string, error) {
	entries, metadata, body, err := readHeader(file)
	if err != nil {
		return nil, nil, err
	}
	w := NewWeights(tensor.Float32)
	if len(entries) > 0 && !slices.ContainsFunc(entries, func(e namedEntry) bool { return e.Dtype != "F64" }) {
		w = NewWeights(tensor.Float64)
	}
	var at uint64
	for _, e := range entries {
		add, size := w.Add, uint64(4)
		switch e.Dtype {
		case "F32":
		case "F64":
			if size = 8; w.dtype == tensor.Float32 {
				add = w.AddExact
			}
		default:
			return nil, nil, fmt.Errorf("tensor %q is %s, neither F32 nor F64", e.name, e.Dtype)
		}
		count, ok := e.count(len(body))
		if !ok {
			return nil, nil, fmt.Errorf("tensor %q has the shape %v in a file of %d bytes", e.name, e.Shape, len(file))
		}
		if len(e.Shape) == 0 {
			return nil, nil, fmt.Errorf("tensor %q has no dimension", e.name)
		}
		end := at + count*size
		if e.Offsets[0] != at || e.Offsets[1] != end || end > uint64(len(body)) {
			return nil, nil, fmt.Errorf("tensor %q of shape %v lies at bytes %v, expected from %d on; %d bytes are there", e.name, e.Shape, e.Offsets, at, len(body))
		}
		values, err := e.values(body[at:end], count)
		if err != nil {
			return nil, nil, err
		}
		add(e.name, values, e.Shape...)
		at = end
	}
	if at != uint64(len(body)) {
		return nil, nil, fmt.Errorf("%d bytes follow the last tensor", uint64(len(body))-at)
	}
	return w, metadata, nil
}

// namedEntry is a tensor of the header with its name.
type namedEntry struct {
	name string
	tensorEntry
}

// readHeader returns the content of a file's header, its tensors in the order of their bytes,
// and the bytes behind it.
func readHeader(file []byte) (entries []namedEntry, metadata map[string]string, body []byte, err error) {
	if len(file) < 8 {
		return nil, nil, nil, fmt.Errorf("it has %d bytes and no header", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	if n > maxHeader || n > uint64(len(file)-8) {
		return nil, nil, nil, fmt.Errorf("its header of %d bytes is cut off", n)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(file[8:8+n], &fields); err != nil {
		return nil, nil, nil, fmt.Errorf("its header is no JSON object: %v", err)
	}
	metadata = map[string]string{}
	for name, raw := range fields {
		if name == "__metadata__" {
			if err := json.Unmarshal(raw, &metadata); err != nil {
				return nil, nil, nil, fmt.Errorf("its metadata are not strings: %v", err)
			}
			continue
		}
		e := namedEntry{name: name}
		err := json.Unmarshal(raw, &e.tensorEntry)
		if err == nil && len(e.Offsets) != 2 {
			err = fmt.Errorf("data_offsets has %d numbers, not 2", len(e.Offsets))
		}
		if err != nil {
			return nil, nil, nil, fmt.Errorf("tensor %q: %v", name, err)
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b namedEntry) int {
		return cmp.Or(slices.Compare(a.Offsets, b.Offsets), cmp.Compare(a.name, b.name))
	})
	return entries, metadata, file[8+n:], nil
}

// count is how many numbers the tensor has, false where so many bytes cannot hold them.
func (e namedEntry) count(bytes int) (uint64, bool) {
	count, most := uint64(1), uint64(bytes)
	for _, d := range e.Shape {
		if d < 1 || uint64(d) > most || count*uint64(d) > most {
			return 0, false
		}
		count *= uint64(d)
	}
	return count, true
}

// values are so many numbers of the tensor's bytes.
func (e namedEntry) values(body []byte, count uint64) ([]float64, error) {
	values := make([]float64, count)
	for i := range values {
		if e.Dtype == "F64" {
			values[i] = math.Float64frombits(binary.LittleEndian.Uint64(body[8*i:]))
		} else {
			values[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:])))
		}
		if v := values[i]; v-v != 0 {
			return nil, fmt.Errorf("tensor %q holds %v at position %d", e.name, v, i)
		}
	}
	return values, nil
}
