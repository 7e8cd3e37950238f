package cli

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"calibra/experiments"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// called is a command of calibra, such as "calibra fit --in F", as who called this program can
// type it: by its name where a shell finds that, else by the path that it was called by, and
// by go run where that built it.
func called(command string) string {
	rest := strings.TrimPrefix(command, "calibra ")
	if rest == command {
		return command
	}
	self, name := os.Args[0], programName()
	info, ok := debug.ReadBuildInfo()
	switch _, err := exec.LookPath(name); {
	case underGoRun() && ok && info.Main.Path != "calibra":
		self = "go run ."
	case err == nil:
		self = name
	case underGoRun():
		self = "go run ./experiments/cmd/calibra"
	}
	return self + " " + rest
}

// underGoRun reports whether go run, or go test, built this program for once.
func underGoRun() bool { return strings.Contains(filepath.ToSlash(os.Args[0]), "/go-build") }

// programName is what this program is called, which knows parts of another module by another name.
func programName() string {
	if underGoRun() {
		return "calibra"
	}
	return strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
}

// verdict is what to do with the predictions, nil where they have no NLL.
func (c *evaluateCmd) verdict(in *Judged, r *metrics.Report) (*report.Verdict, error) {
	v, err := report.JudgeEvaluation(r, c.unmeasured)
	if v == nil || err != nil {
		return nil, err
	}
	v.Commands = in.corrections(v, c.Features)
	return v, nil
}

// corrections are the commands that fit the correction to use to the features of some predictions (a file, or "" for the
// network's own), none of no correction.
// A fit starts from the network's logits: where a run left the predictions, one map of the logits corrects others than these, and
// so does the method of the run; then the command compares methods.
func corrections(v *report.Verdict, predictions, features string) []string {
	recommended := (*experiments.Catalog)(nil).Recommended()
	global := recommended.Instead[0] // which reads logits alone
	method := map[string]string{report.Corrections[1]: global, report.Corrections[2]: recommended.Name}[v.ToUse()]
	if method == "" {
		return nil
	}
	in := quoted(cmp.Or(relative(features), "FEATURES.npz"))
	if spec, err := experiments.ReadSpec(filepath.Dir(predictions)); predictions != "" && err == nil && (spec.Method == method || method == global && spec.Method != report.Classifier) {
		return []string{"calibra compare --in " + in + " --methods nc,ts," + recommended.Name + ",local-ts,corrected --out runs/corrections"}
	}
	return []string{"calibra fit --in " + in + " --method " + method + " --out runs/" + method}
}
