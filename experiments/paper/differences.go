package paper

import (
	"slices"
	"strings"

	"calibra/experiments/metrics"
)

// Difference is what the paper's text, the published code and Calibra do, where they differ or where Calibra can do
// otherwise. Flags are those of calibra fit.
type Difference struct {
	Section, What       string
	Text, Code, Calibra string
	// AsText and AsCode are the flags with which Calibra does as the text or the code, "" where it does so by default.
	AsText, AsCode string
	Also           []string // more flags about the same
	Instead        string   // what to do that is no flag, or why there is nothing to do
}

// Other is how to get what Calibra does not do by default, in Markdown.
func (d Difference) Other() string {
	var all []string
	for _, flags := range []string{"text: " + d.AsText, "code: " + d.AsCode} {
		if whose, flags, _ := strings.Cut(flags, " "); flags != "" {
			all = append(all, whose+" `"+flags+"`")
		}
	}
	for _, flags := range d.Also {
		all = append(all, "`"+flags+"`")
	}
	if d.Instead != "" {
		all = append(all, d.Instead)
	}
	return strings.Join(all, "; ")
}

// Protocol is all that differs together: as the code behind the tables has it, or as the text with its formulas. Set is
// KEY=VALUE each, split the validation rows.
func Protocol(p metrics.Protocol) (set []string, split string) {
	for _, d := range Differences {
		flags := d.AsCode
		if p == metrics.Formula {
			flags = d.AsText
		}
		for pair := range slices.Chunk(strings.Fields(flags), 2) {
			switch {
			case pair[0] == "--split":
				split = pair[1]
			case pair[0] == "--set" && !slices.Contains(set, pair[1]):
				set = append(set, pair[1])
			}
		}
	}
	return set, split
}

// The sections of Differences.
const (
	rows      = "Data and splits"
	divide    = "Stage 1: the quantizer and its head"
	calibrate = "Stage 2: the calibrator"
	baselines = "Baselines"
	measures  = "Metrics"
)

const (
	nothing     = "nothing to set"
	eachSetting = "each is a setting: `calibra methods vq`"
)

// Differences are all, section by section.
var Differences = []Difference{
	{
		Section: rows, What: "validation rows",
		Text:    "a tenth of the calibration rows",
		Code:    "a tenth of the held-out rows, which are the test rows of the tables; drawn without regard to labels",
		Calibra: "as the text in `fit`, as the code in `study`; stratified, which makes the spread over seeds smaller",
		AsText:  "--split paper", AsCode: "--split tables",
	},
	{
		Section: rows, What: "classifiers", Text: "ResNet-50 and ResNet-152, ConvNeXt, ViT, FTT", Code: "the same",
		Calibra: "features of small residual networks, of tables and of synthetic sources",
		Instead: "any file of features and logits by `--in`",
	},
	{
		Section: rows, What: "data", Text: "CIFAR-10, CIFAR-100, TissueMNIST, Weather", Code: "the same",
		Calibra: "the CIFARs and UCI tables",
		Instead: "readers of MedMNIST's and Weather's files, tested on made files: the data are not available",
	},
	{Section: rows, What: "seeds", Text: "five", Code: "42–46", Calibra: "each table says which", Instead: "`--seed`, `--seeds`"},

	{
		Section: divide, What: "codewords at the start", Text: "random slots", Code: "slots of up to 50 batches", Calibra: "as the code",
		Instead: nothing + ": of up to 6,400 rows they are the same",
	},
	{
		Section: divide, What: "moving averages at the start", Text: "not said",
		Code:    "zero: a codeword that the first batch misses moves toward the origin",
		Calibra: "from the codewords", AsCode: "--set codebook.start=zero",
	},
	{
		Section: divide, What: "distance of slots from codewords", Text: "a norm, such as ℓ²; ties at random", Code: "ℓ², the first of ties",
		Calibra: "as the code", Also: []string{"--set codebook.distance=l1"},
	},
	{
		Section: divide, What: "centre of the features", Text: "none", Code: "none",
		Calibra: "the mean of all slots, which changes no distance", Also: []string{"--set codebook.centre=column"},
	},
	{
		Section: divide, What: "slots w and codewords K", Text: "64 and 64",
		Code:    "64 and 64; comments of the released settings name w = 128 (ViT, TissueMNIST), w = 192 with K = 32 (ViT, CIFAR-100), K = 32 or 16 (TissueMNIST)",
		Calibra: "K = 64; w the largest divisor of M up to 64",
		Also: []string{
			"--slots 128", "--slots 192 --codewords 32", "--codewords 32", "--codewords 16",
		},
	},
	{
		Section: divide, What: "controls of the codes", Text: "–", Code: "–",
		Calibra: "random codewords, of which a slot has the nearest; random indices, which tell nothing of a row",
		Also:    []string{"--set codebook.twin=random", "--set codebook.kind=indices"},
	},
	{Section: divide, What: "decay γ of the codebook, learning rate", Text: "`0.99`, 1e-3", Code: "the same", Calibra: "the same", Instead: eachSetting},
	{
		Section: divide, What: "weight decay of the head", Text: "1e-3", Code: "0 in the released settings", Calibra: "as the text",
		AsCode: "--set divide.decay=0",
	},
	{Section: divide, What: "batch, epochs, patience", Text: "not said", Code: "128, at most 100, 10", Calibra: "as the code", Instead: eachSetting},
	{
		Section: divide, What: "straight-through gradient", Text: "implied by the reference", Code: "has no effect, since the encoder is frozen",
		Calibra: "none", Instead: nothing,
	},

	{
		Section: calibrate, What: "the start", Text: "α = 1 for every region", Code: "√(softplus⁻¹(1)/w) with noise of 1e-5", Calibra: "as the code",
		Instead: nothing + ": α = 1 but for the noise",
	},
	{
		Section: calibrate, What: "φ of α = φ(A)", Text: "softplus", Code: "softplus", Calibra: "softplus",
		Also: []string{"--set bilinear.link=exponential"}, Instead: "one's own by `layers.Link`",
	},
	{
		Section: calibrate, What: "σ²", Text: "fixed at 1 in the experiments", Code: "fixed at 1", Calibra: "fixed at 1",
		Also: []string{"--set bilinear.scale=learned"},
	},
	{
		Section: calibrate, What: "the prior π", Text: "may depend on the cell; the implementation lists A, B and σ² alone",
		Code:    "C logits, learned; not learned in the released settings (`learn_pi: False`)",
		Calibra: "C logits, learned", AsCode: "--set bilinear.prior=uniform", Also: []string{"--set bilinear.prior=counts"},
	},
	{
		Section: calibrate, What: "a bias for each codeword", Text: "the prior may depend on the cell", Code: "none", Calibra: "none",
		Also: []string{"--set bilinear.prior=codewords"},
	},
	{
		Section: calibrate, What: "\"+ I\"", Text: "in α, and so in log B too", Code: "in the linear term, not in log B",
		Calibra: "as the code, since the tables were made with it", AsText: "--set bilinear.identity=alpha",
		Also:    []string{"--set bilinear.identity=nowhere"},
		Instead: "[FINDINGS](../../theory/studies/FINDINGS.md) says what that means for Proposition 2",
	},
	{
		Section: calibrate, What: "probabilities p̂", Text: "of the head", Code: "clamped at 1e-8", Calibra: "as the code",
		AsText: "--set head.floor=0",
	},
	{
		Section: calibrate, What: "early stopping", Text: "not said", Code: "by validation NLL; it cannot return to the start", Calibra: "as the code",
		Also: []string{"--method vq-start"},
	},
	{
		Section: calibrate, What: "embedding of its local metrics", Text: "not said", Code: "PCA of the quantized features",
		Calibra: "reported as *own*; another embedding is *shared* by all methods", Instead: nothing + ": both are reported",
	},

	{
		Section: baselines, What: "TS, DC", Text: "cited", Code: "L-BFGS without a line search, which stops short of the optimum",
		Calibra: "at the optimum", Also: []string{"--method ts-published", "--method dc-published"},
	},
	{
		Section: baselines, What: "DC", Text: "cited", Code: "maximum likelihood", Calibra: "`dc`, as the code",
		Also: []string{"--method dc-odir"}, Instead: "penalized, by cross-validation",
	},
	{
		Section: baselines, What: "PS", Text: "cited", Code: "a regression of each class on all probabilities, penalized",
		Calibra: "`ps`: Platt's sigmoid of each class's score", AsCode: "--set platt.C=1",
	},
	{
		Section: baselines, What: "KC", Text: "KCal", Code: "Local Nets' network without its distance term, predicting by a kernel over the validation rows",
		Calibra: "`kc`: the code's, over the rows that it is trained on",
		AsText:  "--method kc-original", AsCode: "--set kernel.rows=validation", Also: []string{"--set kernel.rows=all"},
	},
	{
		Section: baselines, What: "KC and LN: hidden units", Text: "64; CIFAR-100 128; TissueMNIST 256", Code: "the same",
		Calibra: "64 up to 10 classes, else 128", Also: []string{"--set net.hidden=256"}, Instead: "no method knows that rows are TissueMNIST's",
	},
	{
		Section: baselines, What: "KC and LN: the own embedding", Text: "not said", Code: "the learned similarity",
		Calibra: "the learned similarity; the PCA of the features as *shared*", Instead: nothing + ": both are reported",
	},
	{
		Section: baselines, What: "PC", Text: "ProCal", Code: "density ratio on L2-normalized features, 50 neighbours; 100 in one of its settings",
		Calibra: "`pc`, 50 neighbours", Also: []string{"--set procal.neighbours=100"},
	},

	{
		Section: measures, What: "LCE, MLCE", Text: "ℓ¹ norm of a vector within bins", Code: "each class in bins of its own probability, the mean over the classes",
		Calibra: "as the code", AsText: "--set metrics.protocol=formula",
	},
	{
		Section: measures, What: "bandwidth γ of the kernel", Text: "10", Code: "10", Calibra: "10",
		Also: []string{"--set metrics.bandwidth=3", "--set metrics.epsilon=0.05"}, Instead: "by ε, each row has the distance to that share of the others",
	},
	{
		Section: measures, What: "small bins", Text: "not said", Code: "left out at 20 rows or fewer, at 10 for ConvNeXt and ViT", Calibra: "left out at 20 or fewer",
		Also: []string{"--set metrics.small_bin=10", "--set metrics.small_bin=0"},
	},
	{Section: measures, What: "\"ECE\"", Text: "class-wise", Code: "class-wise", Calibra: "class-wise; the top class's as `ece_top`", Instead: nothing + ": both are reported"},
	{
		Section: measures, What: "ECCE", Text: "a sum over bins", Code: "divided by the number of bins that are not empty", Calibra: "as the code",
		AsText: "--set metrics.protocol=formula",
	},
	{Section: measures, What: "noise floor, intervals", Text: "–", Code: "–", Calibra: "of every metric", Instead: "`calibra evaluate --redraws 0 --replicates 0`"},
	{
		Section: measures, What: "weights of Weather's five classes in LCE and MLCE", Text: "1/C",
		Code:    ".1 each, which sum to .5: the paper's fourteen MLCEs of methods without an embedding of their own are about half of what they would be",
		Calibra: "1/C", Instead: nothing + ": half of Calibra's is to be held beside the paper's",
	},
}
