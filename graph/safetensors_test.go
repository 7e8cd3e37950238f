package graph_test

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"calibra/graph"

	"gorgonia.org/tensor"
)

func encoded(t testing.TB, w *graph.Weights, metadata map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := graph.WriteSafetensors(&out, w, metadata); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestSafetensorsRoundTrip(t *testing.T) {
	metadata := map[string]string{"method": "vq", "format": "calibra"}
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		w := networkWeights(dt, rand.New(rand.NewPCG(1, 1)))
		file := encoded(t, w, metadata)
		got, meta, err := graph.ReadSafetensors(file)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(meta, metadata) || !slices.Equal(got.Names(), w.Names()) || got.Dtype() != dt {
			t.Errorf("read %v %v %v", meta, got.Names(), got.Dtype())
		}
		for _, name := range w.Names() {
			if !got.Tensor(name).Shape().Eq(w.Tensor(name).Shape()) || !slices.Equal(got.Float64s(name), w.Float64s(name)) {
				t.Errorf("%s changed on the way", name)
			}
		}
		if !bytes.Equal(file, encoded(t, got, meta)) {
			t.Error("written again, the file has other bytes")
		}
		if binary.LittleEndian.Uint64(file)%8 != 0 {
			t.Error("the data do not start on a multiple of 8")
		}
	}
}

// file puts a header before a body, as a damaged or hostile file might.
func file(header string, body int) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), make([]byte, body)...)
}

func TestSafetensorsRefusals(t *testing.T) {
	good := encoded(t, networkWeights(tensor.Float32, rand.New(rand.NewPCG(1, 1))), nil)
	infinite := slices.Clone(good)
	copy(infinite[len(infinite)-4:], []byte{0, 0, 0x80, 0x7f})
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":         {nil, "no header"},
		"cut header":    {good[:40], "cut off"},
		"huge header":   {binary.LittleEndian.AppendUint64(nil, math.MaxUint64), "cut off"},
		"cut data":      {good[:len(good)-3], "bytes are there"},
		"trailing":      {append(slices.Clone(good), 0), "follow the last tensor"},
		"infinity":      {infinite, "holds +Inf"},
		"no JSON":       {file("hello", 0), "no JSON"},
		"gap":           {file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8), "expected from 0"},
		"overlap":       {file(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8), "expected from 8"},
		"huge shape":    {file(`{"x":{"dtype":"F32","shape":[9223372036854775807,9223372036854775807],"data_offsets":[0,4]}}`, 4), "has the shape"},
		"other dtype":   {file(`{"x":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}`, 8), "is I64"},
		"wrong offsets": {file(`{"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8), "lies at bytes"},
		"three offsets": {file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}}`, 4), "3 numbers, not 2"},
	} {
		if _, _, err := graph.ReadSafetensors(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v does not say %q", name, err, c.want)
		}
	}
}

// FuzzReadSafetensors expects of every input a refusal, or weights that write to a
// file of the same content.
func FuzzReadSafetensors(f *testing.F) {
	f.Add(encoded(f, networkWeights(tensor.Float32, rand.New(rand.NewPCG(1, 1))), map[string]string{"a": "b"}))
	f.Add(encoded(f, graph.NewWeights(tensor.Float64), nil))
	f.Add(file(`{"x":{"dtype":"F64","shape":[1,2],"data_offsets":[0,16]}}`, 16))
	f.Add(file(`{"x":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`, 0))
	f.Fuzz(func(t *testing.T, in []byte) {
		w, meta, err := graph.ReadSafetensors(in)
		if err != nil {
			return
		}
		again, _, err := graph.ReadSafetensors(encoded(t, w, meta))
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if !slices.Equal(again.Names(), w.Names()) {
			t.Fatalf("names %v became %v", w.Names(), again.Names())
		}
		for _, name := range w.Names() {
			if !slices.Equal(again.Float64s(name), w.Float64s(name)) {
				t.Fatalf("%s changed on the way", name)
			}
		}
	})
}
