package layers

import (
	"context"

	"calibra/graph/simd"
	"calibra/optim"

	"github.com/sourcegraph/conc"
)

// SideBySide does n parts of ctx's computation that take alike, such as fits to folds: as many at once as there are threads,
// which they share. It gives their errors (n).
func SideBySide(ctx context.Context, what string, n int, part func(ctx context.Context, k int) error) []error {
	errs, contexts := make([]error, n), optim.Abreast(ctx, what, n)
	var wait conc.WaitGroup
	running := make(chan struct{}, simd.Threads())
	for k := range n {
		running <- struct{}{}
		wait.Go(func() {
			defer func() { <-running }()
			defer simd.Abreast()()
			if errs[k] = part(contexts[k], k); errs[k] == nil {
				optim.ReportProgress(contexts[k], "done", 1)
			}
		})
	}
	wait.Wait()
	return errs
}
