// Package encoders trains the classifiers that Calibra calibrates, where the
// features do not come from elsewhere: from raw rows to penultimate features and
// logits. An encoder is trained on rows of its own, then frozen.
//
//	data.Raw ──► Train(Network) ──► Model ──► Save ──► Load ──► Encode ──► data.Set
//
// # Architectures
//
//	mlp      MLP            ReLU layers                              tables, images
//	resmlp   ResMLP         residual blocks with batch norm          tables, images
//	ftt      FTTransformer  a token a column, self-attention         tables
//	resnet   ResNet         basic blocks of convolutions             28×28, 32×32 images
//
// A [Network] is its initial weights and its graph. Copy resmlp.go to add one, list it
// in file.go, and give it a row in the table of network_test.go, which fails while it
// is missing.
//
// # Weights by name
//
// Weights are named and laid out as in PyTorch, so a state dict of the same network
// loads by name ([ReadStateDict]), and weights.safetensors of a model's directory is
// one. testdata/reference.py has the networks as a PyTorch user writes them; a test
// holds the values of the two equal, at inference and in a training step.
//
// # Training and inference
//
// A [Pass] is one graph being described. Dropout, batch norm's moments and the
// shifting and mirroring of images are there in a training step's and not in that of
// inference. Their randomness is a hash of a seed and the number of the step: the same
// rng gives the same weights, on any number of threads.
package encoders
