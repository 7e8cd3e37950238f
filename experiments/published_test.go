package experiments_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/metrics"
)

// published is testdata/cifar10-resnet.json: the published code on the features that the
// issue names, three seeds, and the baselines fitted to convergence.
type published map[string]struct{ Mean, SD float64 } // by "nll", "acc", "lce"

func readPublished(t *testing.T, split string) map[string]published {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "cifar10-resnet.json"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &sections); err != nil {
		t.Fatal(err)
	}
	var runs map[string]published
	if err := json.Unmarshal(sections[split], &runs); err != nil {
		t.Fatal(err)
	}
	return runs
}

const publishedSeeds = 3

// held are the metrics that are held, with their keys in the published results.
var held = []struct {
	metric metrics.Metric
	key    string
}{{metrics.NLL, "nll"}, {metrics.Accuracy, "acc"}, {metrics.LCE, "lce"}}

// standardErrors is how many joint standard errors of the two means over seeds lie between
// them: √(sd²/n + sd₀²/3).
func standardErrors(values []float64, want struct{ Mean, SD float64 }) (mean, errors float64) {
	s := metrics.NewSpread(values)
	joint := math.Sqrt(s.SD*s.SD/float64(len(values)) + want.SD*want.SD/publishedSeeds)
	return s.Mean, (s.Mean - want.Mean) / joint
}

// apart are the numbers more than two joint standard errors from the published ones. What
// is known of each:
//
// VQ-DC does not reproduce, and moving averages started at zero, as published, are not why:
// its stage 2 takes .0035 off the NLL of its own quantized head, the published one nothing.
// Why is not known.
//
// VQ-NC, IR and PS: the two programs leave other tenths of the test rows out, which standard
// deviations of .0002 and .00003 over three seeds of one program do not show. The NLL of the
// uncalibrated model, of which nothing is fitted, differs by .007, those of TS, DC and VQ by
// .004.
var apart = []string{"vq-dc zero nll", "vq-dc zero lce", "vq-nc zero nll", "ir lce", "ps lce"}

// TestPublishedTables holds CIFAR-10, split tables, to the published code: every method and
// start of the averages whose results are committed, each metric within two joint standard
// errors but for those in apart, which must lie outside. It prints the table (go test -v).
// The results are what calibra study main wrote, on the seeds that they name.
func TestPublishedTables(t *testing.T) {
	want := readPublished(t, "split_tables")
	found := map[string][]map[string]float64{} // by method and start
	for _, name := range []string{"main.csv", "tables-zero.csv"} {
		f, err := os.Open(filepath.Join("readme", "results", name))
		if err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(f).ReadAll()
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		column := func(line []string, name string) string { return line[slices.Index(lines[0], name)] }
		for _, line := range lines[1:] {
			row := map[string]float64{}
			for _, h := range held {
				if row[h.key], err = strconv.ParseFloat(column(line, h.metric.String()), 64); err != nil {
					t.Fatal(err)
				}
			}
			key := strings.TrimSpace(column(line, "method") + " " + column(line, "ema"))
			found[key] = append(found[key], row)
		}
	}
	t.Logf("%-12s %-4s %9s %9s %7s %s", "", "", "Calibra", "published", "errors", "seeds")
	checked := 0
	for _, name := range []string{"vq warm", "vq zero", "vq-dc zero", "vq-nc zero", "dc", "ts", "ir", "ps"} {
		method, _, _ := strings.Cut(name, " ")
		if len(found[name]) < publishedSeeds {
			t.Errorf("of %s there are %d seeds", name, len(found[name]))
			continue
		}
		for _, h := range held {
			var values []float64
			for _, row := range found[name] {
				values = append(values, row[h.key])
			}
			reference := want[strings.ToUpper(method)+"/shared"][h.key]
			mean, errors := standardErrors(values, reference)
			t.Logf("%-12s %-4s %9.5f %9.5f %+7.1f %d", name, h.key, mean, reference.Mean, errors, len(values))
			checked++
			if is, known := math.Abs(errors) > 2, slices.Contains(apart, name+" "+h.key); is != known {
				t.Errorf("%s: %s is %.5f, published %.5f: %+.1f joint standard errors, known to be apart: %v", name, h.key, mean, reference.Mean, errors, known)
			}
		}
	}
	t.Logf("%d numbers, %d of them apart", checked, len(apart))
}

// TestCommittedResults fits two cells of the committed results anew: the same numbers, to
// what another BLAS rounds.
func TestCommittedResults(t *testing.T) {
	if testing.Short() {
		t.Skip("two fits of 10,000 rows take half a minute")
	}
	src := cifarFeatures(t)
	f, err := os.Open(filepath.Join("readme", "results", "main.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"vq", "dc"} {
		run, err := experiments.Spec{Method: method, Split: data.PaperTables, Seed: 42}.Fit(t.Context(), src, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines[1:] {
			if line[slices.Index(lines[0], "method")] != method || line[slices.Index(lines[0], "seed")] != "42" {
				continue
			}
			for _, h := range held {
				text := line[slices.Index(lines[0], h.metric.String())]
				if got := run.Outcome.Metrics.Values[h.metric]; math.Abs(got-must(t, text)) > 1e-4 {
					t.Errorf("%s: %v is %.6f, committed %s", method, h.metric, got, text)
				}
			}
		}
	}
}

func must(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(fmt.Errorf("%q: %w", text, err))
	}
	return x
}

// cifarFeatures skips where the features, 30 MB, are not beside the repository, or in the
// folder that CALIBRA_SHARED names.
func cifarFeatures(t *testing.T) *data.Source {
	t.Helper()
	shared := os.Getenv("CALIBRA_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "shared")
	}
	src, err := data.Open(filepath.Join(shared, "data", "cifar10-resnet.npz"))
	if err != nil {
		t.Skip("the CIFAR-10 features, 30 MB, are not beside the repository")
	}
	return src
}
