// Package optim minimizes losses described as graphs. Everything Calibra learns,
// the paper's model and every baseline, is trained here, so that a table compares
// methods and not optimizers.
//
// There are three kinds of problem, each with its entry point. None sees a layer, a data set or a device.
//
//	a mean loss over rows, in the weights of a graph   Minimize(ctx, Problem{…}, method, rng)
//	a smooth convex function of a vector x             Newton{…}.Minimize(ctx, f, x), f a Curved
//	the weights w of a mixture of densities            Mixture{…}.Minimize(ctx, w)
//
// The methods of [Minimize] are [Settings], which run a [Rule] over shuffled minibatches, stop early on
// a validation loss and restore the best weights; [LBFGS] for smooth losses over all rows at
// once, to a gradient that the result states; [FixedLBFGS], the optimizer behind published
// temperatures, which stops short; and [Bisect] for one number. A [Result] says with its [Status] why a
// fit ended.
//
// # Rules are made of parts
//
//	gradient ──► Clip ──► Decay ──► Moments ──► Decay ──► Rate ──► Scheduled ──► u,  θ ← θ − u
//	             ‖g‖ ≤ c  g + λθ    m̂/(√v̂+ε)   u + λθ    η u      u f(t)
//
//	Adam     Decay, Moments, Rate          AdamW  Moments, Decay, Rate
//	SGD      Decay, Momentum, Rate         Lion   Sign, Decay, Rate
//	Nadam    Decay, NesterovMoments, Rate
//
//	optim.Chain{
//		optim.Clip{Norm: 1},
//		optim.AdamW{Rate: 3e-4, WeightDecay: 0.01, Mask: func(name string) bool { return !strings.HasSuffix(name, "/bias") }},
//		optim.Scheduled{By: optim.WarmUp{Steps: 500, Then: optim.Cosine{}}},
//	}
//
// Schedules are [Cosine], [WarmUp] and [OneCycle], over the steps that a fit takes
// if it does not stop early. [Settings].Average validates and keeps an average of the weights, such as
// [EMA]. Where the last parts of a rule are those of Adam or SGD they are computed in
// one pass over each weight, on the CPU (package simd) and on a device.
//
// # Adding a rule, here or in a package of your own
//
// lion.go is the template, one file: the settings, Parts, and of a part of its own,
// State, which names what it remembers of each weight, and Apply, which turns gradients into
// updates, most often number by number by [Each]. Then a row in rules of rule_test.go, which
// holds it to two problems in both float types. It runs by every executor, in this process where
// a device has no kernel for it, and [Epoch.State] and [Settings].Start carry what it remembers
// from one fit to the next.
//
// # Where a fit runs
//
// They run on [Settings].Executor; nil is this process. Losses of float64 weights, which the
// smooth baselines have so that their gradients reach 1e-6, and Bisect stay in this process.
//
// All randomness comes from the rng argument: same seed, same bytes.
package optim
