// Package blas chooses the library that multiplies matrices. The ops of package op call
// [Current], which reads CALIBRA_BLAS when it is called first. Importing the package changes
// nothing. A program calls [Install], as the command does, to give the same library to
// gonum, Gorgonia and tensor.
//
//	CALIBRA_BLAS     library
//	(unset)          calibra where package simd has vector kernels, else system, else gonum
//	calibra          the kernels of package simd
//	system           the first of OpenBLAS, MKL or Accelerate that is found
//	openblas mkl accelerate
//	gonum            gonum's own, in Go
//	PATH             this shared library; anything with a slash or a dot is a path
//
// # Why the system's BLAS is not the default
//
// On one thread of a Xeon with AVX-512 (Cascade Lake), over the products of training,
// inference and the local metrics, package simd reaches 0.94 to 1.5 times the rate of
// OpenBLAS 0.3.21, and 10 to 40 times gonum's; BenchmarkSgemm prints the rates. It
// needs nothing installed, allocates nothing and starts no threads of its own. So a
// system BLAS is looked for by default only where simd would run in plain Go, and
// otherwise on request. simd's kernels for arm64 have not been timed; on an Apple
// processor Accelerate, which has a matrix unit to itself, is worth a try.
//
// Shared libraries are opened with purego, without cgo. That makes the executable a
// dynamic one, linked to libc, also under CGO_ENABLED=0; the build tag nodlopen leaves
// purego out and the executable static.
//
// # Same bytes on any number of threads
//
// OpenBLAS cuts a product by the number of its threads, and on deep sums the cut shows
// in the last bits (seen with 0.3.21 on 128×10000 by 10000×64, on one thread and two).
// Here a system BLAS always runs on one thread, called side by side on blocks
// whose sizes depend on the shape of the product alone. [simd.SetThreads] and GOMAXPROCS
// bound the blocks in flight; there is no second pool of threads to oversubscribe.
package blas

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"calibra/graph/simd"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gorgonia.org/gorgonia"
)

// Variable is the environment variable that chooses the implementation.
const Variable = "CALIBRA_BLAS"

// Info describes the library that multiplies matrices.
type Info struct {
	Name    string // calibra, openblas, mkl, accelerate, system (a library of unknown make) or gonum
	Version string // the library's own name for it; the instruction set for calibra
	Path    string // the shared library, empty for calibra and gonum
	Threads int    // blocks of one product that may run at the same time
	Problem error  // why CALIBRA_BLAS was not followed, or nil
}

var (
	mu        sync.Mutex
	current   choice // BLAS nil: nobody has asked yet
	installed bool
	problem   error
)

// choice is an implementation and its Info.
type choice struct {
	gorgonia.BLAS
	name, version, path string
}

// Current is the library in use.
func Current() gorgonia.BLAS {
	mu.Lock()
	defer mu.Unlock()
	return chosen().BLAS
}

// chosen is the choice, made at the first call.
func chosen() choice {
	if current.BLAS == nil {
		c, err := choose(os.Getenv(Variable))
		if err != nil {
			problem = fmt.Errorf("blas: %s: %w", Variable, err)
			c = native()
		}
		current = c
	}
	return current
}

// Install has gonum, Gorgonia and tensor multiply as [Current] does, from now on and after
// each Select. It must not be called while products run.
func Install() {
	mu.Lock()
	defer mu.Unlock()
	installed = true
	install(chosen())
}

func install(c choice) {
	blas32.Use(c.BLAS)
	blas64.Use(c.BLAS)
	gorgonia.Use(c.BLAS)
}

// Select changes the implementation to name, one of the values of CALIBRA_BLAS. On
// an error everything stays as it was. It must not be called while products run.
func Select(name string) error {
	c, err := choose(name)
	if err != nil {
		return fmt.Errorf("blas: select: %w", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if current = c; installed {
		install(c)
	}
	return nil
}

// Describe names the library in use.
func Describe() Info {
	mu.Lock()
	defer mu.Unlock()
	c := chosen()
	return Info{Name: c.name, Version: c.version, Path: c.path, Threads: simd.Threads(), Problem: problem}
}

func choose(name string) (choice, error) {
	switch {
	case name == "":
		if simd.InstructionSet() != "go" {
			return native(), nil
		}
		if c, err := find(everyLibrary()); err == nil {
			return c, nil
		}
		return plain(), nil
	case name == "calibra":
		return native(), nil
	case name == "gonum":
		return plain(), nil
	case name == "system":
		return find(everyLibrary())
	case strings.ContainsAny(name, `/\.`):
		return open(library{make: "system", path: name})
	}
	var candidates []library
	for _, l := range everyLibrary() {
		if l.make == name {
			candidates = append(candidates, l)
		}
	}
	if candidates == nil {
		return choice{}, fmt.Errorf("%q is none of calibra, system, openblas, mkl, accelerate, gonum or a path", name)
	}
	return find(candidates)
}

func plain() choice { return choice{BLAS: gonum.Implementation{}, name: "gonum"} }
