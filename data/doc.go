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
//	shifted rows               Corruption (images), RawSettings.HeldOut, eval_out of the weather data
//
// A [Source] is a calibration problem, a [Table] and [Images] are what an encoder
// is trained on before there is one. [OpenRaw] divides them into the rows that train
// it and those that calibrate, as [Inputs] that a network reads. What a user can get wrong is an
// [*InputError] of one sentence. Files are written whole or not at all, by
// package disk.
//
// # Forms
//
// Matrices are row-major float64 here. Features that a file holds in single precision stay
// so ([Singles]): parts of a split share them, and training reads them where they are.
// Between packages travel log-probabilities, never probabilities.
package data
