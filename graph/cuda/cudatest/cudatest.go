// Package cudatest gives tests a CUDA device on machines without one. It compiles the kernels of package cuda with the
// host's C++ compiler and runs them behind the Driver interface.
package cudatest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"calibra/graph/cuda"
)

// Device is an emulated device whose threads take turns in the order that seed draws. The
// test is skipped where there is no C++ compiler or shared library to be had, and fails
// where kernels do not compile.
func Device(t testing.TB, seed uint64) *cuda.Device {
	t.Helper()
	d := Open(t, Driver(t, seed))
	t.Cleanup(func() {
		if err := d.Err(); err != nil {
			t.Errorf("the device ends with an error: %v", err)
		}
	})
	return d
}

// Driver is the driver of Device.
func Driver(t testing.TB, seed uint64) *Emulator {
	t.Helper()
	path, err := library()
	if errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	if err != nil {
		t.Skipf("kernels cannot be emulated here: %v", err)
	}
	e, err := open(path, seed)
	if err != nil {
		t.Skipf("kernels cannot be emulated here: %v", err)
	}
	return e
}

// Open makes a device of the driver, or fails t.
func Open(t testing.TB, driver cuda.Driver) *cuda.Device {
	t.Helper()
	d, err := cuda.Open(driver)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Executor and the others are those of package cuda, so that tests of fits import this package
// alone.
type (
	Executor = cuda.Executor
	GPU      = cuda.Device
)

// On is an executor that does all work on d.
func On(d *cuda.Device) *Executor { return cuda.On(d, nil) }

// Told is the same with what it told.
func Told(d *cuda.Device) (e *Executor, told *[]string) {
	told = new([]string)
	return cuda.On(d, func(s string) { *told = append(*told, s) }), told
}

// Lent is an executor that lends d any work, as --device auto lends it what pays, and what it
// told.
func Lent(d *cuda.Device) (e *Executor, told *[]string) {
	told = new([]string)
	return cuda.WherePays(d, 0, func(s string) { *told = append(*told, s) }), told
}

// OutOfMemory reports whether err is the device's lack of memory.
func OutOfMemory(err error) bool { return cuda.OutOfMemory(err) }

// InAnyMemory lends f an emulated device of so many bytes, from most down to none by step, and
// sees that nothing stays allocated.
func InAnyMemory(t testing.TB, most, step int, f func(bytes int, e *Executor)) {
	t.Helper()
	for bytes := most; bytes > 0; bytes -= step {
		driver := Driver(t, 1)
		driver.Capacity = bytes
		d := Open(t, driver)
		e, _ := Lent(d)
		f(bytes, e)
		if err := d.Trim(); err != nil || d.Err() != nil || driver.InUse() != 0 {
			t.Errorf("with %d bytes, %d of them stay allocated (%v, %v)", bytes, driver.InUse(), err, d.Err())
		}
	}
}

var library = sync.OnceValues(build)

// compiler turns a source into a shared library; FMA as the card has it. The emulated threads change
// stacks by longjmp, which a hardened library forbids.
var compiler = []string{"g++", "-U_FORTIFY_SOURCE", "-std=c++17", "-O2", "-march=native", "-fPIC", "-shared", "-fno-strict-aliasing", "-Wno-unused-function", "-Wno-psabi"}

// build compiles shim and kernels once for each state of their sources, which later test
// processes find in the temporary folder.
func build() (string, error) {
	if _, err := exec.LookPath(compiler[0]); err != nil {
		return "", fmt.Errorf("there is no %s", compiler[0])
	}
	root, err := root()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(root, "graph", "cuda")
	shim, err := os.ReadFile(filepath.Join(folder, "cudatest", "shim.h"))
	if err != nil {
		return "", err
	}
	sources, err := cuda.KernelsHash(os.DirFS(filepath.Join(folder, "kernels")))
	if err != nil {
		return "", err
	}
	main, err := table(filepath.Join(folder, "kernels"))
	if err != nil {
		return "", err
	}
	key := sha256.Sum256(fmt.Append(nil, compiler, sources, string(shim), main))
	path := filepath.Join(os.TempDir(), fmt.Sprintf("calibra-kernels-%x.so", key[:8]))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	work, err := os.MkdirTemp("", "calibra-kernels")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	from, to := filepath.Join(work, "emulator.cpp"), filepath.Join(work, "emulator.so")
	if err := os.WriteFile(from, []byte(main), 0o600); err != nil {
		return "", err
	}
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	args := append(compiler[1:len(compiler):len(compiler)], "-I"+filepath.Join(folder, "cudatest"), "-I"+filepath.Join(folder, "kernels"), "-o", to, from)
	if out, err := exec.CommandContext(ctx, compiler[0], args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", compiler[0], err, out)
	}
	return path, os.Rename(to, path)
}

var kernelNames = regexp.MustCompile(`(?m)^extern "C" __global__ void (?:__launch_bounds__\([\d, ]+\) )?(\w+)\(`)

// table is the emulator's source: the kernels, and which name is which.
func table(folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.cu"))
	if err != nil {
		return "", err
	}
	var calls, names string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		for _, match := range kernelNames.FindAllSubmatch(text, -1) {
			calls += fmt.Sprintf("\tif (!strcmp(name, %q)) return launch(%s, cells, size[6]);\n", match[1], match[1])
			names += fmt.Sprintf("\tif (!strcmp(name, %q)) return 1;\n", match[1])
		}
	}
	return fmt.Sprintf(program, calls, names), nil
}

// program is the emulator's source without its tables.
const program = `#include "shim.h"
#include "kernels.cu"

extern "C" const char *emulate(const char *name, const unsigned *size, const uint64_t *cells, uint64_t seed) {
	prepare(size, seed);
%s	return "there is no such kernel";
}

extern "C" int has(const char *name) {
%s	return 0;
}
`

// root is the folder of go.mod.
func root() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if filepath.Dir(at) == at {
			return "", fmt.Errorf("there is no go.mod above the working folder")
		}
		at = filepath.Dir(at)
	}
}
