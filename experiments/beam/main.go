package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"calibra/data"
	"calibra/experiments/cli"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

const usage = `Calibra on Apache Beam.

  calibra-beam evaluate --in 'predictions/part-*.npz' --json
      measure predictions, shard by shard
  calibra-beam apply --model runs/vq --in 'features/part-*.npz' --out calibrated
      calibrate features files with a fitted model
  calibra-beam study main --data letter --out runs/main
      run a study, a cell an element; arguments are those of calibra study
  calibra-beam generate --rows 10000000 --shards 100 --out 'rows/part-*.npz'
      write predictions to try it on

All take Beam's flags, such as --runner flink --endpoint HOST:8099 --environment_type LOOPBACK;
without them the pipeline runs in this process. calibra-beam COMMAND --help lists the others.
`

// A command reads its arguments, without Beam's flags, and runs.
type command func(ctx context.Context, args []string, out io.Writer) error

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "calibra-beam: "+err.Error())
	}
	os.Exit(exitCode(err))
}

// errUsage is of flags that make no sense.
type errUsage struct{ error }

func exitCode(err error) int {
	var wrong errUsage
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &wrong):
		return 2
	}
	return cli.ExitCode(err)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	commands := map[string]command{"evaluate": evaluate, "apply": apply, "study": runStudy, "generate": generate}
	if len(args) > 0 && strings.HasPrefix(args[0], "--worker") { // a container of the runner
		flag.CommandLine.Parse(args)
		beam.Init()
		return nil
	}
	if len(args) == 0 || args[0] == "help" || args[0] == "--help" || args[0] == "-h" {
		fmt.Fprint(out, usage)
		return nil
	}
	work := commands[args[0]]
	if work == nil {
		return data.Unknown("command", args[0], []string{"evaluate", "apply", "study", "generate"})
	}
	ours, beams := split(args[1:])
	if err := flag.CommandLine.Parse(beams); err != nil {
		return errUsage{err}
	}
	return work(ctx, ours, out)
}

// split parts the arguments of a command from Beam's flags, which are those that Beam
// registers.
func split(args []string) (ours, beams []string) {
	for i := 0; i < len(args); i++ {
		name, _, whole := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		f := flag.CommandLine.Lookup(name)
		if !strings.HasPrefix(args[i], "-") || f == nil || strings.HasPrefix(name, "test.") {
			ours = append(ours, args[i])
			continue
		}
		beams = append(beams, args[i])
		boolean, _ := f.Value.(interface{ IsBoolFlag() bool })
		if !whole && (boolean == nil || !boolean.IsBoolFlag()) && i+1 < len(args) {
			i++
			beams = append(beams, args[i])
		}
	}
	return ours, beams
}

// parse reads a command's own flags.
func parse(flags *flag.FlagSet, args []string) error {
	flags.SetOutput(os.Stdout)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage{err}
	}
	if flags.NArg() > 0 {
		return errUsage{fmt.Errorf("%q belongs to no flag", flags.Arg(0))}
	}
	return nil
}
