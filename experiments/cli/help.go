package cli

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"calibra/experiments/method"

	"github.com/alecthomas/kong"
)

// helps are what --help prints of each command besides its flags: NAME.txt. What follows a line --- is printed by
// --help --all alone.
//
//go:embed help
var helps embed.FS

// asksHelp turns the arguments "help fit" into "fit --help", takes --all away where help is asked for, and reports
// whether it was there.
func asksHelp(args []string) (rest []string, all bool) {
	if args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	if !slices.Contains(args, "--help") && !slices.Contains(args, "-h") {
		return args, false
	}
	rest = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--all" })
	return rest, len(rest) < len(args)
}

// explain gives the commands their help, and lists the raw sources of another module in that of --data.
func explain(k *kong.Kong, methods *method.Catalog) error {
	var sources string
	for _, s := range methods.RawSources() {
		sources += fmt.Sprintf(" Or %s:REST, %s.", s.Name, cmp.Or(s.Line, "rows of a source of this program's own"))
	}
	k.Model.HelpFlag.Help = "Explain the command; --help --all explains every flag."
	k.Model.HelpFlag.Group = k.Model.Flags[1].Group
	for _, command := range k.Model.Children {
		text, err := helps.ReadFile("help/" + command.Name + ".txt")
		if err != nil {
			return err
		}
		command.Detail = strings.ReplaceAll(strings.TrimSuffix(string(text), "\n"), "${studies}", strings.Join(studyNames(methods), ", "))
		for _, f := range command.Flags {
			if f.Name == "data" {
				f.Help += sources
			}
		}
	}
	return nil
}

// firstExample is the first command of a help text.
func firstExample(command string) string {
	text, _ := helps.ReadFile("help/" + command + ".txt")
	for _, line := range strings.Split(strings.ReplaceAll(string(text), "\\\n", ""), "\n") {
		if example, indented := strings.CutPrefix(line, "  "); indented && strings.HasPrefix(example, "calibra ") {
			example, _, _ = strings.Cut(example, "#")
			return strings.Join(strings.Fields(example), " ")
		}
	}
	return "calibra " + command + " --help"
}

// allHelp is the help of --help --all: each flag, by groups, and the exit codes.
func allHelp(o kong.HelpOptions, k *kong.Context) error {
	if command := k.Selected(); command != nil {
		command.Detail = strings.Replace(command.Detail, "\n---\n", "\n\n", 1)
	}
	return printHelp(o, k)
}

// firstHelp is the help of --help: what a first user needs, which are the flags that are in no group.
func firstHelp(o kong.HelpOptions, k *kong.Context) error {
	command := k.Selected()
	if command == nil {
		return printHelp(o, k)
	}
	command.Detail, _, _ = strings.Cut(command.Detail, "\n---\n")
	more := 0
	for _, flag := range slices.Concat(command.AllFlags(true)...) {
		if flag.Group != nil {
			flag.Hidden = true
			more++
		}
	}
	if err := kong.DefaultHelpPrinter(o, k); err != nil {
		return err
	}
	_, err := fmt.Fprintf(k.Stdout, "\ncalibra %s --help --all explains %d more flags, and the exit codes.\n", command.Name, more)
	return err
}

// printHelp prints a whole help text, with the exit codes at its end.
func printHelp(o kong.HelpOptions, k *kong.Context) error {
	o.Compact = true
	if err := kong.DefaultHelpPrinter(o, k); err != nil {
		return err
	}
	text := "\nExit codes:\n"
	for _, c := range exitCodes {
		text += fmt.Sprintf("  %3d  %s\n", c.code, c.what)
	}
	_, err := io.WriteString(k.Stdout, text)
	return err
}
