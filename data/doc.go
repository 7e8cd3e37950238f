// Package data holds what every other room reads: features, logits and labels,
// the files they come in, the splits they are cut into, and the embeddings that
// local metrics live in. It knows nothing of Gorgonia, of training or of metrics.
//
// # Letters
//
// One letter has one meaning in the whole repository:
//
//	N  rows of a set            M  features of a row (M = w·d)
//	B  rows of a batch          C  classes
//	w  slots of a row           d  width of a slot
//	K  codewords                s  codes, the codeword index of each slot
//
// # Where rows come from
//
//	features of any backbone   Open (npz, Parquet, Arrow, csv), OpenRawResults (csv of the paper's authors)
//	raw tables                 Letter, Satellite, Digits (embedded), OpenCSV, OpenRaw (weather data)
//	raw images                 OpenRaw (CIFAR, MedMNIST)
//	known posteriors           package synthetic
//	shifted rows               RawSettings.HeldOut, eval_out of the weather data
//
// A [Source] is a calibration problem, and a [Table] or images are what an encoder is trained on before there is one.
// [OpenRaw] divides them into the rows that train it and those that calibrate, as [Inputs] that a network reads. What a
// user can get wrong is an [*InputError] of one sentence. Files are written whole or not at all, by package disk.
//
// # Rows, weights, soft labels
//
// A row is one observation, and sets and predictions have the rows of the file in its order. A weight
// multiplies what the row says in every fit and metric, and only ratios of weights matter ([Set.ForFit]);
// 0 answers the row and counts it for nothing; what asks for a number of rows takes the effective one
// ([Set.Effective]). A label is one class or, as soft labels, the probability of each, which are weights of
// one row; test rows need none. Equal rows are never on two sides of a division ([Set.Stratify]). Scores are
// normalized once, where rows enter, to log-probabilities: a constant of a row says nothing. A mask is a
// logit far below the largest of its row ([MaskDepth]), −∞ too: a class of probability 0 at every
// temperature. A probability is a score that came as one: they are told by their values ([Judge]) and
// normalized, and those that only rounding tells apart are one ([Set.Resolution]); one of 0 is no mask but
// [LeastProbability], whatever the other rows of its class say. Nothing else is clamped before the metrics.
//
// # Names and tables
//
// Classes have the order of the columns of logits; names of classes that no column, array or ordered
// category orders have that of the alphabet, and [Source].Order says so. Names are compared in one form of
// Unicode. A [Table] file (Parquet, Arrow, csv) has one column for each meaning; two are refused. A csv file
// is told by its bytes: delimiter, decimal mark, ends of lines, packing.
//
// # Forms
//
// Matrices are row-major float64 here. Features that a file holds in single precision stay
// so ([Singles]): parts of a split share them. Training reads a copy less their centre.
// Between packages travel log-probabilities, never probabilities.
package data
