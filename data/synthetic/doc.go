// Package synthetic draws problems whose true posterior is known, so that the error of a calibrator or of a metric
// can be measured against the truth instead of against labels.
//
//	a classifier with one kind of error            NewCubic, NewProximity, NewRare, NewLongTail
//	a classifier without error                     NewCalibrated
//	many classifiers with errors of known size     NewPlanted
//
// N, M and C mean what [calibra/data] says.
package synthetic
