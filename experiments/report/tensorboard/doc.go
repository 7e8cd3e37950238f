// Package tensorboard writes training runs as TensorBoard reads them, while they go on:
//
//	calibra fit --in features.npz --out runs/vq --tensorboard runs/board
//	tensorboard --logdir runs/board
//
// A [Board] is a folder with a sub-folder for each run. A [Run] writes the losses of each stage after every epoch
// (see [Run.Observe]) and, when it has ended, its metrics and its settings, by which TensorBoard lists it under HParams
// (see [Run.Fitted]). Tags are
//
//	divide/loss, divide/validation_loss    as curves.csv has them
//	divide/gradient_norm                   of [optim.Point]
//	divide/learning_rate                   at the last step of the epoch
//	divide/codebook_perplexity             [layers.Perplexity] of the codebook's moving counts
//	NLL, LCE                               as metrics.json has them; capitals are the first columns of HParams
//	metrics/accuracy, metrics/ece, …       the others
//	metrics/own_embedding/lce, …           in the method's own embedding
//	metrics/codebook_perplexity            of the test rows' codes
//
// and those of the first fit, which finds the number of epochs, begin with probe/. A stage that is minimized over all
// rows at once is written when the fit ends. What is not known, such as a gradient's norm on a card, has no tag.
package tensorboard
