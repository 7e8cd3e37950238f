// Package tensorboard writes training runs in TensorBoard's format while they run:
//
//	calibra fit --in features.npz --out runs/vq --tensorboard runs/board
//	tensorboard --logdir runs/board
//
// A [Board] is a folder with a sub-folder for each run. A [Run] writes the losses of each stage after every epoch
// ([Run.Observe]). When the run has ended, it writes the metrics and settings ([Run.Fitted]); TensorBoard lists them
// under HParams. The tags are
//
//	divide/loss, divide/validation_loss    as curves.csv has them
//	divide/gradient_norm                   of [optim.Point]
//	divide/learning_rate                   at the last step of the epoch
//	divide/codebook_perplexity             [layers.Perplexity] of the codebook's moving counts
//	NLL, LCE                               as metrics.json has them; capitals are the first columns of HParams
//	metrics/accuracy, metrics/ece, …       the other metrics
//	metrics/own_embedding/lce, …           in the method's own embedding
//	metrics/codebook_perplexity            of the test rows' codes
//
// The tags of a first fit, which finds the number of epochs, begin with probe/. A stage that is fitted over all rows at
// once is written when the fit ends. An unknown value, such as the norm of a gradient on a card, is left out.
package tensorboard
