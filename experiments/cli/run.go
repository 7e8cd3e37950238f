package cli

import (
	"context"
	"os"

	"calibra/experiments"
	"calibra/graph/blas"
)

// Run runs the command that args name, for programs that use commands as parts, such as
// experiments/beam: results go to out, notes and progress to notes. Parts are those of
// [Main].
func Run(ctx context.Context, args []string, out, notes *os.File, parts ...experiments.Part) error {
	blas.Install()
	return command(ctx, args, &terminal{out: out, err: notes}, experiments.NewCatalog(parts...))
}

// ExitCode is what calibra exits with after err, 0 after none.
func ExitCode(err error) int { return exitCode(err) }
