package graph

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"

	"gorgonia.org/tensor"
)

// The safetensors format (huggingface.co/docs/safetensors): the length of a JSON
// header as a little-endian uint64, the header, and the tensors' bytes. The header
// maps each name to dtype, shape and byte range; __metadata__ maps strings to
// strings.

// maxHeader bounds the header that a reader accepts, as the reference reader does.
const maxHeader = 100 << 20

type tensorEntry struct {
	Dtype   string  `json:"dtype"`
	Shape   []int   `json:"shape"`
	Offsets offsets `json:"data_offsets"`
}

// offsets are the first byte of a tensor and the one after its last.
type offsets [2]uint64

// UnmarshalJSON refuses any other number of bytes than two: to an array JSON may be too long
// or too short.
func (o *offsets) UnmarshalJSON(text []byte) error {
	var list []uint64
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	if len(list) != len(o) {
		return fmt.Errorf("data_offsets has %d numbers, not 2", len(list))
	}
	copy(o[:], list)
	return nil
}

// WriteSafetensors writes all weights, state included, and the metadata. The same
// input gives the same bytes.
func WriteSafetensors(out io.Writer, w *Weights, metadata map[string]string) error {
	dtype, size := "F32", 4
	if w.dtype == tensor.Float64 {
		dtype, size = "F64", 8
	}
	header := map[string]any{"__metadata__": metadata}
	var at uint64
	for _, name := range w.names {
		t := w.tensors[name]
		end := at + uint64(t.DataSize()*size)
		header[name] = tensorEntry{dtype, slices.Clone([]int(t.Shape())), offsets{at, end}}
		at = end
	}
	text, err := json.Marshal(header) // keys in ascending order
	if err != nil {
		return fmt.Errorf("graph: write safetensors: %w", err)
	}
	text = append(text, bytes.Repeat([]byte(" "), -len(text)&7)...) // data starts on a multiple of 8
	if err := binary.Write(out, binary.LittleEndian, uint64(len(text))); err != nil {
		return fmt.Errorf("graph: write safetensors: %w", err)
	}
	if _, err := out.Write(text); err != nil {
		return fmt.Errorf("graph: write safetensors: %w", err)
	}
	for _, name := range w.names {
		t := w.tensors[name]
		var values any = t.Float32s()
		if w.dtype == tensor.Float64 {
			values = t.Float64s()
		}
		if err := binary.Write(out, binary.LittleEndian, values); err != nil {
			return fmt.Errorf("graph: write safetensors: %w", err)
		}
	}
	return nil
}

// ReadSafetensors reads the weights of a file in memory, in the order of their
// bytes, and its metadata. All tensors must be F32, or all F64; they must cover
// the bytes without gap or overlap, and every value must be finite. Nothing tells
// learned weights from state: all are read as learned.
func ReadSafetensors(file []byte) (*Weights, map[string]string, error) {
	fail := func(format string, args ...any) (*Weights, map[string]string, error) {
		return nil, nil, fmt.Errorf("not a usable safetensors file: "+format, args...)
	}
	if len(file) < 8 {
		return fail("it has %d bytes and no header", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	if n > maxHeader || n > uint64(len(file)-8) {
		return fail("its header of %d bytes is cut off", n)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(file[8:8+n], &fields); err != nil {
		return fail("its header is no JSON object: %v", err)
	}
	body := file[8+n:]
	metadata := map[string]string{}
	type named struct {
		name string
		tensorEntry
	}
	var entries []named
	for name, raw := range fields {
		if name == "__metadata__" {
			if err := json.Unmarshal(raw, &metadata); err != nil {
				return fail("its metadata are not strings: %v", err)
			}
			continue
		}
		e := named{name: name}
		if err := json.Unmarshal(raw, &e.tensorEntry); err != nil {
			return fail("tensor %q: %v", name, err)
		}
		entries = append(entries, e)
	}
	sort.Slice(entries, func(i, j int) bool {
		a, b := entries[i], entries[j]
		if a.Offsets != b.Offsets {
			return a.Offsets[0] < b.Offsets[0] || a.Offsets[0] == b.Offsets[0] && a.Offsets[1] < b.Offsets[1]
		}
		return a.name < b.name
	})
	dt, size := tensor.Float32, uint64(4)
	if len(entries) > 0 && entries[0].Dtype == "F64" {
		dt, size = tensor.Float64, 8
	}
	w := NewWeights(dt)
	var at uint64
	for _, e := range entries {
		if want := map[uint64]string{4: "F32", 8: "F64"}[size]; e.Dtype != want {
			return fail("tensor %q is %s, not %s like the first", e.name, e.Dtype, want)
		}
		count := uint64(1)
		for _, d := range e.Shape {
			if d < 1 || uint64(d) > uint64(len(body)) || count*uint64(d) > uint64(len(body)) {
				return fail("tensor %q has the shape %v in a file of %d bytes", e.name, e.Shape, len(file))
			}
			count *= uint64(d)
		}
		if len(e.Shape) == 0 {
			return fail("tensor %q has no dimension", e.name)
		}
		if e.Offsets[0] != at || e.Offsets[1] != at+count*size || e.Offsets[1] > uint64(len(body)) {
			return fail("tensor %q of shape %v lies at bytes %v, expected from %d on; %d bytes are there", e.name, e.Shape, e.Offsets, at, len(body))
		}
		values := make([]float64, count)
		for i := range values {
			if size == 8 {
				values[i] = math.Float64frombits(binary.LittleEndian.Uint64(body[at:]))
			} else {
				values[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(body[at:])))
			}
			if v := values[i]; v-v != 0 {
				return fail("tensor %q holds %v at position %d", e.name, v, i)
			}
			at += size
		}
		w.Add(e.name, values, e.Shape...)
	}
	if at != uint64(len(body)) {
		return fail("%d bytes follow the last tensor", uint64(len(body))-at)
	}
	return w, metadata, nil
}
