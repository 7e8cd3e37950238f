// Package cli is the command calibra as a library: one file for each command. A program
// that has methods of its own is all of calibra for them too, fit, apply, compare and
// study:
//
//	func main() {
//		os.Exit(cli.Main(experiments.OnCodewords("mine", "my map", Mine{})))
//	}
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"syscall"

	"calibra/data"
	"calibra/experiments"
	"calibra/layers"

	"github.com/alecthomas/kong"
)

// cli lists the commands; each is a struct with a Run method in the file of its name.
type cli struct {
	Quickstart quickstartCmd `cmd:"" help:"Calibrate a small classifier end to end on embedded data."`
	Pretrain   pretrainCmd   `cmd:"" help:"Train a classifier on raw rows, to be encoded and calibrated."`
	Encode     encodeCmd     `cmd:"" help:"Read features and logits of raw data from a trained network, an ONNX file or one of pretrain's."`
	Fit        fitCmd        `cmd:"" help:"Fit a calibrator to the outputs of a frozen classifier."`
	Apply      applyCmd      `cmd:"" help:"Calibrate the test rows of a features file with a fitted model."`
	Export     exportCmd     `cmd:"" help:"Write a fitted model as a network in ONNX."`
	Evaluate   evaluateCmd   `cmd:"" help:"Measure predictions, globally and locally, with their uncertainty."`
	Diagnose   diagnoseCmd   `cmd:"" help:"Say where predictions are wrong: regions of the latent space, classes, confidences, groups."`
	Study      studyCmd      `cmd:"" help:"Run one of the paper's studies and write its report."`
	Compare    compareCmd    `cmd:"" help:"Fit many methods side by side and say which differ."`
	Methods    methodsCmd    `cmd:"" help:"List the methods that fit knows."`
	Bench      benchCmd      `cmd:"" help:"Time training, metrics and predictions on this machine."`
	Theory     theoryCmd     `cmd:"" help:"Check the convergence claims numerically on synthetic problems."`
	Readme     readmeCmd     `cmd:"" help:"Write the tables and pictures of README.md from its result files."`
	Info       infoCmd       `cmd:"" help:"Say what this build runs on."`
}

// Exit codes besides 0.
const (
	exitFailure     = 1   // the work failed
	exitUsage       = 2   // the input or the flags are wrong; nothing was written
	exitNoDevice    = 3   // --device cuda, and there is none or its memory is too small
	exitInterrupted = 130 // Ctrl-C, by the shell's convention 128 + SIGINT, or SIGTERM, as schedulers send it
)

// usageError marks an error as the user's to mend: exit code 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Main runs the command that the program's arguments name and returns its exit code. The
// command knows experiments.Methods and the methods given, which are looked up by name
// like the others, in saved models too.
func Main(methods ...experiments.Method) int { return run(os.Args[1:], methods...) }

// run is Main with the arguments args.
func run(args []string, methods ...experiments.Method) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends at once

	var exited *int // set by --help
	parser, err := kong.New(&cli{},
		kong.Name("calibra"),
		kong.Description("Local multiclass calibration: divide the latent space, calibrate each region, measure both."),
		kong.Exit(func(code int) { exited = &code }),
		kong.NamedMapper("path", kong.MapperFunc(decodePath)),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(experiments.NewCatalog(methods...)),
	)
	if err != nil {
		panic("calibra: " + err.Error())
	}
	command, err := parser.Parse(args)
	if exited != nil {
		return *exited
	}
	if err == nil {
		err = command.Run()
	} else {
		err = usageError{err}
	}
	return exitCode(err)
}

// decodePath makes a path absolute. An empty one, as of a shell variable that is not
// set, would be the current directory.
func decodePath(ctx *kong.DecodeContext, target reflect.Value) error {
	var path string
	if err := ctx.Scan.PopValueInto("path", &path); err != nil {
		return err
	}
	if path == "" {
		return errors.New(`the path is empty; for the current directory write "."`)
	}
	target.SetString(kong.ExpandPath(path))
	return nil
}

// exitCode prints err as one sentence on stderr and returns its exit code.
func exitCode(err error) int {
	var (
		usage   usageError
		input   *data.InputError
		setting *layers.SettingError
	)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "calibra: interrupted:", err)
		return exitInterrupted
	case lacksDevice(err):
		fmt.Fprintln(os.Stderr, "calibra:", err)
		return exitNoDevice
	case errors.As(err, &usage), errors.As(err, &input), errors.As(err, &setting):
		fmt.Fprintln(os.Stderr, "calibra:", err)
		return exitUsage
	}
	fmt.Fprintln(os.Stderr, "calibra:", err)
	return exitFailure
}
