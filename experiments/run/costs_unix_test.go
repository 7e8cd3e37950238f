//go:build unix

package run_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/run"
	"calibra/experiments/source"
	"calibra/experiments/verdict"
	"calibra/graph/work/worktest"
)

// costs are the seconds of fits, of one thread of the processor, to what the sources of timed have.
// CALIBRA_RECORD=1 go test -timeout 60m -run TestCosts ./experiments/run writes them anew. CALIBRA_RECORD=NAME
// writes those of one method alone, of the sources that are there.
const costs = "testdata/costs.csv"

var timed = []string{"satellite", "letter", "../../../shared/data/cifar10-resnet.npz"}

// TestCosts: no method takes more than three times what its cost says, or less than a third, by more than a second:
// those that stop early take what the rows ask for.
func TestCosts(t *testing.T) {
	if only := os.Getenv("CALIBRA_RECORD"); only != "" {
		record(t, only)
	}
	text, err := os.ReadFile(costs)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	number := func(cell string) float64 {
		x, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	timed := map[string]bool{}
	for _, l := range lines[1:] {
		m, err := (*method.Catalog)(nil).Find(l[0])
		if err != nil {
			t.Fatal(err)
		}
		timed[m.Name] = true
		says, took := m.Cost.Of(number(l[1]), int(number(l[2])), int(number(l[3]))), number(l[4])
		if ratio := math.Max(says/took, took/says); ratio > 3 && math.Abs(says-took) > 1 {
			t.Errorf("%s: a fit to %s rows of %s features and %s classes took %s s, and its cost says %.2f", l[0], l[1], l[2], l[3], l[4], says)
		}
	}
	for _, m := range method.All {
		if !timed[m.Name] && m.Name != verdict.Classifier {
			t.Errorf("%s is not in experiments/run/%s; CALIBRA_RECORD=%[1]s go test -run TestCosts ./experiments/run "+
				"writes its rows", m.Name, costs)
		}
	}
}

// record writes costs: those of all methods, or the rows of one to those of the others.
func record(t *testing.T, only string) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var text bytes.Buffer
	to := csv.NewWriter(&text)
	if only == "1" {
		to.Write([]string{"method", "rows", "features", "classes", "seconds"})
	} else {
		others(t, &text, only)
	}
	for _, name := range timed {
		if _, err := os.Stat(name); err != nil && only != "1" && filepath.Ext(name) != "" {
			continue
		}
		o, err := source.Registry(nil).Open(name, source.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := o.Load(t.Context(), 42, "", "")
		if err != nil {
			t.Fatal(err)
		}
		p.Source.Test = nil // nothing is measured
		size := source.SizeOf(p.Source)
		spec := run.Spec{Method: verdict.Classifier, Data: name, Split: data.PaperText, Seed: 42}
		prepared, err := spec.Prepare(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range method.All {
			if m.Name == verdict.Classifier || only != "1" && only != m.Name {
				continue
			}
			spec.Method = m.Name
			began := worktest.Processor().Seconds()
			if _, err := spec.FitPrepared(t.Context(), prepared, nil); err != nil {
				t.Fatal(err)
			}
			to.Write([]string{m.Name, strconv.Itoa(size.Rows), strconv.Itoa(size.Features), strconv.Itoa(size.Classes), fmt.Sprintf("%.3f", worktest.Processor().Seconds()-began)})
		}
	}
	if to.Flush(); to.Error() != nil {
		t.Fatal(to.Error())
	}
	if err := os.WriteFile(costs, text.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// others copies costs without the rows of the method.
func others(t *testing.T, to *bytes.Buffer, method string) {
	t.Helper()
	text, err := os.ReadFile(costs)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, method+",") {
			to.WriteString(line)
		}
	}
}
