package cli

import (
	"errors"
	"fmt"
	"os"

	"calibra/experiments"
	"calibra/graph/cuda"
)

// deviceFlag is of the commands that train or measure.
type deviceFlag struct {
	Device cuda.Choice `default:"cpu" env:"CALIBRA_DEVICE" placeholder:"cpu|auto|cuda" help:"Where to compute: on the CPU, on an NVIDIA GPU (cuda), or there where it should pay (auto) (${default}). An empty CALIBRA_DEVICE is as none."`
}

// executor is where the flag says; nil is this process.
func (f deviceFlag) executor() (experiments.Executor, error) {
	e, err := f.Device.Open(func(sentence string) { fmt.Fprintln(os.Stderr, "calibra:", sentence) })
	if err != nil || e == nil {
		return nil, err
	}
	return e, nil
}

// lacksDevice tells whether err is that there is no device, or too little memory on it.
func lacksDevice(err error) bool { return errors.Is(err, cuda.ErrNoDevice) || cuda.OutOfMemory(err) }
