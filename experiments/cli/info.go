package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"calibra/experiments/report"
	"calibra/graph/blas"
	"calibra/graph/cuda"
	"calibra/graph/work"
)

type infoCmd struct {
	JSON bool `help:"Print JSON."`
}

// modules are those whose version can change a result.
var modules = []string{"gorgonia.org/gorgonia", "gorgonia.org/tensor", "gonum.org/v1/gonum"}

// deviceFound is the card that --device cuda would work on, or why there is none.
func deviceFound() string {
	d, err := cuda.OpenCard()
	if err != nil {
		return "none: " + strings.TrimPrefix(err.Error(), cuda.ErrNoDevice.Error()+": ")
	}
	return d.Describe()
}

func (c *infoCmd) Run(t *terminal) error {
	list := &report.Table{Labels: []string{""}, Values: []report.Head{{Wrap: true}}}
	facts := map[string]any{}
	add := func(name, value string) {
		list.Add("", report.Row{Labels: []string{name}, Cells: report.Texts(value)})
		facts[strings.ReplaceAll(name, " ", "_")] = value
	}
	add("go", fmt.Sprintf("%s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH))
	add("cores", fmt.Sprintf("%d of %d", runtime.GOMAXPROCS(0), runtime.NumCPU()))
	add("vector units", blas.InstructionSet())
	add("device", deviceFound())
	add("matrix products", fmt.Sprintf("%s, %d threads", blas.Name(), work.Threads()))
	if build, ok := debug.ReadBuildInfo(); ok {
		add("calibra", build.Main.Version)
		for _, name := range modules {
			for _, d := range build.Deps {
				if d.Path == name {
					add(name, d.Version)
				}
			}
		}
	}
	if c.JSON {
		return t.json(facts)
	}
	return t.tables(list)
}
