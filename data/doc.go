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
// A [Source] is a calibration problem. A [Table] or images are raw rows, on which an encoder is trained first. [OpenRaw]
// divides raw rows: some train the encoder, the others calibrate and test, as [Inputs] of a network. A mistake of the
// user is an [*InputError] of one sentence. Package disk writes files, either completely or not at all.
//
// # Rows, weights, soft labels
//
// A row is one observation. Sets and predictions keep the rows and the order of the file.
//
// A weight multiplies the loss of its row in every fit and metric. Only ratios of weights matter ([Set.ForFit]). A row
// of weight 0 gets a prediction but does not count. A rule that depends on the number of rows uses the effective number
// ([Set.Effective]).
//
// A label is one class. A soft label is the probability of each class, which acts as C weights of one row. Test rows
// need no labels. Equal rows always fall on the same side of a split ([Set.Stratify]).
//
// Scores are normalized to log-probabilities once, where rows are read, because a constant that is added to a row means
// nothing. A mask is a logit far below the largest of its row ([MaskDepth]), or −∞: the class has probability 0 at
// every temperature. One [Judge] tells logits, log-probabilities and probabilities on any scale by their values, where the
// caller does not say what they are ([Scores]), and asks where they may be several. Two
// probabilities that differ only by rounding count as equal ([Set.Resolution]). A probability of 0 is not a mask: all
// below one floor are the floor ([Source.Floor]). Nothing else is clamped before the metrics.
//
// # Names and tables
//
// Classes have the order of the columns of logits: that of class_names or logit_NAME, of ordered categories, or of the
// integers that label the rows, 0…C−1 or 1…C. Labels that are text alone may have several orders (of unordered categories,
// of numbers, of the alphabet, of the file): the one that fits the columns is taken if the rows tell it from the others,
// [Source].Order says which, and otherwise names are asked for. Names are compared after Unicode normalization. A
// table file (Parquet, Arrow, csv) has one column for each meaning; two are refused. Delimiter, decimal mark, line
// endings and compression of a csv file are detected from its bytes.
//
// # Forms
//
// Matrices are row-major float64. Features that a file has in single precision stay in single precision ([Singles]),
// and the parts of a split share their memory. Training reads a centred copy. Packages pass log-probabilities to each
// other, never probabilities.
package data
