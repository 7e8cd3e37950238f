// Package optim minimizes losses described as graphs. Everything Calibra learns,
// the paper's model and every baseline, is trained here, so that a table compares
// methods and not optimizers.
//
// [Minimize] runs a [Rule] (Adam, AdamW, SGD) over shuffled minibatches, stops
// early on a validation loss and restores the best weights. It sees a [Problem],
// never a layer or a data set. [LBFGS] and [BFGS] minimize smooth losses over all
// rows at once, to a gradient that the [Result] states; [FixedLBFGS] is the optimizer
// behind published temperatures, which stops short; [Bisect] finds one number.
//
// Where package cuda chose a device, the steps of Minimize run there, and of the
// quasi-Newton methods loss and gradient do, while gonum takes the steps here. The
// kernels are of float32: losses of float64 weights, which the smooth baselines have so
// that their gradients reach 1e-6, and Bisect, stay on the CPU.
//
// All randomness comes from the rng argument: same seed, same bytes.
package optim
