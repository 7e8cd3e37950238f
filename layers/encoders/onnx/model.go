//go:build (linux || darwin) && (amd64 || arm64) && !android && !nodlopen

package onnx

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"calibra/data"
	"calibra/layers/encoders"

	"github.com/sourcegraph/conc"
)

// Model is a network of one float32 input and two outputs, ready to run. It may not be
// used by two goroutines at the same time.
type Model struct {
	Version string // of ONNX Runtime

	lib              *library
	path             string
	session          uintptr
	input            port
	features, logits port
	m, c             int // widths of the outputs
	preset           Preset
	raw, shape       []int     // of a row before and after the preset
	batch            int       // rows that the network insists on, 0 if it takes any number
	rows             []float32 // what the network reads
	outputs          [2][]float32
}

var _ encoders.Encoder = (*Model)(nil)

// Open reads the network at path and runs it once, on zeros. A network that cannot be
// used, or a library that is not there, is a *data.InputError that states what to do.
// Close frees it.
func Open(path string, s Settings) (*Model, error) {
	file, err := data.OpenFile(path) // as the library will
	if err != nil {
		return nil, err
	}
	file.Close()
	shape, err := s.Preset.Shape(s.Shape)
	if err != nil {
		return nil, err
	}
	lib, err := open(s.Library)
	if err != nil {
		return nil, err
	}
	m := &Model{Version: lib.version, lib: lib, path: path, preset: s.Preset, raw: s.Shape, shape: shape}
	if err := m.load(s); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Shape is that of a raw row.
func (m *Model) Shape() []int { return m.raw }

// Features is M.
func (m *Model) Features() int { return m.m }

// Classes is C.
func (m *Model) Classes() int { return m.c }

// mostRows is the most that a network may insist on: their values are held in memory.
const mostRows = 1 << 16

func (m *Model) load(s Settings) error {
	c := calls{lib: m.lib}
	var options uintptr
	c.do(createSessionOptions, uintptr(unsafe.Pointer(&options)))
	defer m.lib.release(releaseSessionOptions, options)
	if s.Threads > 0 {
		c.do(setIntraOpNumThreads, options, uintptr(s.Threads))
	}
	if c.err != nil {
		return c.err
	}
	file := terminated(m.path)
	err := m.lib.call(createSession, m.lib.env, uintptr(unsafe.Pointer(&file[0])), options, uintptr(unsafe.Pointer(&m.session)))
	if err != nil {
		return data.Inputf(m.path, "is no network that ONNX Runtime %s can run: %w", m.Version, err)
	}
	inputs, err := m.ports(sessionGetInputCount, sessionGetInputName, sessionGetInputTypeInfo)
	if err != nil {
		return err
	}
	if len(inputs) != 1 {
		return data.Inputf(m.path, "has %d inputs (%s); it must have one", len(inputs), list(inputs))
	}
	outputs, err := m.ports(sessionGetOutputCount, sessionGetOutputName, sessionGetOutputTypeInfo)
	if err != nil {
		return err
	}
	features, logits, err := s.choose(m.path, outputs)
	if err != nil {
		return err
	}
	m.input, m.features, m.logits = inputs[0], features, logits
	want := m.input.shape
	if len(want) != 1+len(m.shape) || !slices.EqualFunc(m.shape, want[1:], func(have int, want int64) bool { return want < 0 || int64(have) == want }) {
		return data.Inputf(m.path, "takes %v, and rows prepared by the preset %q are %v; choose another preset", m.input, m.preset.Name, m.shape)
	}
	if want[0] > mostRows {
		return data.Inputf(m.path, "takes %v, %d rows at a time; export it with an open first axis", m.input, want[0])
	}
	m.batch = int(max(want[0], 0))
	rows := max(m.batch, 1)
	m.rows = make([]float32, rows*encoders.Values(m.shape))
	return m.run(rows)
}

// ports lists the inputs or the outputs.
func (m *Model) ports(count, name, info int) ([]port, error) {
	c := calls{lib: m.lib}
	var n uintptr
	c.do(count, m.session, uintptr(unsafe.Pointer(&n)))
	var out []port
	for i := range n {
		var address, typeInfo, tensorInfo uintptr
		c.do(name, m.session, i, m.lib.allocator, uintptr(unsafe.Pointer(&address)))
		o := port{name: text(address)}
		c.do(allocatorFree, m.lib.allocator, address)
		c.do(info, m.session, i, uintptr(unsafe.Pointer(&typeInfo)))
		c.do(castTypeInfoToTensorInfo, typeInfo, uintptr(unsafe.Pointer(&tensorInfo)))
		if c.err == nil && tensorInfo == 0 {
			c.err = data.Inputf(m.path, "%s is no tensor; inputs and outputs must be tensors of float32", o.name)
		}
		if c.err == nil {
			o.shape, c.err = m.dimensions(o.name, tensorInfo)
		}
		m.lib.release(releaseTypeInfo, typeInfo) // and tensorInfo, which is a part of it
		out = append(out, o)
	}
	return out, c.err
}

// dimensions are those of an OrtTensorTypeAndShapeInfo, of float32.
func (m *Model) dimensions(name string, info uintptr) ([]int64, error) {
	c := calls{lib: m.lib}
	var kind int32
	c.do(getTensorElementType, info, uintptr(unsafe.Pointer(&kind)))
	if c.err == nil && kind != float32Elements {
		return nil, data.Inputf(m.path, "%s is not of float32 (ONNX element type %d); export the network in float32", name, kind)
	}
	var axes uintptr
	c.do(getDimensionsCount, info, uintptr(unsafe.Pointer(&axes)))
	shape := make([]int64, axes+1) // one more, so that it has an address
	c.do(getDimensions, info, uintptr(unsafe.Pointer(&shape[0])), axes)
	return shape[:axes], c.err
}

// Encode is that of [encoders.Encoder]: rows x of Shape, pixels in [0, 1].
func (m *Model) Encode(x []float32) (features, logits []float32, err error) {
	in, out := encoders.Values(m.raw), encoders.Values(m.shape)
	if len(x) == 0 || len(x)%in != 0 {
		return nil, nil, fmt.Errorf("onnx: %d values are no rows of %d", len(x), in)
	}
	n := len(x) / in
	batch := n
	if m.batch > 0 {
		batch = m.batch
	}
	for lo := 0; lo < n; lo += batch {
		hi := min(lo+batch, n)
		if len(m.rows) < batch*out {
			m.rows = make([]float32, batch*out)
		}
		var wait conc.WaitGroup
		workers := runtime.GOMAXPROCS(0)
		for k := range workers {
			wait.Go(func() {
				for i := lo + k; i < hi; i += workers {
					m.preset.apply(m.rows[(i-lo)*out:][:out], x[i*in:][:in], m.raw, m.shape)
				}
			})
		}
		wait.Wait()
		clear(m.rows[(hi-lo)*out:])
		if err := m.run(batch); err != nil {
			return nil, nil, err
		}
		features = append(features, m.outputs[0][:(hi-lo)*m.m]...)
		logits = append(logits, m.outputs[1][:(hi-lo)*m.c]...)
	}
	if err := finite(m.path, m.features.name, features, m.m); err != nil {
		return nil, nil, err
	}
	return features, logits, finite(m.path, m.logits.name, logits, m.c)
}

// run runs the network on the first n of the rows and keeps its outputs.
func (m *Model) run(n int) error {
	shape := []int64{int64(n)}
	for _, d := range m.shape {
		shape = append(shape, int64(d))
	}
	var tensor uintptr
	err := m.lib.call(createTensorWithDataAsOrtValue, m.lib.memory, uintptr(unsafe.Pointer(&m.rows[0])), uintptr(4*n*encoders.Values(m.shape)),
		uintptr(unsafe.Pointer(&shape[0])), uintptr(len(shape)), float32Elements, uintptr(unsafe.Pointer(&tensor)))
	if err != nil {
		return fmt.Errorf("onnx: %w", err)
	}
	defer m.lib.release(releaseValue, tensor)
	input, features, logits := terminated(m.input.name), terminated(m.features.name), terminated(m.logits.name)
	inputs, outputs := []*byte{&input[0]}, []*byte{&features[0], &logits[0]}
	values := make([]uintptr, len(outputs))
	err = m.lib.call(run, m.session, 0, uintptr(unsafe.Pointer(&inputs[0])), uintptr(unsafe.Pointer(&tensor)), 1,
		uintptr(unsafe.Pointer(&outputs[0])), uintptr(len(outputs)), uintptr(unsafe.Pointer(&values[0])))
	runtime.KeepAlive(m.rows)
	if err != nil {
		return data.Inputf(m.path, "does not run: %w", err)
	}
	defer func() {
		for _, v := range values {
			m.lib.release(releaseValue, v)
		}
	}()
	for i, o := range []struct {
		name  string
		width *int
	}{{m.features.name, &m.m}, {m.logits.name, &m.c}} {
		if m.outputs[i], *o.width, err = m.copy(o.name, values[i], n); err != nil {
			return err
		}
	}
	return nil
}

// copy takes an output of n rows out of the library's memory.
func (m *Model) copy(name string, value uintptr, n int) (values []float32, columns int, err error) {
	var info, start uintptr
	c := calls{lib: m.lib}
	c.do(getTensorTypeAndShape, value, uintptr(unsafe.Pointer(&info)))
	c.do(getTensorMutableData, value, uintptr(unsafe.Pointer(&start)))
	if c.err != nil {
		return nil, 0, c.err
	}
	defer m.lib.release(releaseTensorTypeAndShapeInfo, info)
	shape, err := m.dimensions(name, info)
	if err != nil {
		return nil, 0, err
	}
	if columns, err = width(m.path, name, shape, n); err != nil {
		return nil, 0, err
	}
	return slices.Clone(unsafe.Slice((*float32)(pointer(start)), n*columns)), columns, nil
}

// Close frees the network. The library stays for the next one.
func (m *Model) Close() {
	m.lib.release(releaseSession, m.session)
	m.session = 0
}
