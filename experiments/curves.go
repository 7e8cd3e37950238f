package experiments

import (
	"io"
	"math"
	"strconv"

	"calibra/data"
	"calibra/data/disk"
	"calibra/layers"
)

// curvesFile is how the losses of a run's stages went: a csv of a row for each epoch, or iteration, with the columns
//
//	stage            "divide"; "probe/divide" in the first fit, which finds the number of epochs
//	epoch            from 1
//	loss             mean training loss of the epoch's steps
//	validation_loss  empty without validation rows
//	kept             1 in the row of the epoch whose weights are kept, else 0
//
// A run without a stage that runs in epochs has none, as one of an earlier build.
const curvesFile = "curves.csv"

// probePrefix begins the names of the stages of the first fit.
const probePrefix = "probe/"

// Curves are the stages of the run that ran in epochs, the first fit's before the others.
func (r *Run) Curves() (curves []layers.Stage) {
	add := func(before string, stages []layers.Stage) {
		for _, s := range stages {
			if s.Name = before + s.Name; len(s.Result.Curve) > 0 {
				curves = append(curves, s)
			}
		}
	}
	add(probePrefix, r.Probe)
	add("", r.Stages)
	return curves
}

// addCurves adds curvesFile to the run's folder.
func (r *Run) addCurves(f *disk.Folder) {
	curves := r.Curves()
	if curves == nil {
		f.Absent(curvesFile)
		return
	}
	f.WriteFile(curvesFile, func(out io.Writer) error {
		lines := [][]string{{"stage", "epoch", "loss", "validation_loss", "kept"}}
		number := func(x float64) string {
			if math.IsNaN(x) {
				return ""
			}
			return strconv.FormatFloat(x, 'g', -1, 64)
		}
		for _, s := range curves {
			for _, p := range s.Result.Curve {
				kept := "0"
				if p.Epoch == s.Result.Best {
					kept = "1"
				}
				lines = append(lines, []string{s.Name, strconv.Itoa(p.Epoch), number(p.Loss), number(p.Validation), kept})
			}
		}
		return data.NewCSVWriter(out).WriteAll(lines)
	})
}
