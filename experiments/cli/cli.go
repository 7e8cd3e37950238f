// Package cli is the command calibra as a library, with one file for each command. A program that passes methods of its
// own to [Main] has all commands for them too:
//
//	func main() {
//		os.Exit(cli.Main(method.OnCodewords("mine", "my map", Mine{})))
//	}
package cli

import (
	"context"
	_ "embed" // greeting
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	own "calibra"
	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/program"
	"calibra/graph/blas"

	"github.com/alecthomas/kong"
)

// command is one of the program: a struct with a Run method, in the file of its name.
type command struct {
	name, group, help string
	made              func() any
}

var everyCommand = []command{
	{"quickstart", "Calibrate:", "Calibrate a small classifier end to end on embedded data.", made[quickstartCmd]},
	{"fit", "Calibrate:", "Fit a calibrator to the outputs of a frozen classifier.", made[fitCmd]},
	{"compare", "Calibrate:", "Fit several methods to the same rows and say which to use.", made[compareCmd]},
	{"apply", "Calibrate:", "Predict calibrated probabilities with a fitted model.", made[applyCmd]},
	{"export", "Calibrate:", "Write a fitted model as a network in ONNX.", made[exportCmd]},
	{"evaluate", "Look closer:", "Measure the calibration of predictions, overall and locally.", made[evaluateCmd]},
	{"diagnose", "Look closer:", "Find where predictions are wrong: regions, classes, confidences, groups.", made[diagnoseCmd]},
	{"methods", "Look closer:", "List the methods, or the settings of one method.", made[methodsCmd]},
	{"pretrain", "Get features:", "Train a classifier on raw rows.", made[pretrainCmd]},
	{"encode", "Get features:", "Write the features and logits of raw rows, or the rows that a study uses.", made[encodeCmd]},
	{"study", "Research:", "Run a study, such as the paper's main comparison, and write its report.", made[studyCmd]},
	{"theory", "Research:", "Check the convergence theory numerically on synthetic problems.", made[theoryCmd]},
	{"new", "Research:", "Write a Go module with a map, a metric or another part of your own.", made[newCmd]},
	{"info", "This program:", "Print versions, the CPU's vector units and the GPU.", made[infoCmd]},
}

// made is a command as its flags fill it.
func made[T any]() any { return new(T) }

// everywhere are the flags of every command.
type everywhere struct {
	Quiet   bool        `short:"q" group:"Flags of every command:" help:"Print results and errors only: no progress, no notes."`
	Version versionFlag `group:"Flags of every command:" help:"Print the version and exit."`
}

// versionFlag prints the version and ends the program.
type versionFlag bool

// BeforeReset runs before the other flags are looked at.
func (versionFlag) BeforeReset(k *kong.Kong, t *terminal) error {
	p, err := program.ThisProgram()
	if err != nil {
		return err
	}
	if err := t.printf("%s, CPU units %s\n", p, blas.InstructionSet()); err != nil {
		return err
	}
	k.Exit(0)
	return nil
}

// greeting is what calibra prints without arguments.
//
//go:embed greeting.txt
var greeting string

// Main runs the command that the program's arguments name and returns its exit code. The
// command knows method.All and the parts given, methods, rules, metrics and raw
// sources, which are looked up by name like the others, in saved models too.
func Main(parts ...method.Part) int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collect)
	}
	code := execute(os.Args[1:], parts...)
	runtime.KeepAlive(unused)
	return code
}

// collect is how much garbage, in % of what is in use, may gather before it is collected.
// Arrays of numbers hold no pointers, so that to look through them takes no time, and garbage
// of Go's usual 100 % would double the memory of large data.
const collect = 25

// unused is memory that is never touched, so that it takes none but counts as in use: without it garbage would be
// collected after each megabyte.
var unused = make([]byte, 64<<20)

// execute is Main with the arguments args.
func execute(args []string, parts ...method.Part) (code int) {
	blas.Install()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends at once

	methods, err := method.JoinCatalog(append(parts, method.Sources{Path: "calibra", Files: own.Sources})...)
	if err != nil {
		return ended(err)
	}
	if slices.Equal(args, []string{worker}) {
		return serve(ctx, os.Stdin, methods)
	}
	return answer(ctx, methods, args)
}

// ended says on stderr what went wrong, if anything did, and is the exit code.
func ended(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, data.Lines(sentence(err)))
		fmt.Fprint(os.Stderr, data.Lines(traced(err)))
	}
	return ExitCode(err)
}

// errExit ends a command that has said all, such as --help.
var errExit = errors.New("exit")

// answer runs what args name and returns the exit code.
func answer(ctx context.Context, methods *method.Catalog, args []string) int {
	return ended(caught(func() error { return runLine(ctx, methods, args) }))
}

// caught is the error of do, or a program.Fault where it panics.
func caught(do func() error) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case errExit:
			err = nil
		default:
			err = program.Caught(p)
		}
	}()
	return do()
}

// runLine runs what args name.
func runLine(ctx context.Context, methods *method.Catalog, args []string) error {
	t := &terminal{out: os.Stdout, err: os.Stderr}
	if len(args) == 0 {
		return t.print([]byte(greeting))
	}
	args, all := asksHelp(args)
	help := firstHelp
	if all {
		help = allHelp
	}
	named := slices.DeleteFunc(slices.Clone(everyCommand), func(c command) bool { return c.name != args[0] })
	if len(named) == 0 {
		named = everyCommand
	}
	parser, err := newParser(ctx, named, t, methods, kong.Help(help))
	if err != nil {
		return err
	}
	k, err := parser.Parse(args)
	if err != nil {
		return wrongFlags(err)
	}
	shown, stop := t.watch(ctx)
	defer stop()
	k.BindTo(shown, (*context.Context)(nil))
	undo, err := trafficOf(k.Selected()).prepare()
	if err != nil {
		return err
	}
	defer undo()
	return k.Run()
}

// newParser is the parser of the flags of commands, which run with the context, terminal and methods. It takes longer
// to make for one more command than to parse a line.
func newParser(ctx context.Context, commands []command, t *terminal, methods *method.Catalog, options ...kong.Option) (*kong.Kong, error) {
	for _, c := range commands {
		options = append(options, kong.DynamicCommand(c.name, c.help, c.group, c.made()))
	}
	return kong.New(&everywhere{}, append(options,
		kong.Name("calibra"),
		kong.Description("Local multiclass calibration: divide the latent space, calibrate each region, and measure what error remains."),
		defaults(methods),
		kong.Exit(func(int) { panic(errExit) }),
		kong.Writers(t.out, t.err),
		kong.PostBuild(func(k *kong.Kong) error { return explain(k, methods) }),
		kong.NamedMapper("path", kong.MapperFunc(decodePath)),
		kong.NamedMapper("output", kong.MapperFunc(decodePath)),
		kong.NamedMapper("paths", kong.MapperFunc(decodePaths)),
		kong.NamedMapper("input", decodeInput(methods)),
		kong.NamedMapper("model", kong.MapperFunc(decodeModel)),
		kong.NamedMapper("priors", decodePathOr(func(word string) bool { return word == estimate })),
		kong.NamedMapper("predictions", decodePredictions(methods)),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(methods, t),
	)...)
}

// defaults are what the help says of the methods that are fitted where none is named.
func defaults(methods *method.Catalog) kong.Vars {
	recommended := methods.Recommended()
	var instead []string
	for _, name := range method.Instead {
		if m, err := methods.Find(name); err == nil {
			lacking := slices.DeleteFunc(slices.Clone(recommended.Needs), func(key string) bool { return slices.Contains(m.Needs, key) })
			instead = append(instead, name+" without "+strings.Join(lacking, " and "))
		}
	}
	instead = append(instead, fmt.Sprintf("%s with fewer than %d calibration rows", method.Few, method.FewestRows))
	return kong.Vars{"recommended": recommended.Name, "instead": strings.Join(instead, ", "), "compared": strings.Join(usual(methods), ","), "corruptions": strings.Join(data.Corruptions, ", ")}
}

// decodePath makes a path absolute. An empty one, as of a shell variable that is not
// set, would be the current directory.
func decodePath(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("path")
	if err != nil {
		return err
	}
	path := token.String() // its bytes, which may be no UTF-8
	if path == "" {
		return errors.New(`the path is empty; for the current directory write "."`)
	}
	target.SetString(kong.ExpandPath(path))
	return nil
}

// decodePaths adds one path, or several with commas between them, as decodePath reads each.
func decodePaths(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("paths")
	if err != nil {
		return err
	}
	paths := []string{token.String()}
	if !isDir(paths[0]) {
		paths = strings.Split(paths[0], ",")
	}
	for _, path := range paths {
		if path == "" {
			return errors.New(`a path is empty; for the current directory write "."`)
		}
		target.Set(reflect.Append(target, reflect.ValueOf(kong.ExpandPath(path))))
	}
	return nil
}
