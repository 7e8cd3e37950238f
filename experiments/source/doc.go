// Package source says where rows come from. A [Registry] knows what an argument of a command may be: data that the
// program brings, a features file, raw rows in a file or a directory, or a raw source of another module.
//
//	origin, err := source.Registry(nil).Open("letter", source.Settings{})
//	problem, err := origin.Load(ctx, seed, "", "")
//
// An [Origin] loads the [Problem] of each seed: rows with features and logits, not split yet. Raw rows are encoded on
// the way by a small network ([Encoder]), synthetic ones bring their true posterior, and some come with rows under a
// [Shift].
package source
