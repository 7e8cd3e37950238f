// Package encoders trains classifiers on raw rows, for data that has no features yet. An encoder is trained on rows of
// its own and then frozen. It turns other raw rows into penultimate features and logits, which Calibra calibrates.
//
//	data.Raw ──► Train(Network) ──► Model ──► Save ──► Load ──► Encode ──► data.Set
//
// # Architectures
//
//	mlp      MLP            ReLU layers                              tables, images
//	resmlp   ResMLP         residual blocks with batch norm          tables, images
//	ftt      FTTransformer  one token per column, self-attention     tables
//	resnet   ResNet         basic blocks of convolutions             28×28, 32×32 images
//
// A [Network] has initial weights and a graph. To add one, copy resmlp.go, list it in file.go, and add a row to the
// table of network_test.go, which fails while the row is missing.
//
// # Weights by name
//
// Weights have the names and shapes of PyTorch, so that weights.safetensors of a model's directory is a state dict of
// the same network there. testdata/reference.py has the networks in PyTorch; a test checks that both give equal values,
// at inference and in a training step.
//
// # Training and inference
//
// A [Pass] describes one graph. The graph of a training step has dropout, the moments of batch norm, and random shifts
// and mirror images; the graph of inference does not. Their randomness is a hash of a seed and the step number, so the
// same rng gives the same weights on any number of threads.
package encoders
