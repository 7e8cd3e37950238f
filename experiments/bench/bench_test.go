package main

import (
	"runtime"
	"runtime/debug"
	"testing"

	"calibra/experiments/run"
	"calibra/graph/work/worktest"
)

// BenchmarkWorkloads reports each workload's figure in its own unit:
//
//	go test -run xxx -bench BenchmarkWorkloads -benchtime 1x -count 10 ./experiments/bench
func BenchmarkWorkloads(b *testing.B) { benchmark(b, nil) }

// BenchmarkOnDeviceWorkloads does so on a card.
func BenchmarkOnDeviceWorkloads(b *testing.B) { benchmark(b, OnCard(b)) }

func benchmark(b *testing.B, e run.Executor) {
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

// allocated is what one more repetition of each workload allocates on one processor, of small sizes: how often, and how
// many kB. The figures are those of Go 1.26 on amd64 with AVX-512. An epoch allocates for what it reports, and
// predictions nothing.
var allocated = map[string]struct {
	run           timed
	size          size
	count, kbytes float64
}{
	"quantizer_epoch_s":                {quantizer, size{200, 10}, 2.2, .3},
	"calibrator_epoch_s_c10":           {calibrator, size{200, 10}, 2.2, .2},
	"calibrator_epoch_s_c100_1000rows": {calibrator, size{50, 100}, 1.2, .1},
	"lce_s_c10":                        {lce, size{600, 10}, 161, 973},
	"lce_s_c100_5000rows":              {lce, size{300, 100}, 506, 3018},
	"inference_rows_per_s":             {inference, size{2048, 10}, 0, 0},
}

// TestWorkloadsAllocateNoMore compares what each workload allocates with the figures above. It measures no time.
func TestWorkloadsAllocateNoMore(t *testing.T) {
	if worktest.PoolsAllocate {
		t.Skip("the race detector empties pools")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which empties pools
	for _, w := range Workloads(200, nil) {
		known, ok := allocated[w.Key]
		if !ok {
			t.Errorf("%s has no figures of what it allocates", w.Key)
			continue
		}
		of := func(reps int) (count, kbytes float64) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if figure, err := known.run(t.Context(), nil, known.size, reps); err != nil || !(figure > 0) {
				t.Fatalf("%s: %v %v", w.Key, figure, err)
			}
			runtime.ReadMemStats(&after)
			return float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc-before.TotalAlloc) / 1e3
		}
		of(1) // fills the pools
		const more = 4
		few, small := of(2)
		many, large := of(2 + more)
		count, kbytes := (many-few)/more, (large-small)/more
		// Other Go releases and processors may differ by a tenth, and what the runtime allocates by itself by the rest.
		if count > 1.1*known.count+4 || kbytes > 1.1*known.kbytes+2 {
			t.Errorf("%s allocates %.1f times and %.1f kB, %.1f times and %.1f kB when the figures were measured", w.Key, count, kbytes, known.count, known.kbytes)
		}
	}
}
