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

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/program"
	"calibra/graph/blas"

	"github.com/alecthomas/kong"
)

// cli lists the commands; each is a struct with a Run method in the file of its name.
type cli struct {
	Quickstart quickstartCmd `cmd:"" group:"Calibrate:" help:"Calibrate a small classifier end to end on embedded data."`
	Fit        fitCmd        `cmd:"" group:"Calibrate:" help:"Fit a calibrator to the outputs of a frozen classifier."`
	Compare    compareCmd    `cmd:"" group:"Calibrate:" help:"Fit several methods to the same rows and say which to use."`
	Apply      applyCmd      `cmd:"" group:"Calibrate:" help:"Predict calibrated probabilities with a fitted model."`
	Export     exportCmd     `cmd:"" group:"Calibrate:" help:"Write a fitted model as a network in ONNX."`
	Evaluate   evaluateCmd   `cmd:"" group:"Look closer:" help:"Measure the calibration of predictions, overall and locally."`
	Diagnose   diagnoseCmd   `cmd:"" group:"Look closer:" help:"Find where predictions are wrong: regions, classes, confidences, groups."`
	Methods    methodsCmd    `cmd:"" group:"Look closer:" help:"List the methods, or the settings of one method."`
	Pretrain   pretrainCmd   `cmd:"" group:"Get features:" help:"Train a classifier on raw rows."`
	Encode     encodeCmd     `cmd:"" group:"Get features:" help:"Write the features and logits of raw rows, or the rows that a study uses."`
	Study      studyCmd      `cmd:"" group:"Research:" help:"Run a study, such as the paper's main comparison, and write its report."`
	Theory     theoryCmd     `cmd:"" group:"Research:" help:"Check the convergence theory numerically on synthetic problems."`
	New        newCmd        `cmd:"" group:"Research:" help:"Write a Go module with a map, a metric or another part of your own."`
	Info       infoCmd       `cmd:"" group:"This program:" help:"Print versions, the CPU's vector units and the GPU."`

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

	methods, err := method.JoinCatalog(parts...)
	if err != nil {
		return ended(err)
	}
	if slices.Equal(args, []string{worker}) {
		return serve(ctx, os.Stdin, methods)
	}
	return newLine(ctx, methods).answer(args)
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

// line is a command line before its words are known, since its parser takes longer to make than they take to read.
type line struct {
	flags    cli
	terminal *terminal
	parser   *kong.Kong
	help     kong.HelpPrinter
	err      error
}

// newLine is for one line.
func newLine(ctx context.Context, methods *method.Catalog) *line {
	l := &line{terminal: &terminal{out: os.Stdout, err: os.Stderr}, help: firstHelp}
	printer := func(o kong.HelpOptions, k *kong.Context) error { return l.help(o, k) }
	l.err = caught(func() (err error) {
		l.parser, err = newParser(ctx, &l.flags, l.terminal, methods, kong.Help(printer))
		return err
	})
	return l
}

// answer runs what args name and returns the exit code.
func (l *line) answer(args []string) int {
	if l.err != nil {
		return ended(l.err)
	}
	return ended(caught(func() error { return l.run(args) }))
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

// run runs what args name.
func (l *line) run(args []string) error {
	if len(args) == 0 {
		return l.terminal.print([]byte(greeting))
	}
	args, all := asksHelp(args)
	if all {
		l.help = allHelp
	}
	k, err := l.parser.Parse(args)
	if err != nil {
		return wrongFlags(err)
	}
	undo, err := trafficOf(k.Selected()).prepare()
	if err != nil {
		return err
	}
	defer undo()
	return k.Run()
}

// newParser is the parser of the flags, whose commands run with the context, terminal and methods.
func newParser(ctx context.Context, flags *cli, t *terminal, methods *method.Catalog, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(flags, append(options,
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
	return kong.Vars{"recommended": recommended.Name, "instead": strings.Join(instead, ", "), "compared": strings.Join(usual(methods), ",")}
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
