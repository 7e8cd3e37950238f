package cuda

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The embedded PTX is what the sources say, for compute capability 7.0, and has every kernel that is launched.
func TestHostKernelsAreCompiled(t *testing.T) {
	hash, err := KernelsHash(os.DirFS("kernels"))
	if err != nil {
		t.Fatal(err)
	}
	ptx := string(kernelImage)
	if line, _, _ := strings.Cut(ptx, "\n"); line != "// sources sha256:"+hash {
		t.Errorf("the PTX is of other sources (%s); run go generate ./graph/cuda", line)
	}
	if !strings.Contains(ptx, ".target sm_70") {
		t.Error("the PTX is not for sm_70")
	}
	if !strings.Contains(ptx, ".version 7.8\n") {
		t.Errorf("the PTX is not of version 7.8, that of %s, which users are told to have", oldestDriver)
	}
	sources, err := filepath.Glob("[lr]*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range launched.Split(string(text), -1)[1:] {
			if kernel, _, _ := strings.Cut(part, `"`); !strings.Contains(ptx, ".entry "+kernel+"(") {
				t.Errorf("kernel %s is launched and not in the PTX", kernel)
			}
		}
	}
	for _, kernel := range []string{"product_nn", "product_nt", "product_tn"} {
		if !strings.Contains(ptx, ".entry "+kernel+"(") {
			t.Errorf("kernel %s is not in the PTX", kernel)
		}
	}
}

// launched is where a kernel is named.
var launched = regexp.MustCompile(`\.launch\((?:d, )?"`)

// No kernel adds floats atomically.
func TestHostNoFloatAtomics(t *testing.T) {
	for _, line := range strings.Split(string(kernelImage), "\n") {
		if (strings.Contains(line, "atom.") || strings.Contains(line, "red.")) && strings.Contains(line, ".add.f") {
			t.Errorf("kernels.ptx adds floats atomically: %s", strings.TrimSpace(line))
		}
	}
}

// The toolkit's assembler, where there is one, accepts the PTX for each generation of
// cards, without spilling registers. It takes seconds: eighty-six kernels, for five generations.
func TestHostKernelsAssemble(t *testing.T) {
	ptxas, err := exec.LookPath("ptxas")
	if err != nil {
		t.Skip("there is no ptxas (pip install nvidia-cuda-nvcc-cu12 brings it)")
	}
	for _, arch := range []string{"sm_70", "sm_75", "sm_80", "sm_90", "sm_100"} {
		out, err := exec.Command(ptxas, "-v", "-arch="+arch, "-o", filepath.Join(t.TempDir(), "kernels.cubin"), "kernels.ptx").CombinedOutput()
		if strings.Contains(string(out), "is not defined for option 'gpu-name'") {
			t.Logf("this ptxas knows no %s", arch) // CUDA 13 begins at 7.5; drivers still compile for 7.0
			continue
		}
		if err != nil {
			t.Errorf("ptxas for %s: %v\n%s", arch, err, out)
		}
		for _, line := range strings.Split(string(out), "\n") {
			if strings.Contains(line, "spill") && !strings.Contains(line, "0 bytes spill stores") {
				t.Errorf("%s: %s", arch, strings.TrimSpace(line))
			}
		}
	}
}

func TestHostArguments(t *testing.T) {
	got, err := cells([]any{Memory{at: 0x7f0012345678, bytes: 4}, 5, -1, int64(-2), float32(1), Memory{}})
	want := []uint64{0x7f0012345678, 5, 0xffffffff, 0xfffffffffffffffe, 0x3f800000, 0}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the cells are %#x, not %#x (%v)", got, want, err)
	}
	for _, bad := range []any{"text", 1.5} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a kernel takes %v", bad)
				}
			}()
			cells([]any{bad})
		}()
	}
}

// What is too large for a kernel or a card is an error, as too little memory is, so that auto
// leaves it to the CPU.
func TestHostTooLarge(t *testing.T) {
	for said, enqueue := range map[string]func(d *Device){
		"cuda: kernel map: 2147483648 is more than a kernel counts": func(d *Device) {
			d.Map(Scaled, Memory{}, Memory{}, 1<<31, 1)
		},
		"cuda: kernel gaussian: 1×65536×1 blocks are too many for a card": func(d *Device) {
			d.launch("gaussian", tiles(64<<16, 64, 1), Memory{}, Memory{}, Memory{}, 64<<16, 64, 2, float32(1))
		},
		"cuda: 1048576 rows of 4096 columns are too many to take at once": func(d *Device) {
			d.newTaking(1<<20, []taken{{width: 1 << 12}})
		},
	} {
		d := &Device{functions: map[string]Function{"map": 1, "gaussian": 2}} // and no driver to launch them
		enqueue(d)
		if err := d.Err(); err == nil || err.Error() != said {
			t.Errorf("the error is %v, not %s", err, said)
		}
	}
}

func TestHostErrorsByName(t *testing.T) {
	err := fmt.Errorf("cuda: %w", &Error{"cuMemAlloc", 2})
	if got := err.Error(); got != "cuda: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: the device's memory is used up" {
		t.Error(got)
	}
	if !OutOfMemory(err) || OutOfMemory(&Error{"cuLaunchKernel", 700}) || OutOfMemory(nil) {
		t.Error("memory that is used up is not told from other errors")
	}
	if got := (&Error{"cuInit", 12345}).Error(); got != "cuInit: CUDA error 12345" {
		t.Error(got)
	}
	for code, says := range codes {
		if !strings.HasPrefix(says, "CUDA_ERROR_") || !strings.Contains(says, ": ") {
			t.Errorf("code %d is %q", code, says)
		}
	}
}

// counter is a driver that only counts memory.
type counter struct {
	Driver
	capacity, inUse, allocs, frees int
	next                           Pointer
	size                           map[Pointer]int
}

func newCounter(capacity int) *counter {
	return &counter{capacity: capacity, next: 0x1000, size: map[Pointer]int{}}
}

func (c *counter) Alloc(bytes int) (Pointer, error) {
	if c.inUse+bytes > c.capacity {
		return 0, &Error{"cuMemAlloc", codeOutOfMemory}
	}
	p := c.next
	c.next += Pointer(bytes)
	c.inUse += bytes
	c.size[p] = bytes
	c.allocs++
	return p, nil
}

func (c *counter) Free(p Pointer) error {
	c.inUse -= c.size[p]
	delete(c.size, p)
	c.frees++
	return nil
}

func (c *counter) Memory() (free, total int, err error) { return c.capacity - c.inUse, c.capacity, nil }
func (c *counter) Name() string                         { return "counter" }
func (c *counter) NewStream() (Stream, error)           { return 1, nil }
func (c *counter) Load([]byte) (Module, error)          { return 1, nil }

func (c *counter) Function(_ Module, name string) (Function, error) {
	return 0, &Error{"cuModuleGetFunction", 500}
}

func TestHostPool(t *testing.T) {
	c := newCounter(1 << 20)
	p := newPool(c)
	x, err := p.alloc(1000)
	if err != nil || c.inUse != 1024 || x.Bytes() != 1000 {
		t.Fatalf("1000 bytes take %d (%v)", c.inUse, err)
	}
	p.give(x)
	if y, _ := p.alloc(900 + 100); y.at != x.at || c.allocs != 1 {
		t.Error("freed memory of the size is not used again")
	}
	// What is free goes back to the driver when another size finds no room.
	z, _ := p.alloc(1 << 19)
	p.give(z)
	if _, err := p.alloc(900 << 10); err != nil || c.frees != 1 {
		t.Errorf("a full pool does not make room: %v, %d freed", err, c.frees)
	}
	if _, err := p.alloc(1 << 19); !OutOfMemory(err) || !strings.Contains(err.Error(), "512.0 KiB") {
		t.Errorf("too much memory gives %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("memory can be freed twice")
		}
	}()
	p.give(z)
}

// Sizes waste at most an eighth and never shrink.
func TestHostPoolSizes(t *testing.T) {
	last := 0
	for n := 1; n < 1<<22; n += 1 + n/50 {
		r := rounded(n)
		if r < n || r < last || r%smallest != 0 || n > 8*smallest && r-n > n/8 {
			t.Fatalf("%d bytes take %d", n, r)
		}
		last = r
	}
}

// The first error sticks, later calls do nothing, and the memory in it is told.
func TestHostErrorsStick(t *testing.T) {
	c := newCounter(1 << 12)
	d, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	d.Alloc(1 << 20)
	if err := d.Err(); !OutOfMemory(err) || !strings.Contains(err.Error(), "4.0 KiB of 4.0 KiB are free") {
		t.Errorf("the error is %v", err)
	}
	allocs := c.allocs
	if m := d.Alloc(1); m.at != 0 || c.allocs != allocs {
		t.Error("a failed device goes on")
	}
	d.clearError()
	d.launch("count_codes", blocks(1), d.Alloc(1), Memory{}, 0)
	var known *Error
	if err := d.Err(); !errors.As(err, &known) || known.Code != 500 || !strings.Contains(err.Error(), "kernel count_codes") {
		t.Errorf("a kernel that is missing gives %v", err)
	}
}

func TestHostSlice(t *testing.T) {
	m := Memory{0x100, 16}
	if s := m.Slice(4, 8); s.at != 0x104 || s.bytes != 8 {
		t.Errorf("the slice is %+v", s)
	}
	defer func() {
		if recover() == nil {
			t.Error("a slice leaves its array")
		}
	}()
	m.Slice(12, 8)
}

func TestHostChoice(t *testing.T) {
	for _, c := range []Choice{Auto, CPU, CUDA} {
		text, _ := c.MarshalText()
		var back Choice
		if err := back.UnmarshalText(text); err != nil || back != c {
			t.Errorf("%v is read as %v (%v)", c, back, err)
		}
	}
	var c Choice
	if err := c.UnmarshalText(nil); err != nil || c != CPU {
		t.Errorf("nothing is read as %v (%v)", c, err)
	}
	if err := c.UnmarshalText([]byte("gpu")); err == nil {
		t.Error("gpu is a choice")
	}
}

func TestHostWherePays(t *testing.T) {
	d, err := Open(newCounter(1 << 12))
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	notice := func(s string) { said = append(said, s) }
	for _, c := range []struct {
		on    *Executor
		flops float64
		want  bool
	}{{WherePays(d, Worth, notice), 1e3, false}, {WherePays(d, Worth, notice), 1e12, true}, {On(d, nil), 1, true}} {
		if got := c.on.pays(c.flops, 10); got != c.want {
			t.Errorf("%g operations run there: %v", c.flops, got)
		}
	}
	if !slices.Equal(said, []string{"working on counter"}) {
		t.Errorf("the notices are %q", said)
	}
}

// No driver is no panic but a sentence. With a card the test of the whole is verify.sh.
func TestHostNoDevice(t *testing.T) {
	if _, err := openDriver(); err == nil {
		t.Skip("this machine has a CUDA device")
	} else if !errors.Is(err, ErrNoDevice) {
		t.Errorf("without a device the error is %v", err)
	}
}
