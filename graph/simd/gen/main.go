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
	flag.BoolVar(&avx512, "avx512", false, "for AVX-512 instead of AVX2")
	flag.Parse()
	write, ok := units[*unit]
	if !ok {
		fmt.Fprintf(os.Stderr, "gen: no unit %q\n", *unit)
		os.Exit(2)
	}
	ConstraintExpr("amd64,!noasm")
	write()
	Generate()
}
