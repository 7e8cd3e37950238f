// Package synthetic draws problems whose true posterior is known, so that the error of a calibrator or of a metric is
// measured against the truth and not against labels.
//
//	a classifier that errs in one way       NewCubic, NewProximity, NewRare, NewLongTail
//	one that does not err                   NewCalibrated
//	many that err by known amounts          NewPlanted
//
// N, M and C mean what [calibra/data] says.
package synthetic
