// Package experiments runs methods on data and writes down what came out. It is the one place
// where a [Method] is defined, a [Spec] describes what is run, and a run of it is made; what is
// measured of a run is in metrics, what many runs show in study, and the command in cli.
//
// A run is described by one [Spec], executed by [Spec.Fit], and kept in a
// directory:
//
//	config.json         the Spec and the sizes of the data
//	metrics.json        the test metrics; same seed, same bytes
//	model.safetensors   the fitted calibrator
//	predictions.npz     probs, labels and the shared embedding of the test rows
//	embedding.npz       the shared embedding itself, for other rows
//	curves.csv          how the losses of each stage went: stage, epoch, loss, validation_loss, kept
//
// [Methods] is the table of all methods by name.
//
// # The way of a row
//
// From a file to a report a row passes these functions, in one direction:
//
//	data.OpenRaw                 raw rows, divided once for pretrain, encode and studies
//	encoders.MLP.Encode          features and logits of raw rows; encode's job does it by any network
//	data.Open                    features and logits of a file; float32 stays (data.Singles)
//	Catalog.OpenOrigin           where problems come from; Origin.Load is the Problem of a seed, from either of them
//	Spec.Prepare                 validation rows set aside; the shared embedding, from the calibration rows
//	layers.NewFeatures           features less their mean, as graphs read them
//	Spec.FitPrepared             the method, fitted
//	Run.judge                    predictions and codes of the test rows, the method's own
//	                             embedding from these codes, the metrics in both embeddings
//	study.Plan.Run, Store.write  what a study keeps of it, one file a cell; calibra compare is a study
//	study.Findings.Document      tables and figures
//	report.Document.Add          report.html, tables.md, tables.tex and the figures' files
package experiments
