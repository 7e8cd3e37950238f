// Command scale measures what the command calibra needs of memory and time for many rows, many
// features or many classes. Each argument is a command of calibra without its files: scale
// writes files of random rows, runs the commands on them one after the other, and prints the
// peak memory of each process beside the size of its input.
//
//	go run ./experiments/scale -rows 100000
//	go run ./experiments/scale -rows 1000000 'fit --method ts' apply
//	go run ./experiments/scale -rows 50000 -features 2048 -classes 1000 'fit --method sm'
//	go run ./experiments/scale -rows 1000000 'evaluate --anchors 2000 --folds 0'
//
// It is run in the repository's root. fit reads calibration rows and a few test rows, apply
// as many test rows with the model of the fit before it, evaluate as many predictions with the
// features for an embedding. Features are normal, labels are drawn from a linear model, and the
// logits are its scores, overconfident and with noise; all of single precision.
//
// With -table the figures go to experiments/scale/results.csv, in place of those of the same
// command and size, and all of them to RESULTS.md beside it. A command that takes longer than
// -longest is interrupted and its figures are marked so.
package main
