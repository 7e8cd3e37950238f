package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Protocol selects one of two definitions of the multiclass metrics.
// They differ in ECCE, LCE and MLCE; see the package documentation.
type Protocol int

const (
	// Tables is the protocol of the paper's tables: local bins by each class's
	// own probability, thinly populated bins skipped, ECCE divided by the number of
	// non-empty bins, MLCE the class average of the maxima.
	Tables Protocol = iota
	// Formula is the paper's appendix (Metrics) as printed: local bins by top
	// confidence, none skipped, the 1-norm over classes, ECCE summed over all bins,
	// MLCE the maximum of the norm.
	Formula
)

var protocolNames = []string{Tables: "tables", Formula: "formula"}

// String is "tables" or "formula".
func (p Protocol) String() string { return protocolNames[p] }

func (p Protocol) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads "tables" or "formula".
func (p *Protocol) UnmarshalText(text []byte) error {
	k := slices.Index(protocolNames, string(text))
	if k < 0 {
		return fmt.Errorf(`must be one of "tables","formula" but got %q`, text)
	}
	*p = Protocol(k)
	return nil
}

// Binning is how the unit interval of probabilities is cut.
type Binning int

const (
	// EqualWidth cuts [0, 1] into bins of one width.
	EqualWidth Binning = iota
	// Quantile cuts at the quantiles of the probabilities at hand, so that each
	// bin holds about as many rows.
	Quantile
)

// String is the binning as flags and result files name it.
func (b Binning) String() string {
	if b == Quantile {
		return "quantile"
	}
	return "width"
}

// Weighting is how the per-class values are averaged.
type Weighting int

const (
	// Uniform gives every class the weight 1/C.
	Uniform Weighting = iota
	// Frequency gives class c the share of rows with label c.
	Frequency
)

// String is the weighting as result files name it.
func (w Weighting) String() string {
	if w == Frequency {
		return "frequency"
	}
	return "uniform"
}

// Settings say what is measured. The zero value has the settings of the paper's tables.
type Settings struct {
	Protocol Protocol // default Tables

	Bins    int     // bins of the unit interval; 0 means 15
	Binning Binning // default EqualWidth

	Weighting Weighting // default Uniform

	// Bandwidth is γ of the kernel exp(−‖z_i−z_j‖²/(2γ²)), in the embedding's units; 0 means 10.
	Bandwidth float64
	// Epsilon, in place of a Bandwidth, gives each row one of its own: the distance within which a share ε of the other
	// rows lies, between 0 and 1. 0: Bandwidth is that of all.
	Epsilon float64
	// SmallBin is the size up to which the Tables protocol skips a local bin; 0 means
	// 20, and NoSmallBin skips none. Formula skips none and takes no SmallBin.
	SmallBin int

	// Rows are the weights of the rows (N), 0 or more; only their ratios matter, and rows of weight 0
	// are left out. nil: all count alike.
	Rows []float64
	// Soft are the shares of each row's classes (N×C), which sum to 1, in place of its label; nil: labels are certain.
	Soft *mat.Dense

	// Groups are of rows that depend on one another (N numbers): intervals count and resample groups in place of rows.
	// nil: rows are independent.
	Groups []int

	// Strata divide the rows into parts 0…S−1 (N); [Report.Strata] has the local calibration
	// error of each. nil for none.
	Strata []int

	// Anchors, where there are more rows, is at how many of them the local metrics are
	// measured (see [AnchorSample]), drawn by AnchorSeed; 0 means all.
	Anchors    int
	AnchorSeed uint64

	// Own are metrics of modules from outside, measured besides (see [CheckOwn]).
	Own []Own

	// Executor, when set, takes the kernel sums elsewhere, such as on a device.
	Executor Executor
}

// String is the settings in words: "protocol tables, 15 bins of equal width, kernel bandwidth 10, …".
func (s Settings) String() string {
	f, err := s.filled()
	if err != nil {
		return err.Error()
	}
	bins, small, classes := "of equal width", "", "alike"
	if f.Binning == Quantile {
		bins = "of about as many rows"
	}
	if f.SmallBin > 0 {
		small = fmt.Sprintf("bins of %d rows or fewer skipped, ", f.SmallBin)
	}
	if f.Weighting == Frequency {
		classes = "by their frequency"
	}
	return fmt.Sprintf("protocol %s, %d bins %s, kernel bandwidth %s, %sclasses weighted %s",
		f.Protocol, f.Bins, bins, f.Kernel(), small, classes)
}

// Kernel is the bandwidth in words: "10", or how each row has its own.
func (s Settings) Kernel() string {
	if s.Epsilon > 0 {
		return fmt.Sprintf("of each row, within which a share of %g of the others lies", s.Epsilon)
	}
	return fmt.Sprintf("%g", s.Bandwidth)
}

// CheckEpsilon is an error where a share Epsilon of the others among n rows is less than one row.
func (s Settings) CheckEpsilon(n int) error {
	least := 1 / float64(n-1)
	if s.Epsilon == 0 || s.Epsilon >= least {
		return nil
	}
	digit := math.Pow(10, math.Floor(math.Log10(least))-1)
	return fmt.Errorf("metrics: a share ε of %g of %d other rows is less than one row; give at least %.2g",
		s.Epsilon, n-1, digit*math.Ceil(least/digit))
}

// NoSmallBin is the SmallBin that keeps every local bin.
const NoSmallBin = -1

const (
	defaultBins      = 15
	defaultBandwidth = 10.0
	defaultSmallBin  = 20
)

// filled returns s with its defaults written out, or an error that names a field which makes no sense.
func (s Settings) filled() (Settings, error) {
	switch {
	case s.Bins < 0 || s.Bins > math.MaxUint16:
		return s, fmt.Errorf("metrics: settings: %d bins: want 1 to %d", s.Bins, math.MaxUint16)
	case s.Bandwidth < 0 || math.IsNaN(s.Bandwidth):
		return s, fmt.Errorf("metrics: settings: bandwidth %v: want a positive number", s.Bandwidth)
	case !(s.Epsilon >= 0 && s.Epsilon < 1) || s.Epsilon > 0 && s.Bandwidth > 0:
		const why = "metrics: settings: ε = %v with bandwidth %v: want one of them, ε below 1"
		return s, fmt.Errorf(why, s.Epsilon, s.Bandwidth)
	case s.Anchors < 0:
		return s, fmt.Errorf("metrics: settings: %d anchors: want a positive number, or 0 for all rows", s.Anchors)
	case s.SmallBin < NoSmallBin:
		return s, fmt.Errorf("metrics: settings: small bin of %d rows: want a count, or NoSmallBin", s.SmallBin)
	case s.Protocol == Formula && s.SmallBin > 0:
		const why = "metrics: settings: the formula protocol skips no bin, so SmallBin %d has no meaning"
		return s, fmt.Errorf(why, s.SmallBin)
	}
	s.Bins, s.Bandwidth = cmp.Or(s.Bins, defaultBins), cmp.Or(s.Bandwidth, defaultBandwidth)
	switch {
	case s.SmallBin == NoSmallBin || s.Protocol == Formula:
		s.SmallBin = 0
	case s.SmallBin == 0:
		s.SmallBin = defaultSmallBin
	}
	return s, nil
}
