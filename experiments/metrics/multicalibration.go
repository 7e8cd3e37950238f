package metrics

import (
	"fmt"
	"math"
	"slices"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/mat"
)

// Multicalibration is the error of the predictions in the group and class where it is most certain (Guy et al. 2025,
// "Measuring multi-calibration", arXiv 2506.11251; MCGrad's MulticalibrationError). For a segment S, the rows of a
// group or all rows, and a class c, with rows in the order of p_c, weights w and residuals r_i = 1[y_i = c] − p_ic,
//
//	ECCE_Sc = max_k D_k − min_k D_k ,  D_k = Σ_{i≤k} w_i r_i / Σ w_i ,  D_0 = 0
//	σ_Sc    = √(Σ w_i² p_ic (1 − p_ic)) / Σ w_i
//
// and the error is max_Sc ECCE_Sc/σ_Sc; in the units of probabilities it is this times σ_c of all rows for its class c.
// Under calibration ECCE/σ is the range of Brownian motion on [0, 1] (Arrieta-Ibarra et al. 2022). Rows with equal p_ic
// are one step, so their order does not matter; MCGrad takes them as they come. With two classes, as in MCGrad, only
// the positive class is measured.
type Multicalibration struct {
	Error    float64 `json:"error"` // of the worst segment, as a difference of probabilities
	Sigma    float64 `json:"sigma"` // the same in standard deviations of calibrated predictions
	PValue   float64 `json:"p"`     // of calibrated predictions in that segment, as MCGrad has it
	Adjusted float64 `json:"p_all"` // the least of the segments
	// BeyondChance is that one of the segments is.
	BeyondChance bool   `json:"beyond_chance"`
	Group        string `json:"group"` // of the worst segment, "" of all rows
	Class        string `json:"class"`
	// Groups are all rows, named "", and each group of at least ten: in its worst class.
	Groups []Segment `json:"groups"`
}

// Segment is a group in its worst class.
type Segment struct {
	Group  string  `json:"group"`
	Rows   int     `json:"rows"`
	Class  string  `json:"class"`
	ECCE   float64 `json:"ecce"`
	Sigma  float64 `json:"sigma"`
	PValue float64 `json:"p"`
	// Adjusted is for all segments and classes (Bonferroni), of ECCE/√(σ² + 4/(Σ w)²): with 4 the tails of Poisson and
	// normal counts cross far out, so that one event of a class that hardly occurs does not make an error.
	Adjusted     float64 `json:"p_all"`
	BeyondChance bool    `json:"beyond_chance"` // Adjusted is below .05
}

// steady is added to the variance of a count, and adjustedLevel is what Adjusted is below beyond chance.
const steady, adjustedLevel = 4, .05

// fewestInSegment is how many rows a group has at least, as MCGrad has it.
const fewestInSegment = 10

// NewMulticalibration measures the groups of the rows (N numbers into names), and the classes (C names). It uses Rows
// and Soft of s.
func NewMulticalibration(logProbs *mat.Dense, labels, groups []int, names, classes []string, s Settings) (*Multicalibration, error) {
	b, _, err := prepare(logProbs, labels, nil, s)
	if err != nil {
		return nil, err
	}
	if len(groups) != b.Input || len(classes) != b.Classes || slices.Min(groups) < 0 || slices.Max(groups) >= len(names) {
		return nil, fmt.Errorf("metrics: multicalibration: %d groups of %d rows, %d names of groups, %d names of %d classes", len(groups), b.Input, len(names), len(classes), b.Classes)
	}
	segments, byGroup := []*stretch{{Segment: Segment{Rows: b.N}}}, make([]*stretch, len(names))
	for g, name := range names {
		byGroup[g] = &stretch{Segment: Segment{Group: name}}
	}
	for i := range b.N {
		byGroup[groups[b.InputRow(i)]].Rows++
	}
	small := func(s *stretch) bool { return s.Rows < fewestInSegment }
	segments = append(segments, slices.DeleteFunc(slices.Clone(byGroup), small)...)
	of := make([][]*stretch, b.N) // those that each row is in
	for i := range of {
		of[i] = segments[:1]
		if s := byGroup[groups[b.InputRow(i)]]; !small(s) {
			of[i] = []*stretch{segments[0], s}
		}
	}
	first := 0
	if b.Classes == 2 {
		first = 1
	}
	out := &Multicalibration{Adjusted: 1}
	whole := make([]float64, b.Classes) // σ_c of all rows
	for c := first; c < b.Classes; c++ {
		whole[c] = b.stretches(c, of, segments)
		for _, s := range segments {
			s.steadied = math.Max(s.steadied, (s.high-s.low)*s.weight/math.Sqrt(s.variance+steady))
			if sigma := s.sigmas(); !small(s) && (sigma > s.Sigma || s.Class == "") {
				s.Class, s.class, s.ECCE, s.Sigma = classes[c], c, s.high-s.low, sigma
			}
		}
	}
	worst, tests := 0, float64(len(segments)*(b.Classes-first))
	for k, s := range segments {
		s.PValue, s.Adjusted = rangeSurvival(s.Sigma), math.Min(1, rangeSurvival(s.steadied)*tests)
		s.BeyondChance = s.Adjusted < adjustedLevel
		out.Adjusted, out.BeyondChance = math.Min(out.Adjusted, s.Adjusted), out.BeyondChance || s.BeyondChance
		if out.Groups = append(out.Groups, s.Segment); s.Sigma > out.Groups[worst].Sigma {
			worst = k
		}
		if s.Sigma == out.Groups[worst].Sigma {
			out.Error = s.Sigma * whole[s.class]
		}
	}
	w := out.Groups[worst]
	out.Sigma, out.PValue, out.Group, out.Class = w.Sigma, w.PValue, w.Group, w.Class
	return out, nil
}

// stretch is a segment while the rows go by.
type stretch struct {
	Segment
	class    int     // of Segment
	steadied float64 // the largest ECCE/√(σ² + 4/(Σ w)²) of the classes

	weight, variance float64 // Σ w, Σ w² p (1 − p)
	sum, low, high   float64 // of w r so far, and its least and largest
}

// sigmas is ECCE/σ.
func (s *stretch) sigmas() float64 {
	switch ecce := s.high - s.low; {
	case s.variance > 0:
		return ecce * s.weight / math.Sqrt(s.variance)
	case ecce > 0:
		return math.MaxFloat64
	}
	return 0
}

// stretches takes segments, the first all rows, through the rows in the order of p_c, and gives σ_c of all rows. of are
// those that each row is in.
func (b *binned) stretches(c int, of [][]*stretch, segments []*stretch) float64 {
	for _, s := range segments {
		s.weight, s.variance, s.sum, s.low, s.high = 0, 0, 0, 0, 0
	}
	p := make([]float64, b.N)
	for i := range p {
		p[i] = b.Prob[i*b.Classes+c]
		for _, s := range of[i] {
			s.weight += b.W(i)
			s.variance += b.W(i) * b.W(i) * p[i] * (1 - p[i])
		}
	}
	order := checked.Ascending(p)
	for from := 0; from < b.N; {
		to := from
		for ; to < b.N && p[order[to]] == p[order[from]]; to++ {
			i := order[to]
			for _, s := range of[i] {
				s.sum -= b.W(i) * b.Residual(i, c) / s.weight
			}
		}
		for _, i := range order[from:to] {
			for _, s := range of[i] {
				s.low, s.high = math.Min(s.low, s.sum), math.Max(s.high, s.sum)
			}
		}
		from = to
	}
	return math.Sqrt(segments[0].variance) / segments[0].weight
}

// rangeSurvival is the chance that the range of Brownian motion on [0, 1] is x or more (Feller 1951):
//
//	1 − Σ_{k≥0} (8/x² + 2/((k + ½)² π²)) exp(−2 (k + ½)² π²/x²)
//
// with what float64 holds beside 1, so that it is 2.2e-16 at least.
func rangeSurvival(x float64) float64 {
	const least = 0x1p-52
	if x < .1 { // where the sum is 0, and its terms 0·∞
		return 1
	}
	cdf := 0.0
	for k := 0; ; k++ {
		h := (float64(k) + .5) * math.Pi
		term := (8/(x*x) + 2/(h*h)) * math.Exp(-2*h*h/(x*x))
		if cdf += term; term < 1e-18 && h > x {
			return math.Max(least, math.Min(1, 1-cdf))
		}
		if k > 1000 { // x is beyond 1,000 standard deviations
			return least
		}
	}
}
