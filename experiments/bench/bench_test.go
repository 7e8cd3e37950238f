package bench

import (
	"testing"

	"calibra/experiments"
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
