//go:build !((linux || darwin) && (amd64 || arm64)) || android || nodlopen

package blas

import (
	"fmt"
	"runtime"
)

func open(l library) (choice, error) {
	return choice{}, fmt.Errorf("cannot open %s: shared libraries are not supported by this build for %s/%s", l.path, runtime.GOOS, runtime.GOARCH)
}
