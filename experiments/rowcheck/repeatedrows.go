package rowcheck

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"calibra/data"
)

// RepeatedRows are test rows that are calibration rows: on these a method is judged by what it was fitted to.
type RepeatedRows struct {
	Rows int `json:"rows"` // of the test rows
	Of   int `json:"of"`
}

// String is a sentence of a warning.
func (r *RepeatedRows) String() string {
	return fmt.Sprintf("%d of the %d test rows are calibration rows too, so that a method looks better than it is; test on rows that it was not fitted to", r.Rows, r.Of)
}

// repeatedShare is the share of the test rows from which on that is told: fewer change no figure by much.
const repeatedShare = 0.1

// Repeated counts the test rows whose features and logits equal those of a calibration row to the last digit. It is nil
// if they are few, or no more than chance allows: outputs of few values, such as votes, coincide. In this case it
// counts in the same way the rows whose labels are equal too.
func Repeated(cal, test *data.Set) *RepeatedRows {
	if cal == nil || test == nil || test.Len() == 0 || test.Features == nil && test.Logits == nil {
		return nil
	}
	if cal.Logits != nil && test.Logits != nil && test.Features != nil { // features take longer
		if outputs, _ := repeatedBy((*data.Set).AppendRow, &data.Set{Logits: cal.Logits}, &data.Set{Logits: test.Logits}); outputs.Rows == 0 {
			return nil
		}
	}
	r, many := repeatedBy((*data.Set).AppendRow, cal, test)
	if !many && r.Rows > 0 && cal.Labels != nil && test.Labels != nil {
		r, many = repeatedBy(func(x *data.Set, to []byte, row int) []byte {
			return binary.LittleEndian.AppendUint64(x.AppendRow(to, row), uint64(x.Labels[row]))
		}, cal, test)
	}
	if !many {
		return nil
	}
	return &r
}

// repeatedBy counts the test rows that are calibration rows by the bytes that tell rows apart; many reports whether
// they are a share worth telling, and more than chance allows.
func repeatedBy(appendRow func(x *data.Set, to []byte, row int) []byte, cal, test *data.Set) (r RepeatedRows, many bool) {
	n := cal.Len()
	values := map[int]int{} // by how many rows have them
	for _, rows := range data.Kinds(n+test.Len(), func(to []byte, i int) []byte {
		if i < n {
			return appendRow(cal, to, i)
		}
		return appendRow(test, to, i-n)
	}) {
		values[len(rows)]++
		if rows[0] < n { // calibration rows are first
			first, _ := slices.BinarySearch(rows, n)
			r.Rows += len(rows) - first
		}
	}
	if r.Of = test.Len(); r.Rows == 0 {
		return r, false
	}
	mean, variance := coincidences(values, n, r.Of)
	return r, float64(r.Rows) >= repeatedShare*float64(r.Of) && float64(r.Rows)-mean > alarmDeviation*math.Sqrt(variance)
}

// coincidences are mean and variance of how many of m rows have the value of one of n others, where n + m = N rows are
// divided at random and k_t values are had by t rows each. A value is in no coincidence if all its rows are among the
// m, with probability π_t = C(m, t) / C(N, t), and two values are not with π_{s+t}:
//
//	m − Σ_t k_t t π_t ,   Σ_t k_t t² (π_t − π_2t) + Σ_s Σ_t k_s k_t s t (π_{s+t} − π_s π_t)
func coincidences(values map[int]int, n, m int) (mean, variance float64) {
	often := slices.Sorted(maps.Keys(values))
	logs := make([]float64, min(m, 2*often[len(often)-1])+1)
	for t := range logs[1:] {
		logs[t+1] = logs[t] + math.Log(float64(m-t)/float64(n+m-t))
	}
	pi := func(t int) float64 {
		if t >= len(logs) {
			return 0
		}
		return math.Exp(logs[t])
	}
	mean = float64(m)
	for _, t := range often {
		k := float64(values[t] * t)
		mean -= k * pi(t)
		variance += k * float64(t) * (pi(t) - pi(2*t))
		for _, s := range often {
			variance += k * float64(values[s]*s) * (pi(s+t) - pi(s)*pi(t))
		}
	}
	return mean, variance
}
