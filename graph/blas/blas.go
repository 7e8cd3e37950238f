// Package blas chooses the library that multiplies matrices. The ops of package op call
// [Current], which reads CALIBRA_BLAS when it is called first. Importing the package changes
// nothing. A program calls [Install], as the command does, to give the same library to
// gonum, Gorgonia and tensor.
//
//	CALIBRA_BLAS     library
//	(unset)          calibra where package simd has vector kernels, else gonum
//	calibra          the kernels of package simd
//	gonum            gonum's own, in Go
//
// On one thread of a Xeon with AVX-512 (Cascade Lake), over the products of training,
// inference and the local metrics, package simd reaches 0.94 to 1.5 times the rate of
// OpenBLAS 0.3.21, and 10 to 40 times gonum's; BenchmarkSgemm prints the rates. Both give
// the same bytes on any number of threads.
package blas

import (
	"fmt"
	"os"
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
	Name    string // calibra or gonum
	Version string // the instruction set of calibra; empty for gonum
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
	name, version string
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
	return Info{Name: c.name, Version: c.version, Threads: simd.Threads(), Problem: problem}
}

func choose(name string) (choice, error) {
	switch {
	case name == "calibra", name == "" && simd.InstructionSet() != "go":
		return native(), nil
	case name == "gonum", name == "":
		return plain(), nil
	}
	return choice{}, fmt.Errorf("%q is neither calibra nor gonum", name)
}

func plain() choice { return choice{BLAS: gonum.Implementation{}, name: "gonum"} }
