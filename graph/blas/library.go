package blas

import (
	"errors"
	"fmt"
	"runtime"
)

// library is a shared library that may hold a BLAS.
type library struct{ make, path string }

// everyLibrary lists what to look for, in order of preference. A plain libblas is
// not in it: it is often the slow reference implementation.
func everyLibrary() []library {
	if runtime.GOOS == "darwin" {
		return []library{
			{"accelerate", "/System/Library/Frameworks/Accelerate.framework/Accelerate"},
			{"openblas", "/opt/homebrew/opt/openblas/lib/libopenblas.dylib"},
			{"openblas", "/usr/local/opt/openblas/lib/libopenblas.dylib"},
			{"openblas", "libopenblas.dylib"},
		}
	}
	return []library{
		{"openblas", "libopenblas.so.0"},
		{"openblas", "libopenblas.so"},
		{"mkl", "libmkl_rt.so.2"},
		{"mkl", "libmkl_rt.so.1"},
		{"mkl", "libmkl_rt.so"},
	}
}

// find opens the first library of the list that can be.
func find(list []library) (choice, error) {
	var errs []error
	for _, l := range list {
		c, err := open(l)
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return choice{}, fmt.Errorf("no library found: install one (Debian: libopenblas0) or give its path: %w", errors.Join(errs...))
}
