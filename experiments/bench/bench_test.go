package bench

import "testing"

// BenchmarkWorkloads reports each workload's figure in its own unit:
//
//	go test -run xxx -bench . -benchtime 1x -count 10 ./experiments/bench
func BenchmarkWorkloads(b *testing.B) {
	for _, w := range Workloads(10000) {
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
	for _, w := range Workloads(200)[:2] {
		if figure, err := w.Measure(t.Context(), 1); err != nil || !(figure > 0) {
			t.Errorf("%s: %v %v", w.Key, figure, err)
		}
	}
}
