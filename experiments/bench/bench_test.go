package bench

import (
	"context"
	"math"
	"testing"

	"calibra/experiments"
	"calibra/graph/simd"
)

// BenchmarkWorkloads reports each workload's figure in its own unit:
//
//	go test -run xxx -bench BenchmarkWorkloads -benchtime 1x -count 10 ./experiments/bench
func BenchmarkWorkloads(b *testing.B) { benchmark(b, nil) }

// BenchmarkOnDeviceWorkloads does so on a card.
func BenchmarkOnDeviceWorkloads(b *testing.B) { benchmark(b, OnCard(b)) }

func benchmark(b *testing.B, e experiments.Executor) {
	for _, w := range Workloads(10000, e) {
		b.Run(w.Key, func(b *testing.B) {
			figure, err := w.Measure(b.Context(), b.N)
			if err != nil {
				b.Fatal(err)
			}
			unit := "s/run"
			if w.PerSecond {
				unit = "rows/s"
			}
			b.ReportMetric(figure, unit)
			b.ReportMetric(0, "ns/op")
		})
	}
}

// TestWorkloadsRun runs each small enough to be quick.
func TestWorkloadsRun(t *testing.T) {
	for _, w := range Workloads(200, nil)[:2] {
		if figure, err := w.Measure(t.Context(), 1); err != nil || !(figure > 0) {
			t.Errorf("%s: %v %v", w.Key, figure, err)
		}
	}
}

// TestExponentOfAPowerLaw: along seconds ∝ rows^1.5 the exponent is 1.5.
func TestExponentOfAPowerLaw(t *testing.T) {
	var s Scale
	for _, n := range []float64{10, 30, 100} {
		s.Points = append(s.Points, Point{along: n, Seconds: math.Pow(n, 1.5)})
	}
	if got := s.exponent(); math.Abs(got-1.5) > 1e-12 { // a regression of three numbers in float64
		t.Errorf("exponent %v of a power law of 1.5", got)
	}
}

// TestEfficienciesOfThreads: a workload is measured on one thread and on all, and the limit is gone after it.
func TestEfficienciesOfThreads(t *testing.T) {
	all := simd.Threads()
	var seen []int
	rate := Workload{Key: "rows_per_s", PerSecond: true, Measure: func(context.Context, int) (float64, error) {
		seen = append(seen, simd.Threads())
		return float64(simd.Threads()), nil
	}}
	got, err := Efficiencies(t.Context(), []Workload{rate}, 1, nil)
	if err != nil || len(got) != 1 || got[0].Efficient != 1 || got[0].One != 1 {
		t.Errorf("%+v, %v of a rate that grows with the threads", got, err)
	}
	if len(seen) != 2 || seen[0] != 1 || seen[1] != all || simd.Threads() != all {
		t.Errorf("measured on %v threads of %d, %d after it", seen, all, simd.Threads())
	}
}
