package cli

import (
	"cmp"
	"context"
	"path/filepath"

	"calibra/experiments/diagnosis"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/run"
	"calibra/experiments/verdict"
)

// verdict is what to do with the predictions, nil where they have no NLL.
func (c *evaluateCmd) verdict(ctx context.Context, t *terminal, methods *method.Catalog, in *judged, r *metrics.Report) (
	*verdict.Verdict, error) {
	return in.verdict(ctx, t, methods, c.Features, c.Seed, r.Recovered, func(fitted *verdict.Verdict) (*verdict.Verdict, error) {
		v, err := verdict.JudgeEvaluation(r, c.unmeasured, fitted)
		if v != nil && err == nil && fitted != nil && fitted.Say == verdict.Use && fitted.Cause != verdict.Shifted {
			var d *diagnosis.Diagnosis
			d, err = place(ctx, t, methods, in.source, c.In, placedRows)
			v.Locate(d)
		}
		return v, err
	})
}

// corrections gives a verdict on corrections the method that makes the one to use, and the commands that fit it to the features of some
// predictions (a file, or "" for the network's own).
// A fit starts from the network's logits: where a run left the predictions, one map of the logits corrects others than these, and
// so does the method of the run; then the command compares methods.
func corrections(v *verdict.Verdict, predictions, features string) {
	recommended := (*method.Catalog)(nil).Recommended()
	global := method.Instead[0] // which reads logits alone
	method := map[string]string{verdict.Corrections[1]: global, verdict.Corrections[2]: recommended.Name}[v.ToUse()]
	if method == "" {
		return
	}
	v.Method = method
	in := quoted(cmp.Or(relative(features), "FEATURES.npz"))
	if spec, err := run.ReadSpec(filepath.Dir(predictions)); predictions != "" && err == nil && (spec.Method == method || method == global && spec.Method != verdict.Classifier) {
		v.Commands = []string{"calibra compare --in " + in + " --methods nc,ts," + recommended.Name + ",local-ts,corrected --out runs/corrections"}
		return
	}
	v.Commands = []string{"calibra fit --in " + in + " --method " + method + " --out runs/" + method}
}
