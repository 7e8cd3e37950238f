// Package diagnosis finds where predictions are wrong, and which correction is worthwhile.
//
// It sees the same numbers as package metrics: an N×C matrix of log-probabilities, N labels, weights of the rows, and
// an N×d embedding. Letters are those of package data.
//
//	d, err := diagnosis.Diagnose(ctx, logProbs, labels, embedding, diagnosis.Examination{}, rng)
//	fmt.Println(d.Found)
//
// [Conformal] makes prediction sets by regions. [NewPortrait] shows how reliable predictions are and which classes they
// confuse.
//
// # Recoverable loss
//
// [Recover] fits corrections on one part of the rows and measures on the others how much NLL they save. What a
// correction of the predictions alone saves is a lower bound of the calibration error. What a correction by the latent
// space saves beyond that is a lower bound of the grouping loss. Unlike LCE, these are near 0 if there is no error, and
// they have no bandwidth. They do not compare predictors: a correction fitted to each predictor has errors larger than
// the few hundredths of a nat by which predictors differ.
//
// # Diagnosis
//
// [Diagnose] finds regions on one half of the rows and tests them on the other half. Its p-values and intervals hold
// for all regions at once: if predictions are calibrated, at most one diagnosis in twenty calls anything wrong, and for
// any predictions at most one in twenty has a gap outside its interval.
package diagnosis
