package cli

import (
	"fmt"
	"strings"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/report"
)

type methodsCmd struct {
	Name string `arg:"" optional:"" help:"Method whose settings are to be listed."`
	All  bool   `help:"Also list variants and controls."`

	Set []string `sep:"none" placeholder:"KEY=VALUE" help:"With NAME: list the settings that the method has with this one, such as the settings of a rule with optim.rule=adam."`

	JSON bool `help:"Print JSON."`
}

func (c *methodsCmd) Run(t *terminal, methods *method.Catalog) error {
	if c.Name != "" {
		return c.settings(t, methods)
	}
	if c.Set != nil {
		return data.Inputf("", "--set is of the settings of one method; name it, such as calibra methods ts --set optim.rule=adam")
	}
	list := &report.Table{Labels: []string{"method"},
		Values: []report.Head{{Text: "group", Drop: 1, Wrap: true}, {Text: "needs", Wrap: true}, {Text: "what it is", Key: "what", Wrap: true}}}
	aside := 0
	for _, m := range methods.Grouped() {
		if m.Group.Aside() && !c.All {
			aside++
			continue
		}
		needs := report.Cell{Text: strings.Join(m.Needs, ", "), Value: m.Needs}
		list.Add("", report.Row{Labels: []string{m.Name}, Cells: []report.Cell{{Text: string(m.Group)}, needs, {Text: m.Line}}})
	}
	if c.JSON {
		return t.json(list.Objects())
	}
	t.tables(list)
	more := ""
	if aside > 0 {
		more = fmt.Sprintf("; --all lists %d variants and controls more", aside)
	}
	return t.closing(fmt.Sprintf("%d methods; calibra methods NAME lists the settings of one%s", list.Len(), more))
}

// settings lists the keys of one method.
func (c *methodsCmd) settings(t *terminal, methods *method.Catalog) error {
	if c.All {
		return data.Inputf("", "--all is of the list of methods; leave it out, or the name %s", c.Name)
	}
	m, err := methods.Find(c.Name)
	if err != nil {
		return err
	}
	values, err := method.ReadValues(c.Set)
	if err != nil {
		return err
	}
	divided, err := methods.Divide(values, []string{m.Name})
	if err != nil {
		return err
	}
	_, keys, err := m.Build(method.Options{Catalog: methods, Values: divided[m.Name]})
	if err != nil {
		return err
	}
	list := &report.Table{Labels: []string{"key"}, Values: []report.Head{{Text: "default", Wrap: true}, {Text: "what it is", Wrap: true}}}
	for _, k := range keys {
		what := k.Line + "; " + k.Kind
		if k.Paper != "" {
			what += "; paper: " + k.Paper
		}
		list.Add("", report.Row{Labels: []string{k.Name}, Cells: report.Texts(k.Default, what)})
	}
	if c.JSON {
		return t.json(data.Each(keys, func(k method.Key) map[string]any {
			return map[string]any{"key": k.Name, "default": k.Default, "type": k.Kind, "paper": k.Paper, "what": k.Line}
		}))
	}
	t.tables(list)
	line := m.Line
	if m.Reference != "" {
		line += " (" + m.Reference + ")"
	}
	return t.closing(fmt.Sprintf("%s: %s. It needs %s. Set a key with --set KEY=VALUE, or in a file with --set F.yaml", m.Name, line, strings.Join(m.Needs, " and ")))
}
