//go:build generate

package main

import (
	"flag"
	"fmt"
	"os"

	. "github.com/mmcloughlin/avo/build"
)

var units = map[string]func(){
	"elementary": elementaryUnit,
	"gamma":      gammaUnit,
	"dirichlet":  dirichletUnit,
	"gaussian":   gaussianUnit,
	"sgemm":      sgemmUnit,
	"dgemm":      dgemmUnit,
	"vector":     vectorUnit,
	"adam":       adamUnit,
}

func main() {
	unit := flag.String("unit", "", "the kernels to write")
	flag.Func("isa", "AVX2, AVX512 or NEON", func(name string) error {
		isa = instructionSet(name)
		if lanes() == 0 {
			return fmt.Errorf("no instruction set %q", name)
		}
		return nil
	})
	flag.Parse()
	write, ok := units[*unit]
	if !ok || isa == "" {
		fmt.Fprintf(os.Stderr, "gen: no unit %q or no instruction set\n", *unit)
		os.Exit(2)
	}
	if isa == neon {
		compileForNEON()
		ConstraintExpr("arm64,!noasm")
	} else {
		ConstraintExpr("amd64,!noasm")
	}
	write()
	writeTable()
	Generate()
}
