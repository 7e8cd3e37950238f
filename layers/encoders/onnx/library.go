//go:build (linux || darwin) && (amd64 || arm64) && !android && !nodlopen

package onnx

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"calibra/data"

	"github.com/ebitengine/purego"
)

// Places in the table of functions that OrtGetApiBase()->GetApi(1) returns: struct
// OrtApi of onnxruntime_c_api.h, version 1, whose 102 entries are frozen.
const (
	getErrorMessage                = 2
	createEnv                      = 3
	createSession                  = 7
	run                            = 9
	createSessionOptions           = 10
	setIntraOpNumThreads           = 24
	sessionGetInputCount           = 30
	sessionGetOutputCount          = 31
	sessionGetInputTypeInfo        = 33
	sessionGetOutputTypeInfo       = 34
	sessionGetInputName            = 36
	sessionGetOutputName           = 37
	createTensorWithDataAsOrtValue = 49
	getTensorMutableData           = 51
	castTypeInfoToTensorInfo       = 55
	getTensorElementType           = 60
	getDimensionsCount             = 61
	getDimensions                  = 62
	getTensorTypeAndShape          = 65
	createCPUMemoryInfo            = 69
	allocatorFree                  = 76
	getAllocatorWithDefaultOptions = 78
	releaseStatus                  = 93
	releaseSession                 = 95
	releaseValue                   = 96
	releaseTypeInfo                = 98
	releaseTensorTypeAndShapeInfo  = 99
	releaseSessionOptions          = 100
	functions                      = 102
)

const apiVersion = 1

// Values of the C enumerations.
const (
	logErrors       = 3 // ORT_LOGGING_LEVEL_ERROR
	deviceAllocator = 0 // OrtDeviceAllocator
	defaultMemory   = 0 // OrtMemTypeDefault
	float32Elements = 1 // ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT
)

// library is ONNX Runtime, opened once for the life of the process.
type library struct {
	version   string
	functions []uintptr
	env       uintptr // OrtEnv
	memory    uintptr // OrtMemoryInfo of the CPU
	allocator uintptr // OrtAllocator of the names it hands out
}

var opened struct {
	sync.Mutex
	by map[string]*library
}

// Variable is the environment variable with the path of the library.
const Variable = "CALIBRA_ONNXRUNTIME"

const remedy = "get it with npm pack onnxruntime-node@1.17.0 (in bin/ of the archive), pip download onnxruntime (in onnxruntime/capi/), or from https://github.com/microsoft/onnxruntime/releases, and set " + Variable + " to the path of libonnxruntime"

// open finds the library at path, "" standing for the places the package names.
func open(path string) (*library, error) {
	candidates := []string{path}
	if path == "" {
		if path = os.Getenv(Variable); path != "" {
			candidates = []string{path}
		} else if runtime.GOOS == "darwin" {
			candidates = []string{"libonnxruntime.dylib", "/opt/homebrew/lib/libonnxruntime.dylib", "/usr/local/lib/libonnxruntime.dylib"}
		} else {
			candidates = []string{"libonnxruntime.so", "libonnxruntime.so.1"}
		}
	}
	opened.Lock()
	defer opened.Unlock()
	for _, candidate := range candidates {
		if l := opened.by[candidate]; l != nil {
			return l, nil
		}
		handle, err := purego.Dlopen(candidate, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			if len(candidates) == 1 {
				return nil, data.Inputf(candidate, "cannot be opened as ONNX Runtime's shared library (%w); %s", err, remedy)
			}
			continue
		}
		l, err := start(handle)
		if err != nil {
			return nil, data.Inputf(candidate, "is no ONNX Runtime that can be used: %w; %s", err, remedy)
		}
		if opened.by == nil {
			opened.by = map[string]*library{}
		}
		opened.by[candidate] = l
		return l, nil
	}
	return nil, data.Inputf("", "networks in ONNX run on ONNX Runtime's shared library, which was not found; %s", remedy)
}

// start gets the library's functions and makes what all sessions share.
func start(handle uintptr) (*library, error) {
	getAPIBase, err := purego.Dlsym(handle, "OrtGetApiBase")
	if err != nil {
		return nil, errors.New("it has no OrtGetApiBase")
	}
	base, _, _ := purego.SyscallN(getAPIBase)
	if base == 0 {
		return nil, errors.New("OrtGetApiBase returned nothing")
	}
	entries := unsafe.Slice((*uintptr)(pointer(base)), 2) // GetApi, GetVersionString
	table, _, _ := purego.SyscallN(entries[0], apiVersion)
	version, _, _ := purego.SyscallN(entries[1])
	if table == 0 {
		return nil, errors.New("it does not offer version 1 of its interface")
	}
	l := &library{version: text(version), functions: unsafe.Slice((*uintptr)(pointer(table)), functions)}
	name := terminated("calibra")
	if err := l.call(createEnv, logErrors, uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&l.env))); err != nil {
		return nil, err
	}
	if err := l.call(createCPUMemoryInfo, deviceAllocator, defaultMemory, uintptr(unsafe.Pointer(&l.memory))); err != nil {
		return nil, err
	}
	return l, l.call(getAllocatorWithDefaultOptions, uintptr(unsafe.Pointer(&l.allocator)))
}

// call calls a function that returns an OrtStatus.
//
//go:uintptrescapes
func (l *library) call(function int, args ...uintptr) error {
	status, _, _ := purego.SyscallN(l.functions[function], args...)
	if status == 0 {
		return nil
	}
	message, _, _ := purego.SyscallN(l.functions[getErrorMessage], status)
	err := errors.New(text(message))
	l.release(releaseStatus, status)
	return err
}

// calls are calls of a library one after the other, of which none is made after the first that fails.
type calls struct {
	lib *library
	err error
}

// do is [library.call].
//
//go:uintptrescapes
func (c *calls) do(function int, args ...uintptr) {
	if c.err != nil {
		return
	}
	if err := c.lib.call(function, args...); err != nil {
		c.err = fmt.Errorf("onnx: %w", err)
	}
}

// release calls a function that frees its argument.
func (l *library) release(function int, object uintptr) {
	if object != 0 {
		purego.SyscallN(l.functions[function], object)
	}
}

// pointer is an address of C's memory, which the collector neither moves nor frees.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// text copies a C string.
func text(address uintptr) string {
	if address == 0 {
		return ""
	}
	start := (*byte)(pointer(address))
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(start), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(start, n))
}

// terminated is a C string in Go's memory.
func terminated(s string) []byte { return append([]byte(s), 0) }
