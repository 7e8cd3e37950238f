package encoders

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"calibra/data"
	"calibra/graph"

	"gorgonia.org/tensor"
)

// ReadStateDict reads the float tensors of a safetensors file by name, such as
// PyTorch's safetensors.torch.save_file(model.state_dict(), path) writes it. Half
// precision (F16, BF16) is widened; integers, such as batch norm's
// num_batches_tracked, are no weights and are passed over. Whatever is wrong with
// the file is a *data.InputError.
func ReadStateDict(path string) (*graph.Weights, error) {
	file, err := data.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if file, err = singlePrecision(file); err != nil {
		return nil, data.Inputf(path, "not a usable safetensors file: %w", err)
	}
	w, _, err := graph.ReadSafetensors(file)
	if err != nil {
		return nil, data.Inputf(path, "%w", err)
	}
	return w, nil
}

// stateTensor is an entry of a safetensors header.
type stateTensor struct {
	name    string
	Dtype   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets []uint64 `json:"data_offsets"`
}

// stateTensors are the tensors of a safetensors file by their names, and its bytes after the header.
func stateTensors(file []byte) (tensors []stateTensor, body []byte, err error) {
	if len(file) < 8 {
		return nil, nil, fmt.Errorf("it has %d bytes and no header", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	if n > uint64(len(file)-8) {
		return nil, nil, fmt.Errorf("its header of %d bytes is cut off", n)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(file[8:8+n], &fields); err != nil {
		return nil, nil, fmt.Errorf("its header is no JSON object: %w", err)
	}
	body = file[8+n:]
	delete(fields, "__metadata__")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		t := stateTensor{name: name}
		if err := json.Unmarshal(fields[name], &t); err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		if len(t.Offsets) != 2 || t.Offsets[0] > t.Offsets[1] || t.Offsets[1] > uint64(len(body)) {
			return nil, nil, fmt.Errorf("tensor %q lies at bytes %v; %d bytes are there", name, t.Offsets, len(body))
		}
		tensors = append(tensors, t)
	}
	return tensors, body, nil
}

// singlePrecision rewrites a safetensors file to one of F32 tensors alone.
func singlePrecision(file []byte) ([]byte, error) {
	tensors, body, err := stateTensors(file)
	if err != nil {
		return nil, err
	}
	header := map[string]any{}
	var out bytes.Buffer
	for _, t := range tensors {
		if t.Dtype == "BOOL" || strings.HasPrefix(t.Dtype, "I") || strings.HasPrefix(t.Dtype, "U") {
			continue
		}
		at := out.Len()
		if err := widenTensor(&out, t.Dtype, body[t.Offsets[0]:t.Offsets[1]]); err != nil {
			return nil, fmt.Errorf("tensor %q %w", t.name, err)
		}
		header[t.name] = map[string]any{"dtype": "F32", "shape": t.Shape, "data_offsets": []int{at, out.Len()}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	whole := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(whole, text...), out.Bytes()...), nil
}

// widenTensor appends the values of raw as little-endian float32.
func widenTensor(out *bytes.Buffer, dtype string, raw []byte) error {
	put := func(v float32) { out.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))) }
	size := map[string]int{"F64": 8, "F32": 4, "F16": 2, "BF16": 2}[dtype]
	if size == 0 || len(raw)%size != 0 {
		return fmt.Errorf("of %d bytes is %s; weights are F64, F32, F16 or BF16", len(raw), dtype)
	}
	if dtype == "F32" {
		out.Write(raw)
		return nil
	}
	for ; len(raw) > 0; raw = raw[size:] {
		switch dtype {
		case "F64":
			put(float32(math.Float64frombits(binary.LittleEndian.Uint64(raw))))
		case "BF16":
			put(math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw)) << 16))
		case "F16":
			put(data.Half(binary.LittleEndian.Uint16(raw)))
		}
	}
	return nil
}

// assign overwrites w by the tensors of the same names in from, all of which must
// be there in the same shapes. Tensors that w lacks are an error too: they belong
// to another architecture.
func assign(w, from *graph.Weights) error {
	for _, name := range from.Names() {
		if !w.Has(name) {
			return fmt.Errorf("the weights hold %q, which this encoder does not have", name)
		}
	}
	for _, name := range w.Names() {
		if !from.Has(name) {
			return fmt.Errorf("the weights lack %q of this encoder", name)
		}
		have, want := from.Tensor(name).Shape(), w.Tensor(name).Shape()
		if !have.Eq(want) {
			return fmt.Errorf("the weight %q has shape %v and this encoder's has %v", name, have, want)
		}
		if err := tensor.Copy(w.Tensor(name), from.Tensor(name)); err != nil {
			return fmt.Errorf("the weight %q: %w", name, err)
		}
	}
	return nil
}
