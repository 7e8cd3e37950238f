package encoders

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"calibra/data"
)

// stateFile writes a safetensors file of one header and body.
func stateFile(t *testing.T, header map[string]any, body []byte) string {
	t.Helper()
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "state.safetensors")
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	if err := os.WriteFile(path, append(file, body...), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func entry(dtype string, from, to int, shape ...int) map[string]any {
	return map[string]any{"dtype": dtype, "shape": append([]int{}, shape...), "data_offsets": []int{from, to}}
}

// TestStateDictTypes: every float type is read, integers are passed over.
func TestStateDictTypes(t *testing.T) {
	var body []byte
	for _, h := range []uint16{0x3c00, 0xc100, 0x0001, 0x7bff} { // 1, −2.5, 2⁻²⁴, 65504
		body = binary.LittleEndian.AppendUint16(body, h)
	}
	for _, b := range []uint16{0x3f80, 0xc020} { // 1, −2.5
		body = binary.LittleEndian.AppendUint16(body, b)
	}
	body = binary.LittleEndian.AppendUint64(body, math.Float64bits(0.75))
	body = binary.LittleEndian.AppendUint64(body, 41)
	body = binary.LittleEndian.AppendUint32(body, math.Float32bits(-3))
	w, err := ReadStateDict(stateFile(t, map[string]any{
		"half": entry("F16", 0, 8, 2, 2), "brain": entry("BF16", 8, 12, 2), "double": entry("F64", 12, 20, 1),
		"bn.num_batches_tracked": entry("I64", 20, 28), "single": entry("F32", 28, 32, 1), "__metadata__": map[string]string{"format": "pt"},
	}, body))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]float64{"half": {1, -2.5, math.Ldexp(1, -24), 65504}, "brain": {1, -2.5}, "double": {0.75}, "single": {-3}} {
		for i, v := range w.Float64s(name) {
			if v != want[i] {
				t.Errorf("%s[%d] is %v, not %v", name, i, v, want[i])
			}
		}
	}
	if len(w.Names()) != 4 || w.Tensor("half").Shape()[1] != 2 {
		t.Errorf("the weights are %v", w.Names())
	}
}

func TestDamagedStateDicts(t *testing.T) {
	cut := filepath.Join(t.TempDir(), "cut.safetensors")
	if err := os.WriteFile(cut, binary.LittleEndian.AppendUint64(nil, math.MaxUint64), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"cut header": cut,
		"infinity":   stateFile(t, map[string]any{"x": entry("F16", 0, 2, 1)}, []byte{0, 0x7c}),
		"not there":  stateFile(t, map[string]any{"x": entry("F32", 0, 8, 2)}, []byte{0, 0, 0, 0}),
		"backwards":  stateFile(t, map[string]any{"x": entry("F32", 4, 0, 1)}, []byte{0, 0, 0, 0}),
		"odd bytes":  stateFile(t, map[string]any{"x": entry("F32", 0, 3, 1)}, []byte{0, 0, 0}),
		"type":       stateFile(t, map[string]any{"x": entry("F8_E4M3", 0, 1, 1)}, []byte{0}),
		"shape":      stateFile(t, map[string]any{"x": entry("F32", 0, 4, 2)}, []byte{0, 0, 0, 0}),
		"no tensor":  stateFile(t, map[string]any{"x": "y"}, nil),
		"no offsets": stateFile(t, map[string]any{"x": map[string]any{"dtype": "F32"}}, nil),
	} {
		_, err := ReadStateDict(path)
		var input *data.InputError
		if !errors.As(err, &input) || input.Path != path {
			t.Errorf("%s: %v is no input error", name, err)
		}
	}
}
