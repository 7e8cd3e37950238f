package method

import (
	"cmp"
	"fmt"
	"strings"

	"calibra/data"
	"calibra/layers"
)

// defaultSlots is the w that M features are cut into by default: the largest
// divisor of M up to 64, the paper's w.
func defaultSlots(features int) int {
	slots := 64
	for features%slots != 0 {
		slots--
	}
	return slots
}

// The settings that files of a run name apart, and studies vary.
const (
	SlotsKey     = "codebook.slots"
	CodewordsKey = "codebook.codewords"
	StartKey     = "codebook.start"
)

// slots reads w; the default is the largest divisor of M up to 64.
func (o *Options) slots() int {
	if o.Features > 0 {
		return o.Int(SlotsKey, defaultSlots(o.Features), 1, "64", "slots w that the features are cut into; must divide their number M")
	}
	return o.IntOr(SlotsKey, "largest divisor of M up to 64", 1, "64", "slots w that the features are cut into; must divide their number M")
}

// codeKinds are the codes that codebook.kind may name, the paper's first.
var codeKinds = []string{learnedCodes, drawnCodes, "kmeans", residualCodes, "one", drawnIndices}

// The codes that methods have by default: the paper's, codewords drawn from the slots and never
// moved, where learning them was found to add nothing, and residual codes; and a control.
const (
	learnedCodes  = "ema"
	drawnCodes    = "random"
	residualCodes = "residual"
	drawnIndices  = "indices"
)

// defaultCodewords is K, and so the fewest calibration rows of a method that divides.
const defaultCodewords = 64

// codebook reads the settings codebook.… of every method that divides, whose codes are of that
// kind by default.
func (o *Options) codebook(kind string) layers.Codes {
	return o.centred(o.codes(o.Int(CodewordsKey, defaultCodewords, 1, "64", "codewords K that all slots share"), kind, 0))
}

// centred reads what is taken from features before c sees them.
func (o *Options) centred(c layers.Codes) layers.Codes {
	if o.Choice("codebook.centre", "common", []string{"common", "column"}, "common", centres) == "column" {
		return layers.ByColumn{Codes: c}
	}
	return c
}

const centres = "what is taken from features before slots are compared: one mean of all slots, which changes no distance, or the mean of each column"

const kinds = "codes: moving averages; slots drawn at random; k-means; levels of k-means, each on what those before " +
	"leave of a slot (codebook.levels); a single codeword; a control, random codes of each row that tell nothing of it"

// codes reads the kind of K codewords and how far they are softened, with the defaults of a method.
func (o *Options) codes(k int, kind string, softness float64) layers.Codes {
	var c layers.Codes
	kind = o.Choice("codebook.kind", kind, codeKinds, "ema", kinds)
	switch kind {
	case "random":
		c = layers.Fixed{Codewords: k}
	case "kmeans":
		c = layers.KMeans{Codewords: k}
	case residualCodes:
		levels := o.Int("codebook.levels", 2, 1, "", "levels of residual codes, of K codewords each")
		c = layers.Residual{Of: layers.KMeans{Codewords: k}, Levels: levels}
	case "one":
		c = o.averages(1)
	case drawnIndices:
		c = layers.Indices{Codewords: k}
	default:
		c = o.averages(k)
	}
	var ways []string // settings that alone say what codes a slot has
	hard := ""
	if kind == residualCodes || kind == drawnIndices {
		ways = append(ways, "codebook.kind="+kind)
	}
	softness = o.Float("codebook.softness", softness, NonNegative, "0", "how softly a slot is assigned: the temperature, in units of the mean distance from the nearest codeword to the second; 0: to one codeword; otherwise codebook.nearest applies")
	switch _, given := o.Values[nearestKey]; {
	case softness > 0:
		ways = append(ways, fmt.Sprintf("codebook.softness=%g", softness))
		hard = "; with codebook.softness=0 codes are not soft"
		c = layers.Soft{Of: c, Softness: softness, Nearest: o.Int(nearestKey, 8, 1, "", "codewords that a slot is shared out among")}
	case given:
		o.err = cmp.Or(o.err, errNotSoft)
	}
	if o.Choice("codebook.distance", "l2", []string{"l2", "l1"}, "l2",
		"distance by which a codeword is nearest to a slot") == "l1" {
		ways = append(ways, "codebook.distance=l1")
		c = layers.Cityblock{Codes: c}
	}
	if o.Choice("codebook.twin", "none", []string{"none", "random"}, "none", "random: a control, the same codes on random codewords that never move") == "random" {
		if kind == drawnIndices {
			ways = append(ways, "codebook.twin=random")
		}
		c = c.Twin()
	}
	if len(ways) > 1 {
		o.err = cmp.Or[error](o.err, data.Inputf("", "%s do not go together; keep one of them%s", strings.Join(ways, " and "), hard))
	}
	return c
}

// nearestKey is the setting that soft codes alone have.
const nearestKey = "codebook.nearest"

var errNotSoft = data.Inputf("", "%s is of soft codes alone, and these are not; set codebook.softness above 0 too, or leave it out", nearestKey)

// one reads the settings of a codebook, of which it leaves a single codeword.
func (o *Options) one() layers.Codes {
	o.codebook(learnedCodes)
	return o.centred(o.averages(1))
}

// averages reads how K codewords move.
func (o *Options) averages(k int) layers.Codebook {
	c := layers.Codebook{
		Codewords: k, Decay: o.Float("codebook.decay", 0.99, inside, "0.99", "decay γ of the codebook's moving averages"),
	}
	if o.Choice(StartKey, "warm", []string{"warm", "zero"}, "zero", "what the averages start from: the initial codewords or zero") == "zero" {
		c.Start = layers.ZeroStart{}
	}
	return c
}

// Divide is the paper's stage 1.
func (o *Options) Divide() *layers.Divide { return o.divide(learnedCodes) }

// DivideBy is the paper's stage 1 on codes of one's own, without the settings of its codebook but the centre.
func (o *Options) DivideBy(c layers.Codes) *layers.Divide {
	return &layers.Divide{Slots: o.slots(), Codebook: o.centred(c), Floor: o.floor(), Optim: o.divides()}
}

// divide is the paper's stage 1 on codes that are of that kind by default.
func (o *Options) divide(kind string) *layers.Divide {
	return &layers.Divide{Slots: o.slots(), Codebook: o.codebook(kind), Floor: o.floor(), Optim: o.divides()}
}

// floor reads what the quantized head's probabilities are clamped at.
func (o *Options) floor() *float64 {
	floor := o.Float("head.floor", 1e-8, Share, "1e-08",
		"least probability p̂ of the quantized head, at which it is clamped; 0: none")
	return &floor
}

// bilinear is the paper's map.
func (o *Options) bilinear() layers.Map {
	var m layers.Bilinear
	if o.Choice("bilinear.scale", "unit", []string{"unit", "learned"}, "unit", "slot scales σ²: 1, or learned") == "learned" {
		m.Scale = layers.LearnedScale{}
	}
	switch o.Choice("bilinear.prior", "learned", []string{"learned", "codewords", "counts", "uniform"}, "learned",
		"prior π of the classes: learned, with a bias for each codeword too, their shares, or uniform") {
	case "codewords":
		m.Prior = layers.CodewordPrior{}
	case "counts":
		m.Prior = layers.CountPrior{}
	case "uniform":
		m.Prior = layers.UniformPrior{}
	}
	if o.Choice("bilinear.link", "softplus", []string{"softplus", "exponential"}, "softplus",
		"link φ of concentrations α = φ(A): log(1 + eˣ), or exp(x − 1)") == "exponential" {
		m.Link = layers.Exponential{}
	}
	switch o.Choice("bilinear.identity", "linear", []string{"linear", "alpha", "nowhere"}, "alpha; its code linear",
		"where the identity is added: beside α − 1, to α and so in log B too, or nowhere") {
	case "alpha":
		m.Identity = layers.InConcentration
	case "nowhere":
		m.Identity = layers.Nowhere
	}
	return m
}
