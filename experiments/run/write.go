package run

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/program"
	"calibra/experiments/rowcheck"
	"calibra/experiments/source"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// summary is metrics.json. It holds no time and no path, so that the same seed
// gives the same bytes.
type summary struct {
	Protocol  metrics.Protocol `json:"protocol"`
	Split     data.Holdout     `json:"split"`
	Method    string           `json:"method"`
	Seed      uint64           `json:"seed"`
	Embedding string           `json:"embedding"`         // that of metrics.lce and metrics.mlce
	Metrics   json.RawMessage  `json:"metrics,omitempty"` // nil where the test rows have no labels
	Floored   *metrics.Floored `json:"floored,omitempty"`
	Own       *local           `json:"own_embedding,omitempty"`
	Kept      string           `json:"classifier_kept,omitempty"` // [Run.Kept]
	rowcheck.Findings
}

type local struct {
	LCE  float64 `json:"lce"`
	MLCE float64 `json:"mlce"`
}

// Configuration is the content of config.json besides the Spec.
type Configuration struct {
	Classes         int `json:"classes"`
	Features        int `json:"features"`
	CalibrationRows int `json:"calibration_rows"`
	ValidationRows  int `json:"validation_rows"`
	TestRows        int `json:"test_rows"`
	// TestDigest identifies the test rows; "" where they have no labels.
	TestDigest string `json:"test_digest,omitempty"`
	// Settings are all that the method was built with, defaults included.
	Settings map[string]any `json:"settings"`
	// Fits tell of each stage that was fitted to all rows at once whether it ended at an optimum.
	Fits []StageOptimum `json:"fits,omitempty"`
	// Residuals are the gradients where stages ended that were fitted in minibatches.
	Residuals []StageResidual `json:"residuals,omitempty"`

	Program program.Program `json:"program"` // that fitted and measured
}

// RunGroup is the disk.Folder group of a run, and RunFiles are its files.
const Group = "fit"

// RunFiles are the names of the files of a run.
var Files = []string{"config.json", curvesFile, "embedding.npz", "metrics.json", "model.safetensors", "predictions.npz", Page}

// RunPage is the page of a run, which the command that makes the run adds.
const Page = "report.html"

// PrepareDir makes sure that the named files of a group can be written to dir as one
// disk.Folder, before any work is done for them (see disk.PrepareFolder). Undo, to be
// deferred, removes the directories that were made and that nothing was written to.
func PrepareDir(dir, group string, names ...string) (undo func(), err error) {
	var made []string // dir and those of its parents that were not there, the deepest first
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			break
		}
		made = append(made, at)
	}
	undo = func() {
		for _, at := range made {
			_ = disk.Remove(at) // fails, as it should, if something else is in it
		}
	}
	if err := disk.PrepareFolder(dir, group, names...); err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}

// ReadSpec reads the Spec of the run that dir holds. It is an fs.ErrNotExist where dir has no
// config.json.
func ReadSpec(dir string) (s Spec, err error) {
	path := filepath.Join(dir, "config.json")
	text, err := data.ReadConfiguration(path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, data.Inputf(path, "is no configuration of a run: %w", err)
	}
	return s, nil
}

// model is the run's, with the settings that it was built with and what it knows of the rows that it was fitted to:
// also the fitted model's own predictions of them, whose mean are the old priors of a label shift. They are not
// cross-fitted, which would take more fits: to first order, the error of a fit moves the predictions of calibration
// rows and of new rows alike (TestLabelShiftLaws).
func (r *Run) model() (*layers.Model, error) {
	model, err := layers.NewModel(r.Spec.Method, r.Model)
	if err != nil {
		return nil, err
	}
	model.Profile, model.Names = layers.ProfileOf(r.Source.Cal), r.Source.Cal.Names
	model.Scores, model.Floor = r.Source.Scores, r.Source.Floor
	if p, err := Predict(r.Model, r.Source.Cal); err == nil {
		if p, err = data.NewPredictions(p.LogProbs, r.Source.Cal); err == nil { // without them it cannot estimate a label shift
			model.Profile.Predicted = layers.PredictedOf(p.LogProbs, r.Source.Cal.Weights)
		}
	}
	model.Settings, err = method.ParseValues(r.Spec.Set)
	return model, err
}

// Write puts the run's files into dir, all or none of them. A run without an
// outcome has no metrics and no predictions; the files of an earlier run are removed.
func (r *Run) Write(dir string) error {
	f := disk.NewFolder(dir, Group)
	defer f.Discard()
	r.Add(f)
	return f.Commit()
}

// Add adds the run's files to a folder, or what is wrong with them.
func (r *Run) Add(f *disk.Folder) {
	model, err := r.model()
	if err != nil {
		f.Fail(err)
		return
	}
	f.WriteFile("model.safetensors", model.Encode)
	if r.Embed == nil {
		f.Absent("embedding.npz")
	} else {
		f.WriteFile("embedding.npz", data.NPZ(r.Embed.Arrays()...))
	}
	r.addCurves(f)
	if r.Outcome == nil {
		f.Absent("predictions.npz", "metrics.json")
	} else {
		arrays, err := r.predictions()
		f.Fail(err)
		f.WriteFile("predictions.npz", data.NPZ(arrays...))
		r.addSummary(f)
	}
	c := r.configuration()
	c.Program, err = program.ThisProgram()
	f.Fail(err)
	addJSON(f, "config.json", struct {
		file
		Configuration
	}{r.Spec.file(), c})
}

// predictions are the arrays of the run's predictions for the test rows.
func (r *Run) predictions() ([]data.Array, error) {
	o := r.Outcome
	if _, err := data.NewPredictions(o.Predictions.LogProbs, &data.Set{Labels: o.Predictions.Labels}); err != nil {
		return nil, err
	}
	o.Predictions.ClassNames = r.Source.Cal.Names.Classes
	arrays := o.Predictions.Arrays()
	for _, embedding := range []struct {
		name string
		rows *mat.Dense
	}{{"embedding", o.Shared}, {"embedding_own", o.Own}} {
		if embedding.rows != nil {
			arrays = append(arrays, data.Array{Name: embedding.name, Value: embedding.rows})
		}
	}
	return arrays, nil
}

func addJSON(f *disk.Folder, name string, v any) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		f.Fail(fmt.Errorf("write %s: %w", name, err))
	}
	f.WriteBytes(name, append(text, '\n'))
}

func (r *Run) addSummary(f *disk.Folder) {
	o := r.Outcome
	settings, err := r.Spec.Measuring()
	f.Fail(err)
	s := summary{Protocol: settings.Protocol, Split: r.Spec.Split, Method: r.Spec.Method, Seed: r.Spec.Seed, Embedding: "none", Kept: r.Kept(), Findings: r.Beside}
	if r.Judged() {
		s.Metrics, err = metrics.Object(o.Metrics.Values, o.Metrics.Own)
		f.Fail(err)
		s.Floored = o.Metrics.Floored
	}
	if o.Shared != nil {
		s.Embedding = "shared"
	}
	if o.OwnMetrics != nil && !math.IsNaN(o.OwnMetrics.Values[metrics.LCE]) {
		s.Own = &local{o.OwnMetrics.Values[metrics.LCE], o.OwnMetrics.Values[metrics.MLCE]}
	}
	addJSON(f, "metrics.json", s)
}

// Settings are all that the method was built with, defaults included.
func (r *Run) Settings() map[string]any {
	all := map[string]any{}
	for _, k := range r.Keys {
		all[k.Name] = k.Value
	}
	return all
}

func (r *Run) configuration() Configuration {
	rows := func(s *data.Set) int {
		if s == nil {
			return 0
		}
		return s.Len()
	}
	size := source.SizeOf(r.Source)
	c := Configuration{
		Classes: size.Classes, Features: size.Features, CalibrationRows: size.Rows,
		ValidationRows: rows(r.Source.Val), TestRows: rows(r.Source.Test), Settings: r.Settings(), Fits: r.Optima(), Residuals: r.Residuals(),
	}
	if r.Source.Test != nil {
		c.TestDigest = r.Source.Test.Digest()
	}
	return c
}

// ReadRepeated are the repeated rows of the run whose predictions are in a file; nil if there are none, or if the file
// belongs to no run.
func ReadRepeated(predictions string) *rowcheck.RepeatedRows {
	if filepath.Base(predictions) != "predictions.npz" {
		return nil
	}
	var s summary
	text, err := data.ReadConfiguration(filepath.Join(filepath.Dir(predictions), "metrics.json"))
	if err != nil || json.Unmarshal(text, &s) != nil {
		return nil
	}
	return s.Repeated
}

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
		return data.WriteCSV(out, lines)
	})
}
