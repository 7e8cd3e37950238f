package main

import (
	"fmt"

	"calibra/experiments/paper"
	"calibra/experiments/report"
)

// differencesOf fills the mark differences: a section of [paper.Differences].
func differencesOf(_ string, a arguments) (string, error) {
	t := &report.Table{Labels: []string{a["head"], "text", "code", "Calibra", "how to get the other"}}
	for _, d := range paper.Differences() {
		if d.Section == a["section"] {
			t.Add("", report.Row{Labels: []string{d.What, d.Text, d.Code, d.Calibra, d.Other()}})
		}
	}
	if t.Len() == 0 {
		return "", fmt.Errorf("the paper differs in no section %q", a["section"])
	}
	return t.Markdown(), nil
}
