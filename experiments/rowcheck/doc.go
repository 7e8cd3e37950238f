// Package rowcheck looks for mistakes in the rows before a method is fitted: labels whose numbers have another order
// than the columns of logits ([OtherLabels]), features that belong to other rows ([OtherFeatures]), test rows that are
// also calibration rows ([Repeated]), and calibration rows on which the classifier was trained ([TrainingRows]).
//
//	findings := rowcheck.Find(source)
//
// Each finding is a sentence, or a value whose String is one. It is reported only if chance cannot explain it.
package rowcheck
