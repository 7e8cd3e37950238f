//go:build !(linux && (amd64 || arm64) && !nodlopen)

package cudatest

import "fmt"

func open(string, uint64) (*Emulator, error) { return nil, fmt.Errorf("the emulator runs on Linux") }
