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
	"calibra/experiments/study"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" help:"bash, zsh or fish."`
}

// completed is a command as the scripts know it.
type completed struct {
	Name, Help string
	Flags      []completedFlag
	Words      []string // of its argument
}

type completedFlag struct {
	Name, Help string
	Words      []string          // of its value
	Lines      map[string]string // what the words are, as far as that is said
	Value      bool              // whether it takes one; a file where there are no words
}

//go:embed completion
var completions embed.FS

var shells = []string{"bash", "zsh", "fish"}

func (c *completionCmd) Run(k *kong.Context, t *terminal, methods *experiments.Catalog) error {
	if !slices.Contains(shells, c.Shell) {
		return data.Unknown("completion for the shell", c.Shell, shells)
	}
	lines, keys, err := describe(methods)
	if err != nil {
		return err
	}
	words := completedWords(methods)
	words["--set"] = keys
	var commands []completed
	for _, node := range k.Model.Children {
		if !node.Hidden {
			commands = append(commands, complete(node, words, lines))
			words["help"] = append(words["help"], node.Name)
		}
	}
	at := slices.IndexFunc(commands, func(c completed) bool { return c.Name == "help" })
	commands[at].Words = words["help"]
	file := c.Shell + ".tmpl"
	funcs := template.FuncMap{"program": programName, "join": func(words []string) string { return strings.Join(words, " ") }, "fishes": fishes}
	var text bytes.Buffer
	if err := template.Must(template.New(file).Funcs(funcs).ParseFS(completions, "completion/"+file)).Execute(&text, commands); err != nil {
		return fmt.Errorf("write the completion for %s: %w", c.Shell, err)
	}
	return t.print(text.Bytes())
}

// completedWords are the words of flags whose placeholder does not list them, and of commands' arguments.
func completedWords(methods *experiments.Catalog) map[string][]string {
	var studies []string
	for _, s := range study.Studies {
		studies = append(studies, s.Name)
	}
	sources := slices.Clone(experiments.DataNames)
	for _, s := range methods.RawSources() {
		sources = append(sources, s.Name+":")
	}
	return map[string][]string{
		"--method": methods.Names(), "--methods": methods.Names(), "--data": sources, "--encoder": {"mlp", "resmlp", "ftt", "resnet"},
		"study": append(studies, study.TruthName), "theory": append(claims(), "fast", "all"), "methods": methods.Names(), "completion": shells,
	}
}

// choices is a placeholder that lists the words of its flag.
var choices = regexp.MustCompile(`^[a-z]+(\|[a-z]+)+$`)

// complete is a command with the words of its flags, and what the methods are.
func complete(node *kong.Node, words map[string][]string, lines map[string]string) completed {
	command := completed{Name: node.Name, Help: plainQuotes(node.Help), Words: words[node.Name]}
	for _, f := range slices.Concat(node.AllFlags(true)...) {
		name := "--" + f.Name
		flag := completedFlag{Name: name, Help: plainQuotes(f.Help), Words: words[name], Value: !f.IsBool()}
		if choices.MatchString(f.PlaceHolder) {
			flag.Words = strings.Split(f.PlaceHolder, "|")
		}
		if strings.HasPrefix(name, "--method") {
			flag.Lines = lines
		}
		command.Flags = append(command.Flags, flag)
	}
	return command
}

// describe are what the methods are, and the keys of their settings, each once, with the = that
// follows.
func describe(methods *experiments.Catalog) (lines map[string]string, keys []string, err error) {
	lines = map[string]string{}
	for _, m := range methods.List() {
		lines[m.Name] = plainQuotes(m.Line)
		_, asked, err := m.Build(experiments.Options{})
		if err != nil {
			return nil, nil, err
		}
		for _, k := range asked {
			keys = append(keys, k.Name+"=")
		}
	}
	slices.Sort(keys)
	return lines, slices.Compact(keys), nil
}

// fishes are the words of a flag for fish, each with what it is where that is said.
func fishes(f completedFlag) string {
	if f.Lines == nil {
		return "'" + strings.Join(f.Words, " ") + "'"
	}
	text := `"(printf '%s\t%s\n'`
	for _, w := range f.Words {
		text += fmt.Sprintf(" '%s' '%s'", w, f.Lines[w])
	}
	return text + `)"`
}

// plainQuotes is help without what the shells' quotes would end at.
func plainQuotes(help string) string {
	return strings.NewReplacer("'", "’", `"`, "”", "\\", "", "`", "", "$", "", "[", "(", "]", ")", ":", ";", "\n", " ").Replace(help)
}
