package cli

import (
	"calibra/experiments/report/tensorboard"
)

// boardFlag is of the commands that train.
type boardFlag struct {
	Tensorboard string `type:"path" placeholder:"DIR" help:"Write losses, gradient norms, learning rates, metrics and settings into a folder of this directory for each run while it trains; tensorboard --logdir DIR shows them and compares runs."`
}

// board is the one that the flag names, nil for none.
func (f boardFlag) board() *tensorboard.Board { return tensorboard.NewBoard(f.Tensorboard) }
