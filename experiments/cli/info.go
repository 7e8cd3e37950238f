package cli

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"calibra/graph/blas"
	"calibra/graph/simd"
)

type infoCmd struct{}

func (infoCmd) Help() string {
	return `Example:

  calibra info`
}

// modules are those whose version can change a result.
var modules = []string{"gorgonia.org/gorgonia", "gorgonia.org/tensor", "gonum.org/v1/gonum"}

func (infoCmd) Run(context.Context) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "go\t%s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(w, "cores\t%d of %d\n", runtime.GOMAXPROCS(0), runtime.NumCPU())
	fmt.Fprintf(w, "vector units\t%s\n", simd.InstructionSet())
	b := blas.Describe()
	fmt.Fprintf(w, "matrix products\t%s, %d threads\n", strings.Join(strings.Fields(b.Name+" "+b.Version+" "+b.Path), " "), b.Threads)
	if b.Problem != nil {
		fmt.Fprintf(w, "%s\tnot followed: %v\n", blas.Variable, b.Problem)
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		fmt.Fprintf(w, "calibra\t%s\n", build.Main.Version)
		for _, name := range modules {
			for _, d := range build.Deps {
				if d.Path == name {
					fmt.Fprintf(w, "%s\t%s\n", name, d.Version)
				}
			}
		}
	}
	return w.Flush()
}
