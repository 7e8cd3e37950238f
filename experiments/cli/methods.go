package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"text/tabwriter"

	"calibra/experiments"
)

type methodsCmd struct {
	Name string `arg:"" optional:"" help:"Method whose settings are to be listed."`
	JSON bool   `help:"Print JSON."`
}

func (methodsCmd) Help() string {
	return `Example:

  calibra methods
  calibra methods vq

With a name, prints the method's settings: the key that --set and --config take, its
default, its type, and the value in the paper or in the code behind its tables.`
}

func (c *methodsCmd) Run(_ context.Context, methods *experiments.Catalog) error {
	if c.Name != "" {
		return c.settings(methods)
	}
	if c.JSON {
		type line struct {
			Name  string   `json:"name"`
			Line  string   `json:"what"`
			Needs []string `json:"needs"`
		}
		var lines []line
		for _, m := range methods.List() {
			lines = append(lines, line{m.Name, m.Line, m.Needs})
		}
		return printJSON(lines)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, m := range methods.List() {
		fmt.Fprintf(w, "%s\t%s\n", m.Name, m.Line)
	}
	return w.Flush()
}

// settings lists the keys of one method.
func (c *methodsCmd) settings(methods *experiments.Catalog) error {
	m, err := methods.Find(c.Name)
	if err != nil {
		return err
	}
	_, keys, err := m.Build(experiments.Options{})
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(keys)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "key\tdefault\ttype\tpaper\twhat it is\n")
	for _, k := range keys {
		fmt.Fprintf(w, "%s\t%v\t%s\t%s\t%s\n", k.Name, k.Default, k.Kind, k.Paper, k.Line)
	}
	return w.Flush()
}

// printJSON prints v as indented JSON.
func printJSON(v any) error {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(v)
}
