package encoders

import (
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
	Dtype   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets []uint64 `json:"data_offsets"`
}

// singlePrecision rewrites a safetensors file to one of F32 tensors alone.
func singlePrecision(file []byte) ([]byte, error) {
	if len(file) < 8 {
		return nil, fmt.Errorf("it has %d bytes and no header", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	if n > uint64(len(file)-8) {
		return nil, fmt.Errorf("its header of %d bytes is cut off", n)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(file[8:8+n], &fields); err != nil {
		return nil, fmt.Errorf("its header is no JSON object: %w", err)
	}
	delete(fields, "__metadata__")
	body, header, out := file[8+n:], map[string]stateTensor{}, []byte(nil)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var t stateTensor
		if err := json.Unmarshal(fields[name], &t); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		if len(t.Offsets) != 2 || t.Offsets[0] > t.Offsets[1] || t.Offsets[1] > uint64(len(body)) {
			return nil, fmt.Errorf("tensor %q lies at bytes %v; %d bytes are there", name, t.Offsets, len(body))
		}
		if t.Dtype == "BOOL" || strings.HasPrefix(t.Dtype, "I") || strings.HasPrefix(t.Dtype, "U") {
			continue
		}
		at, raw, from := len(out), body[t.Offsets[0]:t.Offsets[1]], weightTypes[t.Dtype]
		if from.size == 0 || len(raw)%from.size != 0 {
			return nil, fmt.Errorf("tensor %q of %d bytes is %s; weights are F64, F32, F16 or BF16", name, len(raw), t.Dtype)
		}
		for ; len(raw) > 0; raw = raw[from.size:] {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(from.value(raw)))
		}
		header[name] = stateTensor{"F32", t.Shape, []uint64{uint64(at), uint64(len(out))}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, out), nil
}

// weightTypes are the types of weights: their bytes, and the value of some.
var weightTypes = map[string]struct {
	size  int
	value func(b []byte) float32
}{
	"F64":  {8, func(b []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) }},
	"F32":  {4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }},
	"F16":  {2, func(b []byte) float32 { return data.Half(binary.LittleEndian.Uint16(b)) }},
	"BF16": {2, func(b []byte) float32 { return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16) }},
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
