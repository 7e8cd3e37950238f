//go:build generate

package main

import (
	"flag"
	"fmt"
	"os"

	"calibra/graph/simd/gen/isa"
)

var units = map[string]func(){
	"elementary":  elementaryUnit,
	"gamma":       gammaUnit,
	"gamma64":     gamma64Unit,
	"dirichlet":   dirichletUnit,
	"gaussian":    gaussianUnit,
	"sgemm":       sgemmUnit,
	"dgemm":       dgemmUnit,
	"vector":      vectorUnit,
	"adam":        adamUnit,
	"screen":      screenUnit,
	"screenpairs": screenPairsUnit,
	"nearby":      nearbyUnit,
}

func main() {
	unit := flag.String("unit", "", "the kernels to write")
	flag.Parse()
	write, ok := units[*unit]
	if !ok {
		fmt.Fprintf(os.Stderr, "gen: no unit %q\n", *unit)
		os.Exit(2)
	}
	isa.Write(write)
}
