package cuda

import (
	"errors"
	"fmt"
)

// Error is a failed call of the driver.
type Error struct {
	Call string // such as cuMemAlloc
	Code int    // of the driver, such as 2
}

// Error names the error and, if it is a known one, says in a sentence what it means.
func (e *Error) Error() string {
	if known, ok := codes[e.Code]; ok {
		return fmt.Sprintf("%s: %s", e.Call, known)
	}
	return fmt.Sprintf("%s: CUDA error %d", e.Call, e.Code)
}

// oldestDriver is the release of CUDA whose drivers are the first to accept the PTX.
const oldestDriver = "CUDA 11.8"

// ErrNoDevice is that there is no driver, or no card, to run on.
var ErrNoDevice = errors.New("no CUDA device")

// OutOfMemory reports whether err is that the device's memory is used up.
func OutOfMemory(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == codeOutOfMemory
}

const codeOutOfMemory = 2

// codes are the results of the driver API (CUresult in cuda.h) that can come of the calls
// made here.
var codes = map[int]string{
	1:               "CUDA_ERROR_INVALID_VALUE: an argument is out of range",
	codeOutOfMemory: "CUDA_ERROR_OUT_OF_MEMORY: the device's memory is used up",
	3:               "CUDA_ERROR_NOT_INITIALIZED: the driver is not initialized",
	4:               "CUDA_ERROR_DEINITIALIZED: the driver is shutting down",
	34:              "CUDA_ERROR_STUB_LIBRARY: the library found is the toolkit's stub, not the driver's",
	46:              "CUDA_ERROR_DEVICE_UNAVAILABLE: the device is busy or in exclusive use",
	100:             "CUDA_ERROR_NO_DEVICE: there is no CUDA device",
	101:             "CUDA_ERROR_INVALID_DEVICE: there is no device of that number",
	200:             "CUDA_ERROR_INVALID_IMAGE: the kernels cannot be loaded",
	201:             "CUDA_ERROR_INVALID_CONTEXT: the device's context is gone",
	209:             "CUDA_ERROR_NO_BINARY_FOR_GPU: the kernels are for newer cards",
	214:             "CUDA_ERROR_ECC_UNCORRECTABLE: the device's memory failed",
	218:             "CUDA_ERROR_INVALID_PTX: the driver does not accept the kernels",
	222:             "CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the driver is too old for the kernels: update it to " + oldestDriver + " or later",
	400:             "CUDA_ERROR_INVALID_HANDLE: a handle is not valid",
	500:             "CUDA_ERROR_NOT_FOUND: no such symbol",
	600:             "CUDA_ERROR_NOT_READY: the device is not done",
	700:             "CUDA_ERROR_ILLEGAL_ADDRESS: a kernel read or wrote outside of its arrays",
	701:             "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: a kernel needs more registers or shared memory than a block has",
	702:             "CUDA_ERROR_LAUNCH_TIMEOUT: a kernel took longer than the display's driver allows",
	715:             "CUDA_ERROR_ILLEGAL_INSTRUCTION: a kernel holds an instruction that the device does not know",
	716:             "CUDA_ERROR_MISALIGNED_ADDRESS: a kernel read or wrote at a misaligned address",
	719:             "CUDA_ERROR_LAUNCH_FAILED: a kernel failed",
	801:             "CUDA_ERROR_NOT_SUPPORTED: the device does not support this",
	802:             "CUDA_ERROR_SYSTEM_NOT_READY: the system's drivers are not ready",
	803:             "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: the kernel's driver and the library are of different versions",
	900:             "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED: the call cannot be recorded",
	901:             "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED: the recording has failed",
	999:             "CUDA_ERROR_UNKNOWN: an unknown error; the system's log may say more",
}
