package layers

import "context"

// toldKey is the key of a context's observer.
type toldKey struct{}

// WithProgress is a context in which long computations of layers and the packages below it tell how far they are:
// what is being done, and done of total of it. told must not block.
func WithProgress(ctx context.Context, told func(what string, done, total int)) context.Context {
	return context.WithValue(ctx, toldKey{}, told)
}

// Tell tells the context's observer, if there is one.
func Tell(ctx context.Context, what string, done, total int) {
	if told, ok := ctx.Value(toldKey{}).(func(what string, done, total int)); ok {
		told(what, done, total)
	}
}
