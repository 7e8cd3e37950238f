package laws

// excuse is a law that a method is not held to.
type excuse struct{ method, law string }

// excused are methods that a law cannot hold for, by the reason.
var excused = []struct {
	law, why string
	methods  []string
}{
	{"rows in another order", "steps through the rows in minibatches, in the file's order shuffled", joined(onCodewords, "kc", "kc-original", "ln", "anchored-bilinear")},
	{"rows in another order", "draws its folds, or rows to hold out, by the places of the rows", mixtures},
	{"classes in another order", "draws the start of its weights, class after class", joined(onCodewords, "kc-original", "ln", "anchored-bilinear")},
	{"classes in another order", "draws its folds, or rows to hold out, class after class", mixtures},
	{"classes in another order", "draws columns, the logits among them, by their places", []string{"forest"}},
	{"classes in another order", "corrects the top class, which is the first of those that are equally probable", []string{"pc"}},
	{"probabilities for logits", "does not come to its optimum in the steps that float64 allows, and where it stops is a matter of rounding", []string{"beta"}},
	{"probabilities for logits", scored, []string{"ps"}},
	{"equal values", scored, []string{"ps"}},
	{"equal values", "has no penalty, so that few rows leave directions nearly free, in which a rounding of the scores moves it", []string{"dc", "beta"}},
	{"equal values", "mixes maps by fits to folds, which stop early, and where they stop is a matter of rounding", mixtures},
}

// scored is why probabilities and their logarithms are two scores to Platt's sigmoid.
const scored = "is a sigmoid of the score that the classifier gives, a probability or a logit"

// onCodewords train a quantized head.
var onCodewords = []string{"vq", "vq-nc", "vq-dc", "vq-start", "vq-centred", "vq-rank", "vq-residual", "vq-diagonal", "vq-tied", "vq-random", "vq-one"}

// mixtures mix maps by cross-validation.
var mixtures = []string{"pool", "corrected", "corrected-learned"}

func joined(some []string, more ...string) []string {
	return append(append([]string{}, some...), more...)
}

// excuses are the reasons of excused, by method and law.
var excuses = func() map[excuse]string {
	all := map[excuse]string{}
	for _, e := range excused {
		for _, m := range e.methods {
			all[excuse{m, e.law}] = e.why
		}
	}
	return all
}()
