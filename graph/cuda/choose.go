package cuda

import (
	"fmt"
	"os"
	"sync"
)

// Variable is the environment variable that chooses the device.
const Variable = "CALIBRA_DEVICE"

// TF32Variable is the environment variable that, set to 1, has products on the device made in
// TF32; else they are of float32.
const TF32Variable = "CALIBRA_CUDA_TF32"

// Choice says where work runs.
type Choice int

const (
	Auto Choice = iota // on the device, if there is one and the work is large enough to pay
	CPU                // never on the device
	CUDA               // on the device; its absence is an error
)

// String is "auto", "cpu" or "cuda".
func (c Choice) String() string { return [...]string{"auto", "cpu", "cuda"}[c] }

// MarshalText writes String.
func (c Choice) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads auto, cpu or cuda.
func (c *Choice) UnmarshalText(text []byte) error {
	for _, known := range []Choice{Auto, CPU, CUDA} {
		if string(text) == known.String() {
			*c = known
			return nil
		}
	}
	return fmt.Errorf("%q is none of auto, cpu and cuda", text)
}

// The choice of this process, and what came of it.
var chosen struct {
	sync.Mutex
	choice Choice
	device *Device
	err    error // why there is no device
	opened bool  // device and err are known
	lent   bool  // Auto takes device for any work
	told   map[string]bool
	notice func(string)
}

func init() {
	if text := os.Getenv(Variable); text != "" {
		if err := chosen.choice.UnmarshalText([]byte(text)); err != nil {
			chosen.choice, chosen.err, chosen.opened = CPU, fmt.Errorf("cuda: %s: %w", Variable, err), true
		}
	}
}

// Choose says where this process works from now on. CUDA without a device is an error
// that wraps [ErrNoDevice]. It must not be called while work runs.
func Choose(c Choice) error {
	chosen.Lock()
	chosen.choice = c
	chosen.Unlock()
	if c != CUDA {
		return nil
	}
	_, err := opened()
	return err
}

// Use makes d the device of this process, as CUDA would the first card; nil takes it
// away. Tests do.
func Use(d *Device) {
	chosen.Lock()
	defer chosen.Unlock()
	chosen.device, chosen.err, chosen.opened, chosen.lent = d, nil, d != nil, false
	chosen.choice = CPU
	if d != nil {
		chosen.choice = CUDA
	}
}

// Lend makes d the device that Auto takes, however little the work, and chooses Auto. Tests
// do; Use(nil) takes it away.
func Lend(d *Device) {
	chosen.Lock()
	defer chosen.Unlock()
	chosen.device, chosen.err, chosen.opened, chosen.lent = d, nil, true, true
	chosen.choice = Auto
}

// Chosen is what this process chose.
func Chosen() Choice {
	chosen.Lock()
	defer chosen.Unlock()
	return chosen.choice
}

// opened is the device, opened at the first call.
func opened() (*Device, error) {
	chosen.Lock()
	defer chosen.Unlock()
	if !chosen.opened {
		chosen.opened = true
		if chosen.device, chosen.err = OpenCard(); chosen.err == nil {
			chosen.err = chosen.device.prepare(os.Getenv(TF32Variable))
		}
	}
	return chosen.device, chosen.err
}

// prepare does what TF32Variable says.
func (d *Device) prepare(tf32 string) error {
	switch tf32 {
	case "", "0":
		return nil
	case "1":
		return d.UseTF32()
	}
	return fmt.Errorf("cuda: %s is %q; set it to 1, or to 0 for products in float32", TF32Variable, tf32)
}

// OpenCard is a device of its own on the first card, whose kernels are loaded, whatever was
// chosen.
func OpenCard() (*Device, error) {
	driver, err := openDriver()
	if err != nil {
		return nil, err
	}
	d, err := Open(driver)
	if err != nil {
		return nil, err
	}
	return d, d.Preload()
}

// CardDriver is the driver of the first card.
func CardDriver() (Driver, error) { return openDriver() }

// Available is the device that a card here would be, whatever was chosen, or why there is
// none.
func Available() (*Device, error) { return opened() }

// Worth is the work, in multiplications and additions between two launches, below which
// Auto stays on the CPU: what the CPU does in the time that a launch takes, some 5 µs at
// some 50 GFLOP/s. It is an estimate; verify.sh prints what is measured beside it.
const Worth = 250e3

// For is the device for work of so many multiplications and additions in so many
// launches, or nil if the CPU is to do it.
func For(flops, launches float64) *Device {
	chosen.Lock()
	pays := chosen.lent || flops >= Worth*launches
	none := chosen.choice == CPU || chosen.choice == Auto && !pays
	chosen.Unlock()
	if none {
		return nil
	}
	d, err := opened()
	if err != nil {
		Tell(fmt.Sprintf("working on the CPU: %v", err))
		return nil
	}
	Tell("working on " + d.Name())
	return d
}

// Notice sets who is told, in a sentence and once each, where work runs and why; nil: no one.
func Notice(notice func(sentence string)) {
	chosen.Lock()
	defer chosen.Unlock()
	chosen.notice, chosen.told = notice, map[string]bool{}
}

// Tell gives a sentence to who is set by [Notice], once.
func Tell(sentence string) {
	chosen.Lock()
	defer chosen.Unlock()
	if chosen.notice != nil && !chosen.told[sentence] {
		chosen.told[sentence] = true
		chosen.notice(sentence)
	}
}
