// Package experiments runs methods on data and writes down what came out.
//
// A run is described by one [Spec], executed by [Spec.Fit], and kept in a
// directory:
//
//	config.json         the Spec and the sizes of the data
//	metrics.json        the test metrics; same seed, same bytes
//	model.safetensors   the fitted calibrator
//	predictions.npz     probs, labels and the shared embedding of the test rows
//	embedding.npz       the shared embedding itself, for other rows
//
// [Methods] is the table of all methods by name.
package experiments
