package cli

import (
	"fmt"
	"os"

	"calibra/graph/cuda"
)

// deviceFlag is of the commands that train or measure.
type deviceFlag struct {
	Device cuda.Choice `default:"auto" env:"CALIBRA_DEVICE" placeholder:"auto|cpu|cuda" help:"Where to compute: on the CPU, on an NVIDIA GPU, or there where it should pay (${default})."`
}

// AfterApply chooses the device once the flags are read.
func (f deviceFlag) AfterApply() error {
	cuda.Notice(func(sentence string) { fmt.Fprintln(os.Stderr, "calibra:", sentence) })
	return cuda.Choose(f.Device)
}
