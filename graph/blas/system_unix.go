//go:build (linux || darwin) && (amd64 || arm64) && !android && !nodlopen

package blas

import (
	"fmt"
	"strings"

	"calibra/graph/simd"

	"github.com/ebitengine/purego"
	"gonum.org/v1/gonum/blas"
	"gorgonia.org/gorgonia"
)

// system is simd's implementation with the large products of a shared library.
//
// The library is called by its Fortran symbols, sgemm_ and dgemm_: every argument is
// a pointer there, so a call needs no cgo and no reflection. Fortran stores by
// columns: what is asked of it is Cᵀ = op(B)ᵀ·op(A)ᵀ on the same memory.
type system struct {
	kernels
	sgemm, dgemm uintptr
}

var _ gorgonia.BLAS = (*system)(nil)

// open loads l, silences its own threads and reads its version.
func open(l library) (choice, error) {
	handle, err := purego.Dlopen(l.path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return choice{}, fmt.Errorf("cannot open %s: %w", l.path, err)
	}
	s := new(system)
	for name, to := range map[string]*uintptr{"sgemm_": &s.sgemm, "dgemm_": &s.dgemm} {
		if *to, err = purego.Dlsym(handle, name); err != nil {
			return choice{}, fmt.Errorf("%s is no BLAS: it has no %s", l.path, name)
		}
	}
	c := choice{BLAS: s, name: l.make, path: l.path}
	if set, err := purego.Dlsym(handle, "openblas_set_num_threads"); err == nil {
		c.name = "openblas"
		purego.SyscallN(set, 1)
		var config func() string
		purego.RegisterLibFunc(&config, handle, "openblas_get_config")
		c.version = config()
	}
	if set, err := purego.Dlsym(handle, "MKL_Set_Num_Threads"); err == nil {
		c.name = "mkl"
		purego.SyscallN(set, 1)
		var version func(buffer []byte, length int32)
		purego.RegisterLibFunc(&version, handle, "mkl_get_version_string")
		buffer := make([]byte, 200)
		version(buffer, int32(len(buffer)))
		c.version, _, _ = strings.Cut(string(buffer), "\x00")
	}
	return c, nil
}

func (s *system) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	if m*n*k < leastWork {
		s.kernels.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	multiply(&singles, s.sgemm, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

func (s *system) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	if m*n*k < leastWork {
		s.kernels.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	multiply(&doubles, s.dgemm, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

var (
	singles simd.Jobs[product[float32], *product[float32]]
	doubles simd.Jobs[product[float64], *product[float64]]
)
