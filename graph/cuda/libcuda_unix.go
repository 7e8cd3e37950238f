//go:build (linux || darwin) && (amd64 || arm64) && !android && !nodlopen

package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// libcuda is the driver's library with the primary context of one card. A context
// belongs to a thread, a goroutine does not: each call makes it current first.
type libcuda struct {
	calls        calls
	context      uintptr
	device       int32
	name         string
	major, minor int
}

var _ Driver = (*libcuda)(nil)

// calls are the addresses of the driver's functions, found by the names in their tags.
type calls struct {
	Init             uintptr `cuda:"cuInit"`
	DeviceGetCount   uintptr `cuda:"cuDeviceGetCount"`
	DeviceGet        uintptr `cuda:"cuDeviceGet"`
	DeviceGetName    uintptr `cuda:"cuDeviceGetName"`
	DeviceAttribute  uintptr `cuda:"cuDeviceGetAttribute"`
	ContextRetain    uintptr `cuda:"cuDevicePrimaryCtxRetain"`
	ContextSet       uintptr `cuda:"cuCtxSetCurrent"`
	MemGetInfo       uintptr `cuda:"cuMemGetInfo_v2"`
	MemAlloc         uintptr `cuda:"cuMemAlloc_v2"`
	MemFree          uintptr `cuda:"cuMemFree_v2"`
	MemAllocHost     uintptr `cuda:"cuMemAllocHost_v2"`
	Upload           uintptr `cuda:"cuMemcpyHtoDAsync_v2"`
	Download         uintptr `cuda:"cuMemcpyDtoHAsync_v2"`
	Copy             uintptr `cuda:"cuMemcpyDtoDAsync_v2"`
	Fill             uintptr `cuda:"cuMemsetD32Async"`
	StreamCreate     uintptr `cuda:"cuStreamCreate"`
	StreamSync       uintptr `cuda:"cuStreamSynchronize"`
	StreamCapture    uintptr `cuda:"cuStreamBeginCapture_v2"`
	StreamEndCapture uintptr `cuda:"cuStreamEndCapture"`
	GraphInstantiate uintptr `cuda:"cuGraphInstantiateWithFlags"`
	GraphDestroy     uintptr `cuda:"cuGraphDestroy"`
	GraphLaunch      uintptr `cuda:"cuGraphLaunch"`
	GraphExecDestroy uintptr `cuda:"cuGraphExecDestroy"`
	ModuleLoad       uintptr `cuda:"cuModuleLoadData"`
	ModuleFunction   uintptr `cuda:"cuModuleGetFunction"`
	Launch           uintptr `cuda:"cuLaunchKernel"`
	EventCreate      uintptr `cuda:"cuEventCreate"`
	EventRecord      uintptr `cuda:"cuEventRecord"`
	EventSync        uintptr `cuda:"cuEventSynchronize"`
	EventElapsed     uintptr `cuda:"cuEventElapsedTime"`
}

// libraries are the driver's, never the toolkit's stub.
var libraries = []string{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}

// openDriver opens the first card. Which one that is, CUDA_VISIBLE_DEVICES says.
func openDriver() (Driver, error) {
	d := new(libcuda)
	var handle uintptr
	var err error
	for _, path := range libraries {
		if handle, err = purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the driver's library libcuda.so.1 is not there", ErrNoDevice)
	}
	fields := reflect.ValueOf(&d.calls).Elem()
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Tag.Get("cuda")
		at, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, fmt.Errorf("%w: the driver has no %s; update it to %s or later", ErrNoDevice, name, oldestDriver)
		}
		fields.Field(i).SetUint(uint64(at))
	}
	var count int32
	if err := d.call("cuInit", d.calls.Init, 0); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDevice, err)
	}
	if err := d.call("cuDeviceGetCount", d.calls.DeviceGetCount, uintptr(unsafe.Pointer(&count))); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDevice, err)
	}
	if count == 0 {
		return nil, fmt.Errorf("%w: the driver sees no card (CUDA_VISIBLE_DEVICES is %q)", ErrNoDevice, os.Getenv("CUDA_VISIBLE_DEVICES"))
	}
	if err := d.call("cuDeviceGet", d.calls.DeviceGet, uintptr(unsafe.Pointer(&d.device)), 0); err != nil {
		return nil, err
	}
	name := make([]byte, 256)
	if err := d.call("cuDeviceGetName", d.calls.DeviceGetName, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(d.device)); err != nil {
		return nil, err
	}
	name, _, _ = bytes.Cut(name, []byte{0})
	d.name = string(name)
	for attribute, to := range map[uintptr]*int{attributeMajor: &d.major, attributeMinor: &d.minor} {
		if *to, err = d.attribute(attribute); err != nil {
			return nil, err
		}
	}
	if d.major < 7 {
		return nil, fmt.Errorf("%w: %s has compute capability %d.%d; the kernels need 7.0", ErrNoDevice, d.name, d.major, d.minor)
	}
	if err := d.call("cuDevicePrimaryCtxRetain", d.calls.ContextRetain, uintptr(unsafe.Pointer(&d.context)), uintptr(d.device)); err != nil {
		return nil, err
	}
	return d, nil
}

// call calls a function of the driver, in the device's context once there is one.
//
//go:uintptrescapes
func (d *libcuda) call(name string, function uintptr, args ...uintptr) error {
	if d.context != 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if r, _, _ := purego.SyscallN(d.calls.ContextSet, d.context); int32(r) != 0 {
			return &Error{"cuCtxSetCurrent", int(int32(r))}
		}
	}
	if r, _, _ := purego.SyscallN(function, args...); int32(r) != 0 {
		return &Error{name, int(int32(r))}
	}
	return nil
}

// Attributes of a device (CUdevice_attribute).
const (
	attributeClock           = 13 // kHz
	attributeMultiprocessors = 16
	attributeMajor           = 75
	attributeMinor           = 76
)

func (d *libcuda) attribute(which uintptr) (int, error) {
	var v int32
	err := d.call("cuDeviceGetAttribute", d.calls.DeviceAttribute, uintptr(unsafe.Pointer(&v)), which, uintptr(d.device))
	return int(v), err
}

func (d *libcuda) Rate() (float64, error) {
	clock, err := d.attribute(attributeClock)
	if err != nil {
		return 0, err
	}
	multiprocessors, err := d.attribute(attributeMultiprocessors)
	if err != nil {
		return 0, err
	}
	lanes := 128 // float32 lanes of a multiprocessor: 64 on Volta, Turing and the A100
	if d.major == 7 || d.major == 8 && d.minor == 0 {
		lanes = 64
	}
	return 2 * float64(lanes) * float64(multiprocessors) * float64(clock) * 1e3, nil
}

func (d *libcuda) Name() string                   { return d.name }
func (d *libcuda) Capability() (major, minor int) { return d.major, d.minor }

func (d *libcuda) Memory() (free, total int, err error) {
	err = d.call("cuMemGetInfo", d.calls.MemGetInfo, uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	return free, total, err
}

func (d *libcuda) Alloc(bytes int) (p Pointer, err error) {
	err = d.call("cuMemAlloc", d.calls.MemAlloc, uintptr(unsafe.Pointer(&p)), uintptr(bytes))
	return p, err
}

func (d *libcuda) Free(p Pointer) error {
	return d.call("cuMemFree", d.calls.MemFree, uintptr(p))
}

func (d *libcuda) AllocHost(bytes int) (p unsafe.Pointer, err error) {
	err = d.call("cuMemAllocHost", d.calls.MemAllocHost, uintptr(unsafe.Pointer(&p)), uintptr(bytes))
	return p, err
}

func (d *libcuda) Upload(s Stream, dst Pointer, src unsafe.Pointer, bytes int) error {
	return d.call("cuMemcpyHtoDAsync", d.calls.Upload, uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s))
}

func (d *libcuda) Download(s Stream, dst unsafe.Pointer, src Pointer, bytes int) error {
	return d.call("cuMemcpyDtoHAsync", d.calls.Download, uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s))
}

func (d *libcuda) Copy(s Stream, dst, src Pointer, bytes int) error {
	return d.call("cuMemcpyDtoDAsync", d.calls.Copy, uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s))
}

func (d *libcuda) Fill(s Stream, dst Pointer, word uint32, words int) error {
	return d.call("cuMemsetD32Async", d.calls.Fill, uintptr(dst), uintptr(word), uintptr(words), uintptr(s))
}

func (d *libcuda) NewStream() (s Stream, err error) {
	const nonBlocking = 1 // CU_STREAM_NON_BLOCKING
	err = d.call("cuStreamCreate", d.calls.StreamCreate, uintptr(unsafe.Pointer(&s)), nonBlocking)
	return s, err
}

func (d *libcuda) Synchronize(s Stream) error {
	return d.call("cuStreamSynchronize", d.calls.StreamSync, uintptr(s))
}

func (d *libcuda) Load(image []byte) (m Module, err error) {
	text := append(bytes.Clone(image), 0) // PTX is read as a C string
	err = d.call("cuModuleLoadData", d.calls.ModuleLoad, uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&text[0])))
	return m, err
}

func (d *libcuda) Function(m Module, name string) (f Function, err error) {
	text := append([]byte(name), 0)
	err = d.call("cuModuleGetFunction", d.calls.ModuleFunction, uintptr(unsafe.Pointer(&f)), uintptr(m), uintptr(unsafe.Pointer(&text[0])))
	return f, err
}

func (d *libcuda) Launch(s Stream, f Function, g Grid, cells []uint64) error {
	// The driver takes the address of each argument and copies it before it returns.
	params := make([]unsafe.Pointer, len(cells))
	for i := range cells {
		params[i] = unsafe.Pointer(&cells[i])
	}
	defer runtime.KeepAlive(cells)
	return d.call("cuLaunchKernel", d.calls.Launch, uintptr(f), uintptr(g.X), uintptr(g.Y), uintptr(g.Z), uintptr(g.ThreadsX), uintptr(g.ThreadsY), 1,
		0, uintptr(s), uintptr(unsafe.Pointer(&params[0])), 0)
}

func (d *libcuda) Capture(s Stream) error {
	const relaxed = 2 // CU_STREAM_CAPTURE_MODE_RELAXED: begun and ended on any thread
	return d.call("cuStreamBeginCapture", d.calls.StreamCapture, uintptr(s), relaxed)
}

func (d *libcuda) EndCapture(s Stream) (g Graph, err error) {
	var recorded uintptr
	if err := d.call("cuStreamEndCapture", d.calls.StreamEndCapture, uintptr(s), uintptr(unsafe.Pointer(&recorded))); err != nil {
		return 0, err
	}
	err = d.call("cuGraphInstantiateWithFlags", d.calls.GraphInstantiate, uintptr(unsafe.Pointer(&g)), recorded, 0)
	return g, errors.Join(err, d.call("cuGraphDestroy", d.calls.GraphDestroy, recorded))
}

func (d *libcuda) LaunchGraph(s Stream, g Graph) error {
	return d.call("cuGraphLaunch", d.calls.GraphLaunch, uintptr(g), uintptr(s))
}

func (d *libcuda) FreeGraph(g Graph) error {
	return d.call("cuGraphExecDestroy", d.calls.GraphExecDestroy, uintptr(g))
}

func (d *libcuda) NewEvent() (e Event, err error) {
	err = d.call("cuEventCreate", d.calls.EventCreate, uintptr(unsafe.Pointer(&e)), 0)
	return e, err
}

func (d *libcuda) Mark(e Event, s Stream) error {
	return d.call("cuEventRecord", d.calls.EventRecord, uintptr(e), uintptr(s))
}

func (d *libcuda) Wait(e Event) error {
	return d.call("cuEventSynchronize", d.calls.EventSync, uintptr(e))
}

func (d *libcuda) Milliseconds(from, to Event) (ms float32, err error) {
	err = d.call("cuEventElapsedTime", d.calls.EventElapsed, uintptr(unsafe.Pointer(&ms)), uintptr(from), uintptr(to))
	return ms, err
}
