//go:build (linux || darwin) && (amd64 || arm64) && !android && !nodlopen

package cuda

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// libcuda is the driver's library with the primary context of one card. A context
// belongs to a thread, a goroutine does not: each call makes it current first.
type libcuda struct {
	calls        map[string]uintptr // addresses
	context      uintptr
	device       int32
	name         string
	major, minor int
}

var _ Driver = (*libcuda)(nil)

// symbols are the driver's functions that are called, by their names in the library. A call knows them without
// the version.
var symbols = strings.Fields(`
	cuInit cuDriverGetVersion cuDeviceGetCount cuDeviceGet cuDeviceGetName cuDeviceGetAttribute cuDevicePrimaryCtxRetain
	cuCtxSetCurrent cuMemGetInfo_v2 cuMemAlloc_v2 cuMemFree_v2 cuMemcpyHtoDAsync_v2
	cuMemcpyDtoHAsync_v2 cuMemcpyDtoDAsync_v2 cuMemsetD32Async cuStreamCreate cuStreamSynchronize
	cuStreamBeginCapture_v2 cuStreamEndCapture cuGraphInstantiateWithFlags cuGraphDestroy cuGraphLaunch
	cuGraphExecDestroy cuModuleLoadData cuModuleGetFunction cuLaunchKernel`)

// libraries are the driver's, never the toolkit's stub.
var libraries = []string{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}

// openDriver opens the first card, of those that CUDA_VISIBLE_DEVICES lists.
func openDriver() (Driver, error) {
	d, err := loadDriver()
	if err != nil {
		return nil, err
	}
	var count int32
	if err := d.call("cuInit", 0); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDevice, err)
	}
	if err := d.call("cuDeviceGetCount", uintptr(unsafe.Pointer(&count))); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDevice, err)
	}
	if count == 0 {
		return nil, fmt.Errorf("%w: the driver sees no card (CUDA_VISIBLE_DEVICES is %q)", ErrNoDevice, os.Getenv("CUDA_VISIBLE_DEVICES"))
	}
	if err := d.call("cuDeviceGet", uintptr(unsafe.Pointer(&d.device)), 0); err != nil {
		return nil, err
	}
	name := make([]byte, 256)
	if err := d.call("cuDeviceGetName", uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(d.device)); err != nil {
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
	if err := d.call("cuDevicePrimaryCtxRetain", uintptr(unsafe.Pointer(&d.context)), uintptr(d.device)); err != nil {
		return nil, err
	}
	return d, nil
}

// loadDriver loads the driver's library and finds its functions.
func loadDriver() (*libcuda, error) {
	d := &libcuda{calls: map[string]uintptr{}}
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
	for _, symbol := range symbols {
		name, _, _ := strings.Cut(symbol, "_v")
		if d.calls[name], err = purego.Dlsym(handle, symbol); err != nil {
			return nil, fmt.Errorf("%w: the driver has no %s; update it to %s or later", ErrNoDevice, symbol, oldestDriver)
		}
	}
	return d, nil
}

// call calls a function of the driver, in the device's context once there is one.
//
//go:uintptrescapes
func (d *libcuda) call(name string, args ...uintptr) error {
	if d.context != 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if r, _, _ := purego.SyscallN(d.calls["cuCtxSetCurrent"], d.context); int32(r) != 0 {
			return &Error{"cuCtxSetCurrent", int(int32(r))}
		}
	}
	if r, _, _ := purego.SyscallN(d.calls[name], args...); int32(r) != 0 {
		return &Error{name, int(int32(r))}
	}
	return nil
}

// Attributes of a device (CUdevice_attribute).
const (
	attributeMajor = 75
	attributeMinor = 76
)

func (d *libcuda) attribute(which uintptr) (int, error) {
	var v int32
	err := d.call("cuDeviceGetAttribute", uintptr(unsafe.Pointer(&v)), which, uintptr(d.device))
	return int(v), err
}

func (d *libcuda) Name() string                   { return d.name }
func (d *libcuda) Capability() (major, minor int) { return d.major, d.minor }

func (d *libcuda) Version() (major, minor int) {
	var version int32 // 1000 major + 10 minor
	if d.call("cuDriverGetVersion", uintptr(unsafe.Pointer(&version))) != nil {
		return 0, 0
	}
	return int(version) / 1000, int(version) % 1000 / 10
}

func (d *libcuda) Memory() (free, total int, err error) {
	err = d.call("cuMemGetInfo", uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	return free, total, err
}

func (d *libcuda) Alloc(bytes int) (p Pointer, err error) {
	err = d.call("cuMemAlloc", uintptr(unsafe.Pointer(&p)), uintptr(bytes))
	return p, err
}

func (d *libcuda) Free(p Pointer) error { return d.call("cuMemFree", uintptr(p)) }

func (d *libcuda) Upload(s Stream, dst Pointer, src unsafe.Pointer, bytes int) error {
	defer runtime.KeepAlive(src)
	return cmp.Or(d.call("cuMemcpyHtoDAsync", uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s)), d.Synchronize(s))
}

func (d *libcuda) Download(s Stream, dst unsafe.Pointer, src Pointer, bytes int) error {
	defer runtime.KeepAlive(dst)
	return cmp.Or(d.call("cuMemcpyDtoHAsync", uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s)), d.Synchronize(s))
}

func (d *libcuda) Copy(s Stream, dst, src Pointer, bytes int) error {
	return d.call("cuMemcpyDtoDAsync", uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s))
}

func (d *libcuda) Fill(s Stream, dst Pointer, word uint32, words int) error {
	return d.call("cuMemsetD32Async", uintptr(dst), uintptr(word), uintptr(words), uintptr(s))
}

func (d *libcuda) NewStream() (s Stream, err error) {
	const nonBlocking = 1 // CU_STREAM_NON_BLOCKING
	err = d.call("cuStreamCreate", uintptr(unsafe.Pointer(&s)), nonBlocking)
	return s, err
}

func (d *libcuda) Synchronize(s Stream) error { return d.call("cuStreamSynchronize", uintptr(s)) }

func (d *libcuda) Load(image []byte) (m Module, err error) {
	text := append(bytes.Clone(image), 0) // PTX is read as a C string
	err = d.call("cuModuleLoadData", uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&text[0])))
	return m, err
}

func (d *libcuda) Function(m Module, name string) (f Function, err error) {
	text := append([]byte(name), 0)
	err = d.call("cuModuleGetFunction", uintptr(unsafe.Pointer(&f)), uintptr(m), uintptr(unsafe.Pointer(&text[0])))
	return f, err
}

func (d *libcuda) Launch(s Stream, f Function, g Grid, cells []uint64) error {
	// The driver takes the address of each argument and copies it before it returns.
	params := make([]unsafe.Pointer, len(cells))
	for i := range cells {
		params[i] = unsafe.Pointer(&cells[i])
	}
	defer runtime.KeepAlive(cells)
	return d.call("cuLaunchKernel", uintptr(f), uintptr(g.X), uintptr(g.Y), uintptr(g.Z), uintptr(g.ThreadsX), uintptr(g.ThreadsY), 1,
		0, uintptr(s), uintptr(unsafe.Pointer(&params[0])), 0)
}

func (d *libcuda) Capture(s Stream) error {
	const relaxed = 2 // CU_STREAM_CAPTURE_MODE_RELAXED: begun and ended on any thread
	return d.call("cuStreamBeginCapture", uintptr(s), relaxed)
}

func (d *libcuda) EndCapture(s Stream) (g Graph, err error) {
	var recorded uintptr
	if err := d.call("cuStreamEndCapture", uintptr(s), uintptr(unsafe.Pointer(&recorded))); err != nil {
		return 0, err
	}
	err = d.call("cuGraphInstantiateWithFlags", uintptr(unsafe.Pointer(&g)), recorded, 0)
	return g, errors.Join(err, d.call("cuGraphDestroy", recorded))
}

func (d *libcuda) LaunchGraph(s Stream, g Graph) error {
	return d.call("cuGraphLaunch", uintptr(g), uintptr(s))
}

func (d *libcuda) FreeGraph(g Graph) error { return d.call("cuGraphExecDestroy", uintptr(g)) }
