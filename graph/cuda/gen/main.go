// Command gen compiles the kernels of package cuda to PTX with NVRTC, the toolkit's
// compiler as a library: kernels.ptx, whose first line is the hash of the sources. It needs
// libnvrtc of CUDA 11 or 12 (Debian: libnvrtc11.2 in non-free), found by the loader or
// named by NVRTC.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"calibra/graph/cuda"

	"github.com/ebitengine/purego"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("gen: ")
	hash, err := cuda.KernelsHash(os.DirFS("kernels"))
	if err != nil {
		log.Fatal(err)
	}
	ptx, err := compile("kernels", "kernels.cu", "compute_70")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("kernels.ptx", fmt.Appendf(nil, "// sources sha256:%s\n%s", hash, ptx), 0o644); err != nil {
		log.Fatal(err)
	}
}

// nvrtc is what is used of the library; each call gives 0 or an error's number.
type nvrtc struct {
	create  func(program *uintptr, source, name string, headers int32, texts, names **byte) int32
	compile func(program uintptr, options int32, list **byte) int32
	size    func(program uintptr, size *uintptr) int32
	text    func(program uintptr, text *byte) int32
	logSize func(program uintptr, size *uintptr) int32
	logText func(program uintptr, text *byte) int32
}

func open() (*nvrtc, error) {
	paths := []string{os.Getenv("NVRTC"), "libnvrtc.so", "libnvrtc.so.12", "libnvrtc.so.11.2"}
	for _, path := range paths {
		if path == "" {
			continue
		}
		handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			continue
		}
		n := new(nvrtc)
		purego.RegisterLibFunc(&n.create, handle, "nvrtcCreateProgram")
		purego.RegisterLibFunc(&n.compile, handle, "nvrtcCompileProgram")
		purego.RegisterLibFunc(&n.size, handle, "nvrtcGetPTXSize")
		purego.RegisterLibFunc(&n.text, handle, "nvrtcGetPTX")
		purego.RegisterLibFunc(&n.logSize, handle, "nvrtcGetProgramLogSize")
		purego.RegisterLibFunc(&n.logText, handle, "nvrtcGetProgramLog")
		return n, nil
	}
	return nil, fmt.Errorf("libnvrtc is not found; install it (Debian: libnvrtc11.2 of non-free) or give its path in NVRTC")
}

// compile gives the PTX of a source in folder for an architecture.
func compile(folder, source, arch string) ([]byte, error) {
	n, err := open()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.cu*"))
	if err != nil {
		return nil, err
	}
	var names, texts []string
	main := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if name := filepath.Base(file); name == source {
			main = string(text)
		} else {
			names, texts = append(names, name), append(texts, string(text))
		}
	}
	var program uintptr
	if r := n.create(&program, main, source, int32(len(names)), strings0(texts), strings0(names)); r != 0 {
		return nil, fmt.Errorf("nvrtcCreateProgram gives %d", r)
	}
	options := []string{"--gpu-architecture=" + arch, "--std=c++14", "--device-as-default-execution-space"}
	result := n.compile(program, int32(len(options)), strings0(options))
	said, err := read(program, n.logSize, n.logText)
	if err != nil {
		return nil, err
	}
	fmt.Fprint(os.Stderr, string(said))
	if result != 0 {
		return nil, fmt.Errorf("nvrtcCompileProgram gives %d", result)
	}
	return read(program, n.size, n.text)
}

func read(program uintptr, size func(uintptr, *uintptr) int32, text func(uintptr, *byte) int32) ([]byte, error) {
	var bytes uintptr
	if r := size(program, &bytes); r != 0 {
		return nil, fmt.Errorf("nvrtc gives %d", r)
	}
	buffer := make([]byte, max(1, bytes))
	if r := text(program, &buffer[0]); r != 0 {
		return nil, fmt.Errorf("nvrtc gives %d", r)
	}
	return buffer[:len(buffer)-1], nil // without the final zero
}

// pinned is never unpinned: the program ends soon.
var pinned runtime.Pinner

// strings0 is a C array of C strings that stays where it is.
func strings0(list []string) **byte {
	array := make([]*byte, len(list)+1)
	for i, s := range list {
		array[i] = unsafe.StringData(s + "\x00")
		pinned.Pin(array[i])
	}
	pinned.Pin(&array[0])
	return &array[0]
}
