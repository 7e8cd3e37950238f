package theory

import (
	"context"
	"runtime"
	"sync/atomic"

	"calibra/graph/simd"

	"github.com/sourcegraph/conc/pool"
)

// each gives what of(model, i) does for i = 0 … n−1, done on all cores. Each goroutine has a fork of
// the model, if there is one, whose scratch memory it may use; the work of index i must depend on i
// alone, so that the results do not depend on the number of cores.
func each[T any](ctx context.Context, n int, model Model, of func(model Model, i int) (T, error)) ([]T, error) {
	group := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError()
	results := make([]T, n)
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), n) {
		group.Go(func(ctx context.Context) (err error) {
			defer simd.Abreast()()
			own := model
			if model != nil {
				own = model.fork()
			}
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := ctx.Err(); err != nil {
					return err
				}
				if results[i], err = of(own, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return results, group.Wait()
}
