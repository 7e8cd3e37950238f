package cli

import (
	"cmp"
	"path/filepath"

	"calibra/experiments"
	"calibra/experiments/metrics"
	"calibra/experiments/verdict"
)

// verdict is what to do with the predictions, nil where they have no NLL.
func (c *evaluateCmd) verdict(in *Judged, r *metrics.Report) (*verdict.Verdict, error) {
	v, err := verdict.JudgeEvaluation(r, c.unmeasured)
	if v == nil || err != nil {
		return nil, err
	}
	v.Commands = in.corrections(v, c.Features)
	v.Doubt(in.doubt)
	return v, nil
}

// corrections are the commands that fit the correction to use to the features of some predictions (a file, or "" for the
// network's own), none of no correction.
// A fit starts from the network's logits: where a run left the predictions, one map of the logits corrects others than these, and
// so does the method of the run; then the command compares methods.
func corrections(v *verdict.Verdict, predictions, features string) []string {
	recommended := (*experiments.Catalog)(nil).Recommended()
	global := recommended.Instead[0] // which reads logits alone
	method := map[string]string{verdict.Corrections[1]: global, verdict.Corrections[2]: recommended.Name}[v.ToUse()]
	if method == "" {
		return nil
	}
	in := quoted(cmp.Or(relative(features), "FEATURES.npz"))
	if spec, err := experiments.ReadSpec(filepath.Dir(predictions)); predictions != "" && err == nil && (spec.Method == method || method == global && spec.Method != verdict.Classifier) {
		return []string{"calibra compare --in " + in + " --methods nc,ts," + recommended.Name + ",local-ts,corrected --out runs/corrections"}
	}
	return []string{"calibra fit --in " + in + " --method " + method + " --out runs/" + method}
}
