package readme

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"calibra/experiments/metrics"
	"calibra/experiments/study"
)

// registered is the benchmark of experiments/benchmark/PROTOCOL.md as study benchmark left it.
type registered struct {
	lines []record // of results.csv
	sets  []string
	pairs []record // of tests.csv: the pairs that the protocol names
	gains []record // every method against the classifier as it is
}

func readBenchmark(dir string) (*registered, error) {
	lines, err := readCSV(dir, "benchmark.csv")
	if err != nil {
		return nil, err
	}
	tests, err := readCSV(dir, "benchmark-tests.csv")
	if err != nil {
		return nil, err
	}
	b := &registered{lines: lines, sets: distinct(lines, "data")}
	for _, r := range tests {
		if r["family"] == "pair" {
			b.pairs = append(b.pairs, r)
		} else {
			b.gains = append(b.gains, r)
		}
	}
	return b, nil
}

// contender is a method of the benchmark, with settings chosen by the protocol or as they are.
type contender struct {
	method string
	chosen bool
}

func (c contender) title() string {
	if c.method == "vq" && !c.chosen {
		return "VQ, w = K = 64"
	}
	return study.MethodTitle(c.method)
}

// shown are the contenders of the table; all are in benchmark.csv.
var shown = []contender{
	{"nc", true}, {"ts", true}, {"sm", true}, {"dc", true}, {"new-head", true},
	{"vq", false}, {"vq", true}, {"vq-nc", true}, {"vq-centred", true}, {"stacked", true},
}

// spread is a quantity of a contender on a data set over the seeds.
func (b *registered) spread(set string, c contender, q quantity) (metrics.Spread, error) {
	runs := slices.DeleteFunc(slices.Clone(b.lines), func(r record) bool {
		return r["data"] != set || r["method"] != c.method || r["tuned"] != strconv.FormatBool(c.chosen)
	})
	if len(runs) == 0 {
		return metrics.Spread{}, fmt.Errorf("benchmark.csv has no result of %s on %s", c.title(), set)
	}
	return spread(runs, q.value)
}

// benchmark is the NLL of the registered benchmark, a data set a row, the pairs that its
// protocol names, and what they say of its questions.
func benchmark(dir string) (string, error) {
	b, err := readBenchmark(dir)
	if err != nil {
		return "", err
	}
	nll := value("NLL ↓", metrics.NLL, "nll")
	t := table{head: []string{"NLL ↓", "seeds"}}
	for _, c := range shown {
		t.head = append(t.head, c.title())
	}
	for _, set := range b.sets {
		row := []string{set, ""}
		var spreads []metrics.Spread
		for _, c := range shown {
			s, err := b.spread(set, c, nll)
			if err != nil {
				return "", err
			}
			spreads, row[1] = append(spreads, s), strconv.Itoa(s.Runs)
		}
		t.rows = append(t.rows, append(row, column(metrics.NLL, spreads, meanOnly(metrics.NLL))...))
	}
	pairs, err := b.pairTable()
	if err != nil {
		return "", err
	}
	sentences, err := b.sentences()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s:\n\n%v\n%v\n%s", b.commands(), t, pairs, sentences), nil
}

// commands are those that give the results, one for all sources of the same seeds, and how
// their cells come into one report.
func (b *registered) commands() string {
	var order []string
	sources := map[string][]string{} // by their seeds
	for _, set := range b.sets {
		seeds := strings.Join(distinct(slices.DeleteFunc(slices.Clone(b.lines), func(r record) bool { return r["data"] != set }), "seed"), ",")
		if sources[seeds] == nil {
			order = append(order, seeds)
		}
		sources[seeds] = append(sources[seeds], set)
	}
	var commands []string
	for _, seeds := range order {
		commands = append(commands, fmt.Sprintf("`./calibra study benchmark --data %s --split paper --seeds %s --cells runs/cells --out runs/benchmark-%d`",
			strings.Join(arguments(b.lines, sources[seeds]), ","), seeds, len(commands)+1))
	}
	text := strings.Join(commands, " and ")
	if len(commands) > 1 {
		text += ", one report of all sources and seeds with `--collect`"
	}
	return text
}

// pairTable has a named pair a row.
func (b *registered) pairTable() (table, error) {
	t := table{head: []string{"first against second, by NLL", "better on", "worse on", "not told apart on", "signed-rank p over the sources"}}
	for _, key := range b.named() {
		v, err := b.verdict(key.Method, key.Against)
		if err != nil {
			return t, err
		}
		t.rows = append(t.rows, []string{study.MethodTitle(key.Method) + " against " + study.MethodTitle(key.Against),
			strconv.Itoa(len(v.better)), strconv.Itoa(len(v.worse)), strconv.Itoa(v.all - len(v.better) - len(v.worse)), fmt.Sprintf("%.2g", v.p)})
	}
	return t, nil
}

// named are the pairs in the order of the file.
func (b *registered) named() (out []study.Pair) {
	for _, r := range b.pairs {
		if p := (study.Pair{Method: r["method"], Against: r["against"]}); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// verdict is on which sources the interval of a difference lies below 0, and above it.
type verdict struct {
	better, worse []string // "letter −.012 (−.015 … −.009)"
	all           int
	p             float64 // of the signed-rank test over the sources
}

func (b *registered) verdict(method, against string) (v verdict, err error) {
	var differences []float64
	for _, r := range b.pairs {
		if r["method"] != method || r["against"] != against {
			continue
		}
		d, low, high, text, err := difference(r)
		if err != nil {
			return v, err
		}
		differences = append(differences, d)
		if high < 0 {
			v.better = append(v.better, text)
		}
		if low > 0 {
			v.worse = append(v.worse, text)
		}
	}
	if differences == nil {
		return v, fmt.Errorf("benchmark-tests.csv has no test of %s against %s", method, against)
	}
	v.all, v.p = len(differences), metrics.SignedRank(differences)
	return v, nil
}

// difference is a test with its 95 % interval, and in words with the name of the source.
func difference(r record) (d, low, high float64, text string, err error) {
	for _, x := range []struct {
		to     *float64
		column string
	}{{&d, "difference"}, {&low, "low"}, {&high, "high"}} {
		if *x.to, err = r.number(x.column); err != nil {
			return 0, 0, 0, "", fmt.Errorf("benchmark-tests.csv: %w", err)
		}
	}
	return d, low, high, fmt.Sprintf("%s %s (%s … %s)", r["data"], signed(d), signed(low), signed(high)), nil
}

// signed is a difference of NLL to four digits: "−.0123".
func signed(x float64) string {
	return strings.NewReplacer("-0.", "−.", "+0.", "+.", "-", "−").Replace(fmt.Sprintf("%+.4f", x))
}

func (v verdict) String() string {
	list := func(what string, sources []string) string {
		if sources == nil {
			return what + " on none"
		}
		return fmt.Sprintf("%s on %d: %s", what, len(sources), strings.Join(sources, ", "))
	}
	return fmt.Sprintf("of %d sources %s; %s", v.all, list("better", v.better), list("worse", v.worse))
}

// sentences answer the questions of the protocol.
func (b *registered) sentences() (string, error) {
	var text strings.Builder
	for _, q := range []struct {
		asks  string
		pairs []study.Pair
	}{
		{"Does the paper's calibrator improve on the classifier as it is?", []study.Pair{{Method: "vq", Against: "nc"}}},
		{"Does stage 2 improve on the quantized head?", []study.Pair{{Method: "vq", Against: "vq-nc"}}},
		{"Do steps that C and w do not lengthen bring that back?", []study.Pair{{Method: "vq-centred", Against: "vq-nc"}}},
		{"Is one global map enough?", []study.Pair{{Method: "vq", Against: "sm"}, {Method: "stacked", Against: "sm"}}},
		{"Do codewords add to a new last layer, and learned ones to random ones?", []study.Pair{{Method: "stacked", Against: "new-head"}, {Method: "stacked", Against: "stacked-random"}}},
	} {
		fmt.Fprintf(&text, "* **%s**", q.asks)
		for _, p := range q.pairs {
			v, err := b.verdict(p.Method, p.Against)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&text, " %s against %s: %v.", study.MethodTitle(p.Method), study.MethodTitle(p.Against), v)
		}
		text.WriteString("\n")
	}
	for _, say := range []func() (string, error){b.mended, b.local, b.harm} {
		sentence, err := say()
		if err != nil {
			return "", err
		}
		text.WriteString(sentence)
	}
	return text.String(), nil
}

// manyClasses is the source on which the published recipe makes its own head worse, in the
// published code too.
const manyClasses = "cifar100-resnet"

// mended says what the variants of VQ that are to mend it at many classes bring.
func (b *registered) mended() (string, error) {
	nll := value("NLL", metrics.NLL, "nll")
	var words []string
	for _, c := range []contender{{"nc", true}, {"vq-nc", true}, {"vq", false}, {"vq", true}, {"vq-start", true}, {"vq-centred", true}, {"vq-tuned", true}} {
		s, err := b.spread(manyClasses, c, nll)
		if err != nil {
			return "", err
		}
		words = append(words, c.title()+" "+meanOnly(metrics.NLL)(0, s))
	}
	return fmt.Sprintf("* **What mends VQ at 100 classes?** NLL on `%s`: %s.\n", manyClasses, strings.Join(words, "; ")), nil
}

// local says where the paper's calibrator stands among all contenders in local errors above
// their noise floors.
func (b *registered) local() (string, error) {
	var words []string
	for _, q := range []quantity{
		aboveNoise("LCE", metrics.LCE, "lce"),
		aboveNoise("LCE in the sparse third", metrics.LCE, "lce_sparse"),
		value("NLL", metrics.NLL, "nll"),
	} {
		names, ranks, err := b.ranks(q)
		if err != nil {
			return "", err
		}
		order := make([]int, len(names))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ranks.Ranks[i], ranks.Ranks[j]) })
		var best []string
		for _, i := range order[:min(3, len(order))] {
			best = append(best, fmt.Sprintf("%s %.1f", study.MethodTitle(names[i]), ranks.Ranks[i]))
		}
		at := slices.Index(names, "vq")
		if at < 0 {
			return "", fmt.Errorf("benchmark.csv has no result of vq on every source")
		}
		words = append(words, fmt.Sprintf("by %s VQ has the mean rank %.1f of %d; the lowest are %s; ranks nearer than %.1f are not told apart",
			q.title, ranks.Ranks[at], len(names), strings.Join(best, ", "), ranks.CriticalDifference))
	}
	return fmt.Sprintf("* **Is it the best locally?** Over the sources, local errors less their noise floors: %s.\n", strings.Join(words, "; ")), nil
}

// ranks ranks all methods that have a result on every source, at chosen settings.
func (b *registered) ranks(q quantity) (names []string, r *metrics.Ranking, err error) {
	scores := make([][]float64, len(b.sets))
	for _, m := range distinct(b.lines, "method") {
		column := make([]float64, 0, len(b.sets))
		for _, set := range b.sets {
			s, err := b.spread(set, contender{m, true}, q)
			if err != nil {
				break
			}
			column = append(column, s.Mean)
		}
		if len(column) < len(b.sets) {
			continue
		}
		names = append(names, m)
		for i, x := range column {
			scores[i] = append(scores[i], x)
		}
	}
	r, err = metrics.Friedman(scores)
	return names, r, err
}

// untouched is the source whose classifier says the true posterior.
const untouched = "calibrated"

// harm says which methods harm a classifier that is right, and how often each contender
// harms at all.
func (b *registered) harm() (string, error) {
	var harmful []string
	counts := map[contender]int{}
	for _, r := range b.gains {
		_, low, _, _, err := difference(r)
		if err != nil {
			return "", err
		}
		if low <= 0 {
			continue
		}
		c := contender{r["method"], r["tuned"] == "true"}
		counts[c]++
		if r["data"] == untouched && c.chosen {
			harmful = append(harmful, c.title())
		}
	}
	var words []string
	for _, c := range shown[1:] {
		words = append(words, fmt.Sprintf("%s %d", c.title(), counts[c]))
	}
	all := len(distinct(b.lines, "method"))
	return fmt.Sprintf("* **Who does harm?** Where the classifier is right (`%s`), %d of %d methods make its NLL worse by more than chance: %s. Sources, of %d, on which a method is worse than the classifier as it is: %s.\n",
		untouched, len(harmful), all-1, strings.Join(harmful, ", "), len(b.sets), strings.Join(words, ", ")), nil
}
