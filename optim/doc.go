// Package optim minimizes losses that are described as graphs. The paper's model and every baseline are trained here,
// so that differences between methods are not differences between optimizers.
//
// There are three kinds of problem, each with its entry point. None of them knows layers, data sets or devices.
//
//	a mean loss over rows, in the weights of a graph   Minimize(ctx, Problem{…}, method, rng)
//	a smooth convex function of a vector x             Newton{…}.Descend(ctx, f, x), f a Curved
//	the weights w of a mixture of densities            Mixture{…}.Minimize(ctx, w)
//
// Minimize takes one of these methods:
//
//	Settings    a Rule over shuffled minibatches; stops early by a validation loss and restores the best weights
//	LBFGS       for smooth losses over all rows at once; the result states the size of the gradient
//	FixedLBFGS  the optimizer behind published temperatures, which stops before the optimum
//	Bisect      for one number
//
// The [Status] of a [Result] says why a fit ended.
//
// # Rules are made of parts
//
//	gradient ──► Clip ──► Decay ──► Moments ──► Decay ──► Rate ──► Scheduled ──► u,  θ ← θ − u
//	             ‖g‖ ≤ c  g + λθ    m̂/(√v̂+ε)   u + λθ    η u      u f(t)
//
//	Adam     Decay, Moments, Rate          AdamW  Moments, Decay, Rate
//	SGD      Decay, Momentum, Rate         Lion   Sign, Decay, Rate
//	Nadam    Decay, NesterovMoments, Rate  SAM    Ascent, then another rule
//
// [Ascent] has the gradient taken at another point, as any [Prober] may. [Lookahead] comes after all other parts.
//
//	optim.Chain{
//		optim.Clip{Norm: 1},
//		optim.AdamW{Rate: 3e-4, WeightDecay: 0.01, Mask: func(name string) bool { return !strings.HasSuffix(name, "/bias") }},
//		optim.Scheduled{By: optim.WarmUp{Steps: 500, Then: optim.Cosine{}}},
//	}
//
// Schedules are [Cosine], [WarmUp] and [OneCycle], over the steps that a fit takes
// if it does not stop early. With [Settings].Average, an average of the weights, such as [EMA], is validated and kept.
// If the last parts of a rule are those of Adam or SGD, they are computed in one pass over each weight, on the CPU
// (package simd) and on a device.
//
// # Adding a rule, here or in a package of your own
//
// lion.go is the template. One file has the settings and Parts. A part of your own also has State, which names what it
// remembers for each weight, and Apply, which turns gradients into updates, usually number by number with [Each]. Add a
// row to rules of rule_test.go, which tests it on two problems in both float types. Every executor can run it; if a
// device has no kernel for it, this process computes it. [Epoch.State] and [Settings].Start carry what it remembers
// from one fit to the next.
//
// # Where a fit runs
//
// Fits run on [Settings].Executor; nil means this process. Losses of float64 weights and Bisect always run in this
// process. The smooth baselines use float64 so that their gradients can reach 1e-6.
//
// All randomness comes from the rng argument: same seed, same bytes.
package optim
