package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"calibra/data"
	"calibra/graph/work"
)

// MembersHead are the columns of [Members].
var MembersHead = []string{"method", "command", "members", "rows", "core seconds", "seconds", "peak MB", "written MB", "cores"}

// memberMethods are those whose ensembles are measured, and memberCounts of how many members.
var (
	memberMethods = []string{"vq", "corrected", "pool"}
	memberCounts  = []int{1, 5}
)

// Members measures what the program at a path needs to fit one and five members of a method to the features file in, to
// apply them to its test rows and to export them: seconds of all threads and by the clock, the peak of the process as
// the system counts it, and the bytes of model, predictions and network.
func Members(ctx context.Context, program, in, dir string) (rows [][]string, err error) {
	src, err := data.OpenContext(ctx, in, data.Names{})
	if err != nil {
		return nil, err
	}
	if err := src.Require("cal_features", "cal_logits", "cal_labels", "test_features", "test_logits", "test_labels"); err != nil {
		return nil, err
	}
	fitted, tested := src.Cal.Len(), src.Test.Len()
	src = nil // the commands have the memory
	for m, method := range memberMethods {
		for s, members := range memberCounts {
			model := filepath.Join(dir, fmt.Sprintf("%s-%d", method, members))
			calibrated, network := filepath.Join(model, "p.npz"), filepath.Join(model, "m.onnx")
			set := fmt.Sprintf("ensemble.members=%d", members)
			for k, c := range []struct {
				rows    int
				written string
				args    []string
			}{
				{fitted, filepath.Join(model, "model.safetensors"),
					[]string{"fit", "--method", method, "--in", in, "--set", set, "--out", model}},
				{tested, calibrated, []string{"apply", "--model", model, "--in", in, "--out", calibrated}},
				{0, network, []string{"export", "--model", model, "--onnx", network}},
			} {
				done, all := float64((m*len(memberCounts)+s)*3+k), float64(len(memberMethods)*len(memberCounts)*3)
				work.Report(ctx, done/all, "%s, %d members: %s", method, members, c.args[0])
				u, err := use(ctx, program, c.args...)
				if err != nil {
					return nil, err
				}
				info, err := os.Stat(c.written)
				if err != nil {
					return nil, err
				}
				count := "" // of rows: an export reads none
				if c.rows > 0 {
					count = strconv.Itoa(c.rows)
				}
				rows = append(rows, []string{method, c.args[0], strconv.Itoa(members), count, fmt.Sprintf("%.1f", u.core), fmt.Sprintf("%.1f", u.wall),
					fmt.Sprintf("%.0f", u.peak), fmt.Sprintf("%.2f", float64(info.Size())/1e6), strconv.Itoa(runtime.NumCPU())})
			}
		}
	}
	return rows, nil
}
