package cli

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"

	"calibra/experiments"
)

type methodsCmd struct{}

func (methodsCmd) Help() string {
	return `Example:

  calibra methods`
}

func (methodsCmd) Run(context.Context) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, m := range experiments.Methods {
		fmt.Fprintf(w, "%s\t%s\n", m.Name, m.Line)
	}
	return w.Flush()
}
