package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"calibra/data"
	"calibra/experiments/cli"

	"github.com/alecthomas/kong"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
)

//go:embed usage.txt
var usage string

// A command reads its arguments, without Beam's flags, and runs.
type command func(ctx context.Context, args []string, out io.Writer) error

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "calibra-beam: "+err.Error())
	}
	os.Exit(cli.ExitCode(err))
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
	flag.CommandLine.Init("calibra-beam", flag.ContinueOnError) // with one sentence, not with all flags
	flag.CommandLine.SetOutput(io.Discard)
	if err := flag.CommandLine.Parse(beams); err != nil {
		return data.Inputf("", "%w", err)
	}
	if err := work(ctx, ours, out); !errors.Is(err, errHelp) {
		return err
	}
	return nil
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

// errHelp ends a command that was asked for help and has printed it.
var errHelp = errors.New("help is printed")

// parse reads a command's own flags, which are the fields of into.
func parse(command, what string, into any, args []string, out io.Writer) error {
	helped := false
	parser, err := kong.New(into, kong.Name("calibra-beam "+command), kong.Description(what), kong.Writers(out, out), kong.Exit(func(int) { helped = true }))
	if err != nil {
		return err
	}
	_, err = parser.Parse(args)
	switch {
	case helped:
		return errHelp
	case err != nil:
		return data.Inputf("", "%w", err)
	}
	return nil
}

// part runs a calibra command as a part of an element and gives what it printed. Its notes
// are logged.
func part(ctx context.Context, args []string) (printed string, err error) {
	dir, err := os.MkdirTemp("", "calibra-beam-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		return "", err
	}
	defer out.Close()
	notes, err := os.Create(filepath.Join(dir, "notes"))
	if err != nil {
		return "", err
	}
	defer notes.Close()
	failed := cli.Run(ctx, append([]string{"--quiet"}, args...), out, notes)
	said, err := os.ReadFile(notes.Name())
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(said)) {
		log.Warn(ctx, strings.TrimSpace(line))
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		return "", err
	}
	return string(text), failed
}
