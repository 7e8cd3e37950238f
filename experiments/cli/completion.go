package cli

import (
	"bytes"
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/program"
	"calibra/experiments/study"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" help:"bash, zsh or fish."`
}

// completions are the scripts of the shells. They range over the commands as kong knows them.
//
//go:embed completion
var completions embed.FS

var shells = []string{"bash", "zsh", "fish"}

func (c *completionCmd) Run(k *kong.Context, t *terminal, methods *experiments.Catalog) error {
	if !slices.Contains(shells, c.Shell) {
		return data.Unknown("completion for the shell", c.Shell, shells)
	}
	words, err := completedWords(methods)
	if err != nil {
		return err
	}
	var commands []*kong.Node
	for _, node := range k.Model.Children {
		if !node.Hidden {
			commands = append(commands, node)
			words["help"] = append(words["help"], node.Name)
		}
	}
	file := c.Shell + ".tmpl"
	script := template.Must(template.New(file).Funcs(template.FuncMap{
		"program": program.Name, "quote": plainQuotes, "methods": methods.Grouped,
		"words": func(argument string) string { return strings.Join(words[argument], " ") },
		"flags": func(c *kong.Node) []*kong.Flag { return slices.Concat(c.AllFlags(true)...) },
		"values": func(f *kong.Flag) string {
			if choices.MatchString(f.PlaceHolder) {
				return strings.ReplaceAll(f.PlaceHolder, "|", " ")
			}
			return strings.Join(words["--"+f.Name], " ")
		},
	}).ParseFS(completions, "completion/"+file))
	var text bytes.Buffer
	if err := script.Execute(&text, commands); err != nil {
		return fmt.Errorf("write the completion for %s: %w", c.Shell, err)
	}
	return t.print(text.Bytes())
}

// choices is a placeholder that lists the values of its flag.
var choices = regexp.MustCompile(`^[a-z]+(\|[a-z]+)+$`)

// completedWords are the values of flags whose placeholder does not list them, and the words of commands' arguments.
func completedWords(methods *experiments.Catalog) (map[string][]string, error) {
	var keys []string
	for _, m := range methods.List() {
		_, asked, err := m.Build(experiments.Options{})
		if err != nil {
			return nil, err
		}
		keys = append(keys, data.Each(asked, func(k experiments.Key) string { return k.Name + "=" })...) // a value follows
	}
	slices.Sort(keys)
	studies := data.Each(study.Studies, func(s *study.Study) string { return s.Name })
	names := data.Each(methods.Grouped(), func(m experiments.Method) string { return m.Name })
	sources := data.Each(methods.RawSources(), func(s data.RawSource) string { return s.Name + ":" })
	return map[string][]string{
		"--method": names, "--methods": names, "--data": slices.Concat(experiments.DataNames, sources), "--encoder": {"mlp", "resmlp", "ftt", "resnet"}, "--set": slices.Compact(keys),
		"study": append(studies, study.SweepName), "theory": append(claims(methods), "fast", "all"), "methods": names, "completion": shells,
	}, nil
}

// plainQuotes is help without what the shells' quotes would end at.
func plainQuotes(help string) string {
	return strings.NewReplacer("'", "’", `"`, "”", "\\", "", "`", "", "$", "", "[", "(", "]", ")", ":", ";", "\n", " ").Replace(help)
}
