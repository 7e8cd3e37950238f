package cli

import (
	"calibra/experiments/report/tensorboard"
)

// boardFlag is of the commands that train.
type boardFlag struct {
	Tensorboard string `type:"output" placeholder:"DIR" group:"Device and logs:" help:"Write losses, gradient norms, learning rates, metrics and settings for TensorBoard while training, each run into its own folder of DIR. tensorboard --logdir DIR shows them."`
}

// board is the one that the flag names, nil for none.
func (f boardFlag) board() *tensorboard.Board { return tensorboard.NewBoard(f.Tensorboard) }
