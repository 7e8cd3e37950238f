//go:build linux && (amd64 || arm64) && !nodlopen

package cudatest

import (
	"fmt"
	"runtime"
	"unsafe"

	"calibra/graph/cuda"

	"github.com/ebitengine/purego"
)

// open loads the emulator. Each library runs one launch at a time, on one thread.
func open(path string, seed uint64) (*Emulator, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	e := newEmulator(seed)
	var emulate func(name *byte, size *uint32, cells *uint64, seed uint64) *byte
	purego.RegisterLibFunc(&emulate, handle, "emulate")
	var has func(name string) int32
	purego.RegisterLibFunc(&has, handle, "has")
	e.has = func(name string) bool { return has(name) != 0 }
	e.run = func(name string, g cuda.Grid, cells []uint64, seed uint64) error {
		text := append([]byte(name), 0)
		size := []uint32{uint32(g.X), uint32(g.Y), uint32(g.Z), uint32(g.ThreadsX), uint32(g.ThreadsY), 1, uint32(len(cells))}
		wrong := emulate(&text[0], &size[0], unsafe.SliceData(cells), seed)
		runtime.KeepAlive(text)
		if wrong != nil {
			return fmt.Errorf("emulated kernel %s: %s", name, goString(wrong))
		}
		return nil
	}
	return e, nil
}

func goString(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
