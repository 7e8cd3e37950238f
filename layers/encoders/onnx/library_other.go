//go:build !((linux || darwin) && (amd64 || arm64)) || android || nodlopen

package onnx

import (
	"runtime"

	"calibra/data"
	"calibra/layers/encoders"
)

// Variable is the environment variable with the path of the library.
const Variable = "CALIBRA_ONNXRUNTIME"

// Model is a network that this build cannot run.
type Model struct {
	Version          string
	encoders.Encoder // nil
}

// Open fails: this build opens no shared libraries.
func Open(path string, _ Settings) (*Model, error) {
	return nil, data.Inputf(path, "cannot be run: this build for %s/%s opens no shared libraries; encode on Linux or macOS, amd64 or arm64", runtime.GOOS, runtime.GOARCH)
}

// Close frees nothing.
func (m *Model) Close() {}
