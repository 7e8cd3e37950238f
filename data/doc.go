// Package data reads and writes rows: features, logits and labels. It also splits them, and computes the embeddings
// in which local metrics find neighbours. It does not use Gorgonia, and knows nothing of training or metrics.
//
//	src, err := data.Open("features.npz")                 // a *Source: src.Cal, src.Val, src.Test are Sets
//	split, err := src.Split(data.PaperText, rng)          // 10 % of the calibration rows become validation rows
//	fmt.Println(split.Cal.Len(), split.Val.Len(), src.Classes)
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
//	features of any backbone   Open (npz, Parquet, Arrow, csv)
//	raw tables                 Letter, Satellite, Digits (embedded), OpenCSV, OpenRaw (weather data)
//	raw images                 OpenRaw (CIFAR, MedMNIST)
//	known posteriors           package synthetic
//	shifted rows               RawSettings.HeldOut, eval_out of the weather data
//
// A [Source] is a calibration problem. A [Table] or images are raw rows, on which an encoder is trained first.
// [OpenRaw] divides raw rows: some train the encoder, the others calibrate and test, as [Inputs] of a network. A
// mistake of the user is an [*InputError] of one sentence. Package disk writes files, either completely or not at all.
//
// # Rows, weights
//
// A row is one observation. Sets and predictions keep the rows and the order of the file.
//
// A weight multiplies the loss of its row in every fit and metric. Only ratios of weights matter ([Set.ForFit]). A row
// of weight 0 gets a prediction but does not count. A rule that depends on the number of rows uses the effective number
// ([Set.Effective]).
//
// Test rows need no labels. Equal rows always fall on the same side of a split ([Set.Stratify]).
//
// # Scores, classes, labels
//
// A score is what the classifier says of a class: a logit, a log-probability, a probability on any scale, or one
// against the rest ([Scores]). One [Judge] tells which by the values where the caller does not say, and asks where they
// may be several. Rows become log-probabilities once, where they are read. A logit [MaskDepth] below the largest of its
// row, or −∞, is a mask: the class cannot be. A probability of 0 is rounded, and all below one floor are the floor
// ([Source.Floor]).
//
// A class is a column of scores. Its name is, in this order, what class_names, logit_NAME or prob_NAME say, a level of
// an ordered category, or its number. A label is a class: its name, the number that its name ends in, its place 0…C−1,
// or 1…C. If labels are text and nothing names the columns, the order that fits them is taken where the rows tell it
// from others ([Source].Order says which), and asked for elsewhere. A soft label is the probability of each class
// (N×C), and acts as C weights of one row.
//
// # Tables
//
// A table file (Parquet, Arrow, csv) has one column for each meaning; two are refused. Names are compared after Unicode
// normalization. Delimiter, decimal mark, line endings and compression of a csv file are detected from its bytes.
// Probabilities that differ only by rounding count as equal ([Set.Resolution]).
//
// # Forms
//
// Matrices are row-major float64. Features that a file has in single precision stay in single precision ([Singles]),
// and the parts of a split share their memory. Training reads a centred copy. Packages pass log-probabilities to each
// other, never probabilities.
package data
