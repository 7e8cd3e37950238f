// Package diagnosis finds where predictions are wrong, and which correction is worth while.
//
// It sees the numbers that package metrics sees: an N×C matrix of log-probabilities, N labels, weights of the rows, and an
// N×d embedding. Letters are those of package data.
//
//	d, err := diagnosis.Diagnose(ctx, logProbs, labels, embedding, diagnosis.Examination{}, rng)
//	fmt.Println(d.Found)
//
// [Conformal] makes prediction sets by regions; [NewPortrait] shows how reliable predictions are and what they take for what.
//
// # Recoverable loss
//
// [Recover] fits corrections of the predictions on part of the rows and measures on the
// others what they save: nats left on the table by the predictions alone, a lower bound of
// the calibration error, and by the latent space beyond that, one of the grouping loss.
// Unlike LCE it is near 0 without an error, and no bandwidth decides what it sees. To
// compare predictors, hold all against one correction ([metrics.Recoverable]): those fitted to each
// predictor err by more than a few hundredths of a nat that lie between them.
//
// # Diagnosis
//
// [Diagnose] finds where predictions are wrong and which correction is worth while. It finds regions on one
// half of the rows and tests them on the other, with p-values and intervals that hold for all of them at
// once: of calibrated predictions, at most one diagnosis in twenty calls anything wrong, and of any predictions at most
// one in twenty has a gap outside its interval.
package diagnosis
