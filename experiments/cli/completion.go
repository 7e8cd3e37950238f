package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/study"
	"calibra/theory"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" help:"bash, zsh or fish."`
}

func (completionCmd) Help() string {
	return `Example:

  source <(calibra completion bash)            # in ~/.bashrc
  source <(calibra completion zsh)             # in ~/.zshrc, after compinit
  calibra completion fish | source             # in ~/.config/fish/config.fish

Completes commands, flags, methods, studies and names of data sets.`
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

func (c *completionCmd) Run(k *kong.Context, t *terminal, methods *experiments.Catalog) error {
	script, ok := completions[c.Shell]
	if !ok {
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
		}
	}
	for i, c := range commands {
		if c.Name == "help" {
			for _, other := range commands {
				commands[i].Words = append(commands[i].Words, other.Name)
			}
		}
	}
	var text bytes.Buffer
	if err := template.Must(template.New("").Funcs(template.FuncMap{"program": programName, "join": func(words []string) string { return strings.Join(words, " ") }, "fishes": fishes}).Parse(script)).Execute(&text, commands); err != nil {
		return fmt.Errorf("write the completion for %s: %w", c.Shell, err)
	}
	return t.print(text.Bytes())
}

var shells = []string{"bash", "zsh", "fish"}

// completedWords are the words of flags and of commands' arguments.
func completedWords(methods *experiments.Catalog) map[string][]string {
	studies, claims := []string{}, []string{}
	for _, s := range study.Studies {
		studies = append(studies, s.Name)
	}
	for _, s := range theory.Studies() {
		claims = append(claims, s.Name)
	}
	sources := slices.Clone(experiments.DataNames)
	for _, s := range methods.RawSources() {
		sources = append(sources, s.Name+":")
	}
	return map[string][]string{
		"--method": methods.Names(), "--methods": methods.Names(), "--split": {"paper", "tables", "none"}, "--ema": {"warm", "zero"},
		"--device": {"cpu", "auto", "cuda"}, "--protocol": {"tables", "formula"}, "--data": sources,
		"--encoder": {"mlp", "resmlp", "ftt", "resnet"}, "--binning": {"width", "quantile"}, "--weights": {"uniform", "frequency"},
		"study": append(studies, study.TruthName), "theory": append(claims, "fast", "all"), "methods": methods.Names(), "completion": shells,
	}
}

// complete is a command with the words of its flags, and what the methods are.
func complete(node *kong.Node, words map[string][]string, lines map[string]string) completed {
	command := completed{Name: node.Name, Help: plainQuotes(node.Help), Words: words[node.Name]}
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			name := "--" + f.Name
			flag := completedFlag{Name: name, Help: plainQuotes(f.Help), Words: words[name], Value: !f.IsBool()}
			if strings.HasPrefix(name, "--method") {
				flag.Lines = lines
			}
			if node.Name != "evaluate" && strings.HasPrefix(name, "--weights") {
				flag.Words = nil // pretrain's --weights is a file
			}
			command.Flags = append(command.Flags, flag)
		}
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

// completions are the scripts.
var completions = map[string]string{
	"bash": `# calibra completion bash
_calibra() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "{{range .}}{{.Name}} {{end}}--help --version" -- "$current"))
    return
  fi
  case "${COMP_WORDS[1]} $before" in
{{- range $c := .}}{{range .Flags}}{{if .Words}}
    "{{$c.Name}} {{.Name}}") {{if eq .Name "--set"}}compopt -o nospace 2>/dev/null; {{end}}COMPREPLY=($(compgen -W "{{join .Words}}" -- "$current")); return ;;
{{- else if .Value}}
    "{{$c.Name}} {{.Name}}") compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$current")); return ;;
{{- end}}{{end}}{{end}}
  esac
  case ${COMP_WORDS[1]} in
{{- range .}}
    {{.Name}}) words="{{join .Words}}{{range .Flags}} {{.Name}}{{end}}" ;;
{{- end}}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _calibra {{program}}
`,
	"zsh": `#compdef {{program}}
_calibra() {
  local -a commands
  commands=(
{{- range .}}
    '{{.Name}}:{{.Help}}'
{{- end}}
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
{{- range .}}
    {{.Name}}) _arguments{{if .Words}} '*:name:({{join .Words}})'{{end}}{{range .Flags}} '{{.Name}}[{{.Help}}]{{if .Words}}:value:({{join .Words}}){{else if .Value}}:value:_files{{end}}'{{end}} ;;
{{- end}}
  esac
}
compdef _calibra {{program}}
`,
	"fish": `# calibra completion fish
complete -c {{program}} -f
{{- range $c := .}}
complete -c {{program}} -n __fish_use_subcommand -a {{.Name}} -d '{{.Help}}'
{{- if .Words}}
complete -c {{program}} -n '__fish_seen_subcommand_from {{.Name}}' -a '{{join .Words}}'
{{- end}}
{{- range .Flags}}
complete -c {{program}} -n '__fish_seen_subcommand_from {{$c.Name}}' -l {{slice .Name 2}} -d '{{.Help}}'{{if .Words}} -x -a {{fishes .}}{{else if .Value}} -r -F{{end}}
{{- end}}
{{- end}}
`,
}
