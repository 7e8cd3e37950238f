// Package rowcheck looks for what is wrong with rows before a method is fitted to them: labels that number the classes in
// another order than the logits ([OtherLabels]), features of other rows ([OtherFeatures]), test rows that are calibration
// rows ([Repeated]), and calibration rows that the classifier was trained on ([TrainingRows]).
//
//	findings := rowcheck.Find(source)
//
// Each is a sentence, or a value whose String is one, and is only told where chance is no reason for it.
package rowcheck
