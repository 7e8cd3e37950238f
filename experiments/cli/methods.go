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

func (methodsCmd) Run(_ context.Context, methods *experiments.Catalog) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, m := range methods.List() {
		fmt.Fprintf(w, "%s\t%s\n", m.Name, m.Line)
	}
	return w.Flush()
}
