package metrics

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

// TestMemoryIsLinear: ESS and LCE of a thousand classes allocate in proportion to the rows and
// to the classes, beside what every thread has.
func TestMemoryIsLinear(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // what threads have, once
	allocated := func(rows, classes int) float64 {
		p := generate(rows, classes, 5, 1, rand.New(rand.NewPCG(uint64(rows), uint64(classes))))
		const likely = 14 // classes of each row, so that each has rows in two bins: those with all in one share sums
		p.logProbs.Apply(func(i, c int, _ float64) float64 {
			if (c-likely*i%classes+classes)%classes < likely {
				return -math.Log(likely)
			}
			return math.Inf(-1)
		}, p.logProbs)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m := p.measure(t, Settings{})
		runtime.ReadMemStats(&after)
		if math.IsNaN(m.Values[LCE]) || m.Local.ESS.At(0, 0) == 0 {
			t.Fatalf("%d rows of %d classes have LCE %v, ESS %v", rows, classes, m.Values[LCE], m.Local.ESS.At(0, 0))
		}
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	const rows, classes = 256, 1000
	for _, by := range []struct {
		name          string
		rows, classes int
	}{{"rows", rows, 0}, {"classes", 0, classes}} {
		var taken []float64
		for k := range 3 {
			taken = append(taken, allocated(rows+k*by.rows, classes+k*by.classes))
		}
		first, second := taken[1]-taken[0], taken[2]-taken[1]
		if !(second < 1.03*first) { // a matrix of rows by rows is 8 % more, one of classes by classes several times as much
			t.Errorf("%d more %s take %.3g MB, as many again %.3g MB", by.rows+by.classes, by.name, first/1e6, second/1e6)
		}
	}
}
