// Package run fits a method to rows, judges it on the test rows and writes the result. A [Spec] describes a run,
// [Spec.Fit] executes it, and [Run.Write] writes it into a directory:
//
//	fitted, err := run.Spec{Method: "vq", Data: "letter", Split: data.PaperText, Seed: 0}.Fit(ctx, src, nil)
//	err = fitted.Write("runs/vq")
//
// The directory then has
//
//	config.json         the Spec and the sizes of the data
//	metrics.json        the test metrics; same seed, same bytes
//	model.safetensors   the fitted calibrator
//	predictions.npz     probs, labels and the shared embedding of the test rows
//	embedding.npz       the shared embedding itself, for other rows
//	curves.csv          the losses of each stage that is trained in epochs: stage, epoch, loss, validation_loss, kept
//
// # The way of a row
//
// From a file to a report, a row passes through these functions in this order:
//
//	data.OpenRaw                 raw rows, divided in the same way for pretrain, encode and studies
//	encoders.MLP.Encode          features and logits of raw rows; calibra encode uses any network
//	data.Open                    features and logits of a file; float32 stays float32 (data.Singles)
//	source.Registry.Open         where problems come from; Origin.Load is the Problem of a seed, from either of them
//	Spec.Prepare                 validation rows set aside; the shared embedding, from the calibration rows
//	layers.NewFeatures           features less their centre, as graphs read them
//	Spec.FitPrepared             the method, fitted
//	Run.judge                    predictions and codes of the test rows, the method's own
//	                             embedding from these codes, the metrics in both embeddings
//	study.Plan.Run, Store.write  the result of a study's cell, in one file; calibra compare is a study
//	study.Findings.Document      tables and figures
//	report.Document.Add          report.html, tables.md, tables.tex and the figures' files
package run
