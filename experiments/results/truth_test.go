package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDocOfMetrics holds the rank correlations in the package comment of metrics to the
// results beside this file.
func TestDocOfMetrics(t *testing.T) {
	lines, err := readCSV(".", "truth-ranks.csv")
	if err != nil {
		t.Fatal(err)
	}
	rho := func(setting, metric string) string {
		i := slices.IndexFunc(lines, func(r record) bool { return r["setting"] == setting && r["metric"] == metric })
		if i < 0 {
			t.Fatalf("truth-ranks.csv has no %s of %s", metric, setting)
		}
		x, err := lines[i].number("squared")
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimPrefix(fmt.Sprintf("%.2f", x), "0")
	}
	source, err := os.ReadFile("../metrics/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(strings.ReplaceAll(string(source), "\n//", " ")), " ")
	for _, want := range []string{
		fmt.Sprintf("is %s for global errors, %s for local errors and %s for both", rho("global", "lce"), rho("local", "lce"), rho("mixed", "lce")),
		fmt.Sprintf("NLL has %s, %s and %s", rho("global", "nll"), rho("local", "nll"), rho("mixed", "nll")),
		fmt.Sprintf("%s, %s and %s, and so has recoverable NLL by one reference", rho("global", "recoverable_shared"), rho("local", "recoverable_shared"), rho("mixed", "recoverable_shared")),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics/doc.go does not say %q", want)
		}
	}
}
