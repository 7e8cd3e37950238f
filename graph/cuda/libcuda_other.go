//go:build !((linux || darwin) && (amd64 || arm64)) || android || nodlopen

package cuda

import (
	"fmt"
	"runtime"
)

func openDriver() (Driver, error) {
	return nil, fmt.Errorf("%w: this build for %s/%s does not open shared libraries", ErrNoDevice, runtime.GOOS, runtime.GOARCH)
}
