package experiments_test

import (
	"go/ast"
	"reflect"
	"testing"

	"calibra/graph"
	"calibra/layers"
	"calibra/optim"
	"calibra/theory"
)

// called are the exported functions of the rooms that a researcher writes with.
var called = map[string]any{
	"graph.NewBuilder":       graph.NewBuilder,
	"graph.On":               graph.On,
	"graph.ProberOf":         graph.ProberOf,
	"graph.Recover":          graph.Recover,
	"graph.NewFunction":      graph.NewFunction,
	"graph.Normals":          graph.Normals,
	"graph.Uniforms":         graph.Uniforms,
	"graph.NewObjective":     graph.NewObjective,
	"graph.Fetch":            graph.Fetch,
	"graph.Send":             graph.Send,
	"graph.WriteSafetensors": graph.WriteSafetensors,
	"graph.ReadSafetensors":  graph.ReadSafetensors,
	"graph.Tensor":           graph.Tensor,
	"graph.Matrix":           graph.Matrix,
	"graph.Labels":           graph.Labels,
	"graph.Codes":            graph.Codes,
	"graph.Float64s":         graph.Float64s,
	"graph.Rows":             graph.Rows,
	"graph.NewWeights":       graph.NewWeights,
	"layers.StateOf":         layers.StateOf,
	"layers.ReadSizes":       layers.ReadSizes,
	"layers.LessCentre":      layers.LessCentre,
	"layers.Less":            layers.Less,
	"layers.CheckMap":        layers.CheckMap,
	"layers.CheckMapOn":      layers.CheckMapOn,
	"layers.CheckCalibrator": layers.CheckCalibrator,
	"layers.Choose":          layers.Choose[int],
	"layers.HeldOutLoss":     layers.HeldOutLoss,
	"layers.Tries":           layers.Tries[int],
	"layers.Perplexity":      layers.Perplexity,
	"layers.StartCodes":      layers.StartCodes,
	"layers.StartMap":        layers.StartMap,
	"layers.AssignAll":       layers.AssignAll,
	"layers.RestoreCodes":    layers.RestoreCodes,
	"layers.NewFeatures":     layers.NewFeatures,
	"layers.NewSample":       layers.NewSample,
	"layers.NLL":             layers.NLL,
	"layers.LogProbsOf":      layers.LogProbsOf,
	"layers.Objective":       layers.Objective,
	"layers.PenalizedNLL":    layers.PenalizedNLL,
	"layers.Penalty":         layers.Penalty,
	"layers.CheckFolds":      layers.CheckFolds,
	"layers.CrossFit":        layers.CrossFit,
	"layers.Folds":           layers.Folds,
	"layers.FewRows":         layers.FewRows,
	"layers.Probe":           layers.Probe,
	"layers.BestEpochs":      layers.BestEpochs,
	"layers.NewModel":        layers.NewModel,
	"layers.WriteModel":      layers.WriteModel,
	"layers.ReadModel":       layers.ReadModel,
	"layers.BaseONNX":        layers.BaseONNX,
	"layers.CodesONNX":       layers.CodesONNX,
	"layers.ProfileOf":       layers.ProfileOf,
	"layers.PredictedOf":     layers.PredictedOf,
	"layers.Trusted":         layers.Trusted,
	"layers.RegionScores":    layers.RegionScores,
	"layers.NewSandwich":     layers.NewSandwich,
	"layers.CheckLevel":      layers.CheckLevel,
	"layers.Observe":         layers.Observe,
	"layers.WeightsOf":       layers.WeightsOf,
	"layers.Train":           layers.Train,
	"layers.Fitted":          layers.Fitted,
	"layers.RestoreWeights":  layers.RestoreWeights,
	"layers.NewTwoStage":     layers.NewTwoStage,
	"layers.Remask":          layers.Remask[float64],
	"layers.SizesOf":         layers.SizesOf,
	"layers.DirectionOf":     layers.DirectionOf,
	"layers.NewScores":       layers.NewScores,
	"layers.NameOf":          layers.NameOf,
	"layers.MembersOf":       layers.MembersOf,
	"layers.GroupFolds":      layers.GroupFolds,
	"layers.LogSoftmax":      layers.LogSoftmax,
	"layers.Renormalize":     layers.Renormalize,
	"layers.Succession":      layers.Succession,
	"layers.SuccessionONNX":  layers.SuccessionONNX,
	"layers.Compile":         layers.Compile,
	"layers.LogLinear":       layers.LogLinear,
	"layers.Pool":            layers.Pool,
	"optim.Ridge":            optim.Ridge,
	"optim.Minimize":         optim.Minimize,
	"optim.Each":             optim.Each,
	"theory.ToAny":           theory.ToAny,
	"theory.ToNeighbour":     theory.ToNeighbour,
	"theory.Fast":            theory.Fast,
	"theory.Full":            theory.Full,
	"theory.Judged":          theory.Judged,
	"theory.WriteCSV":        theory.WriteCSV,
	"theory.NewLimit":        theory.NewLimit,
	"theory.NewModel":        theory.NewModel,
	"theory.NewStudy":        theory.NewStudy,
	"theory.Fit":             theory.Fit,
	"theory.Free":            theory.Free,
	"theory.Ask":             theory.Ask,
	"theory.Bootstrap":       theory.Bootstrap,
	"theory.CertainSizes":    theory.CertainSizes,
	"theory.Each":            theory.Each[int],
	"theory.Exact":           theory.Exact,
	"theory.LogLog":          theory.LogLog,
	"theory.MeanOf":          theory.MeanOf,
	"theory.NewCell":         theory.NewCell,
	"theory.RMS":             theory.RMS,
	"theory.RunTrials":       theory.RunTrials[int],
	"theory.WithError":       theory.WithError,
	"theory.Among":           theory.Among,
	"theory.NewTruth":        theory.NewTruth,
	"theory.Sample":          theory.Sample,
}

// TestZeroArguments: no function of these rooms panics that is called with nothing in its arguments.
func TestZeroArguments(t *testing.T) {
	for name, function := range called {
		t.Run(name, func(t *testing.T) { withZeros(t, reflect.ValueOf(function)) })
	}
	declared := map[string]bool{}
	for _, file := range sources(t) {
		if room := file.folder(); room == "graph" || room == "layers" || room == "optim" || room == "theory" {
			for _, d := range file.tree.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() {
					declared[room+"."+f.Name.Name] = true
					if called[room+"."+f.Name.Name] == nil {
						t.Errorf("%s.%s is not called", room, f.Name.Name)
					}
				}
			}
		}
	}
	if len(declared) != len(called) {
		t.Errorf("%d functions are called, there are %d", len(called), len(declared))
	}
}

// withZeros calls f with the zero value of each argument.
func withZeros(t *testing.T, f reflect.Value) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("a zero argument panics: %v", p)
		}
	}()
	var zeros []reflect.Value
	for i := range f.Type().NumIn() {
		if !f.Type().IsVariadic() || i < f.Type().NumIn()-1 {
			zeros = append(zeros, reflect.Zero(f.Type().In(i)))
		}
	}
	f.Call(zeros)
}
