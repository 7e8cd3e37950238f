package studies

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/theory"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A row of the study has two slots. The codeword of the first is one of commonCodewords, the same in every fit. That of
// the second is one of a fit's own, which hold ownAtoms values of p̂ in each cell of the first: which of them, each
// fit draws for itself, as fits do that draw their codewords. In the other commonAtoms both slots have the common
// codeword, without which a matrix could move from all common codewords to all own ones.
const (
	commonCodewords = 4
	commonAtoms     = 15
)

var ownAtoms = []int{16, 8, 4, 2}

// ownDraws is D, how many draws ξ there are. A fit takes one of them, each alike, whatever the others
// take: means over draws are sums.
const ownDraws = 4

// members are S, of the means that are taken.
var members = []int{1, 2, 4}

// ensemble is a law q* that a fit can represent whatever it draws: all own codewords have the factors of one. With q̂_ξ
// the fit of draw ξ to a sample of N rows, x a value of p̂ in a cell, and E_ξ the mean over draws,
//
//	log q̄_S = 1/S Σ_s log q̂_{ξ_s} + const ,  log q° = E_ξ log q̂_ξ + const ,
//	E KL(q* ‖ q̄_S) = B + V_S ,  B = KL(q* ‖ q°) ,  V_S = E KL(q° ‖ q̄_S)            (Heskes 1998)
//
// since E log q̄_S is log q° but for a constant of each x. B does not know S, and V_S = V_1/S but for terms of third
// order in log q̂_ξ − log q°. To first order in 1/N both are known: with W the weights of (x, label) and A_ξ the rows
// √W ∇ℓ_ξᵀ at θ*, the errors of a fit are
//
//	√W (log q̂_ξ − log q*) = P_ξ z ,  z = (W_N − W)/√W ,  N Cov z = 1 − √W√Wᵀ ,
//	P_ξ = A_ξ H_ξ⁺ A_ξᵀ ,
//
// a projection on df directions, one for each identified parameter. As KL is ½ Σ_y q* (log q̂ − log q*)² and more,
//
//	2N E B = ‖P̄‖² ,  2N E V_1 = df − ‖P̄‖² ,  P̄ = E_ξ P_ξ ,  ‖·‖ Frobenius:
//
// what all draws can express stays, and what one alone can falls. The rows of x have of B the part ‖P̄_x‖²/2N, of the
// risk of one fit tr(P_ξ)_xx/2N, where x names the rows of its labels. The common codewords and the one direction in
// which all own codewords move together, (2C−1)(commonCodewords + 1) parameters, are in every P_ξ.
type ensemble struct {
	*problem                // of the first draw
	drawn    []*problem     // of each draw: its codes, the same law
	own      [][]int        // of each draw, the own codeword of each x, from 0, or noOwn
	atoms    int            // of a common codeword
	ways     []compositions // of each S
}

// noOwn is where both slots have the common codeword.
const noOwn = -1

// geometric puts into dst the normalized mean of log-probabilities, with weights that sum to one.
func geometric(dst []float64, logs [][]float64, weights []float64) {
	clear(dst)
	for i, l := range logs {
		floats.AddScaled(dst, weights[i], l)
	}
	floats.AddConst(-floats.LogSumExp(dst), dst)
}

// compositions are the ways in which S fits take the draws: the part of the fits that takes each, and the probability.
type compositions struct {
	parts         [][]float64 // of each way, D
	probabilities []float64
}

func compositionsOf(S int) (c compositions) {
	ways := &theory.Table{Cells: theory.Design{Codewords: ownDraws, Slots: S}.Multisets()}
	c.probabilities = ways.Multinomial(slices.Repeat([]float64{1. / ownDraws}, ownDraws))
	for _, way := range ways.Cells {
		parts := make([]float64, ownDraws)
		for _, draw := range way.Codes {
			parts[draw] += 1 / float64(S)
		}
		c.parts = append(c.parts, parts)
	}
	return c
}

func newEnsemble(s theory.Settings) *ensemble {
	rng := s.RNG(70)
	x := &ensemble{}
	var codes []int // own codewords, as often as a common codeword meets them
	for l, n := range ownAtoms {
		codes = append(codes, slices.Repeat([]int{l}, n)...)
	}
	x.atoms = len(codes) + commonAtoms
	d := theory.Design{Classes: 3, Slots: 2, Codewords: commonCodewords + len(ownAtoms), Atoms: 1, Decades: 1.5, Identity: 1}
	logP := theory.Design{Classes: d.Classes, Atoms: x.atoms}.Table(make([]theory.Cell, commonCodewords), rng).LogP
	theta := d.Factors(rng)
	gauge := d.Gauge()
	gauge.Fix(theta, nil)
	receiver, sender := gauge.Factors(theta, commonCodewords)
	for l := range ownAtoms {
		a, b := gauge.Factors(theta, commonCodewords+l)
		copy(a, receiver)
		copy(b, sender)
	}
	for range ownDraws {
		var own []int
		var cells []theory.Cell
		for k := range commonCodewords {
			for _, at := range rng.Perm(len(codes)) {
				own, cells = append(own, codes[at]), append(cells, theory.NewCell([]int{k, commonCodewords + codes[at]}))
			}
			for range commonAtoms {
				own, cells = append(own, noOwn), append(cells, theory.NewCell([]int{k, k}))
			}
		}
		t := &theory.Truth{Design: d, Theta: theta, Table: &theory.Table{Classes: d.Classes, Codewords: d.Codewords, Atoms: 1, Cells: cells, LogP: logP}}
		t.Label = t.Table.LabelLaw(theta, d.Identity)
		x.drawn, x.own = append(x.drawn, problemOf(s, t)), append(x.own, own)
	}
	x.problem = x.drawn[0]
	x.ways = data.Each(members, compositionsOf)
	return x
}

// common is the design of the first slot alone.
func (x *ensemble) common() theory.Design {
	return theory.Design{Codewords: commonCodewords, Decades: x.Design.Decades}
}

// weights are those of (x, label) where the common codewords have these frequencies.
func (x *ensemble) weights(frequencies []float64) []float64 {
	law := make([]float64, len(x.Table.Cells))
	for row := range law {
		law[row] = frequencies[row/x.atoms] / float64(x.atoms)
	}
	return x.Weights(law)
}

// eachDraw are the losses of all draws as one, so that they are forked together.
type eachDraw struct {
	theory.Model
	all []theory.Model
}

func (x *ensemble) models() *eachDraw {
	all := data.Each(x.drawn, func(draw *problem) theory.Model { return draw.model })
	return &eachDraw{all[0], all}
}

func (m *eachDraw) Fork() theory.Model {
	all := data.Each(m.all, theory.Model.Fork)
	return &eachDraw{all[0], all}
}

// excess is what each x adds to an excess risk: to B, and to the risk of a fit of each draw.
type excess struct {
	stays []float64
	one   [][]float64
}

// Where the numbers of [ensemble.numbers] stand: those of all rows, then two of each common codeword, then two of each
// own.
const (
	oneRisk     = iota                            // of one fit
	staysRisk                                     // B
	commonRisks                                   // B and V_1 of the rows of a common codeword, mean over them
	ownRisks    = commonRisks + 2*commonCodewords // of the fit with an own codeword, and B, of its rows, mean over them
)

// numbers sum an excess up, where the common codewords have these frequencies.
func (x *ensemble) numbers(of excess, frequencies []float64) []float64 {
	one := make([]float64, len(of.stays)) // mean over the draws
	for _, values := range of.one {
		floats.AddScaled(one, 1./ownDraws, values)
	}
	numbers := []float64{floats.Sum(one), floats.Sum(of.stays)}
	for k, p := range frequencies {
		stays, whole := floats.Sum(of.stays[k*x.atoms:][:x.atoms])/p, floats.Sum(one[k*x.atoms:][:x.atoms])/p
		numbers = append(numbers, stays, whole-stays)
	}
	for l, n := range ownAtoms {
		var one, stays float64
		for draw, own := range x.own {
			for row, code := range own {
				if code == l {
					one, stays = one+of.one[draw][row], stays+of.stays[row]
				}
			}
		}
		part := float64(ownDraws*n) / float64(x.atoms)
		numbers = append(numbers, one/part, stays/part)
	}
	return numbers
}

// foretold is a law of the common codewords with N times its risks to first order.
type foretold struct {
	frequencies, weights []float64
	numbers              []float64
	reach                float64 // as of an experiment
}

func (x *ensemble) foretell(m *eachDraw, frequencies []float64) (f foretold, err error) {
	f = foretold{frequencies: frequencies, weights: x.weights(frequencies)}
	entries, C := len(f.weights), x.Design.Classes
	of := excess{stays: make([]float64, entries/C)}
	mean := mat.NewDense(entries, entries, nil) // P̄
	for _, model := range m.all {
		p, err := theory.NewLimit(model, x.gauge, x.Theta, f.weights)
		if err != nil {
			return f, err
		}
		f.reach = math.Max(f.reach, math.Sqrt(numeric.OperatorNorm(p.Covariance)))
		at := &theory.Loss{Model: model.Cheapest(), Weights: f.weights}
		A := scoreRows(at, x.Theta)
		if at.Err != nil {
			return f, at.Err
		}
		var P mat.Dense
		P.Product(A, p.Inverse, A.T())
		mean.Add(mean, &P)
		one := make([]float64, entries/C)
		for i := range entries {
			one[i/C] += P.At(i, i) / 2
		}
		of.one = append(of.one, one)
	}
	mean.Scale(1./ownDraws, mean)
	for i := range entries {
		row := mean.RawRowView(i)
		of.stays[i/C] += floats.Dot(row, row) / 2
	}
	f.numbers = x.numbers(of, frequencies)
	return f, nil
}

// measured fits all draws to a sample. It gives the numbers of its excess, S V_S/V_1 of each S but 1, and
// the largest gap of Heskes' identity.
func (x *ensemble) measured(m *eachDraw, f foretold, sample []float64) ([]float64, error) {
	rows, C := len(x.Table.Cells), x.Design.Classes
	logs, of := make([][]float64, ownDraws), excess{stays: make([]float64, rows), one: make([][]float64, ownDraws)}
	for draw, model := range m.all {
		theta, err := x.fit(model, sample)
		if err != nil {
			return nil, err
		}
		logs[draw], of.one[draw] = make([]float64, len(sample)), make([]float64, rows)
		if err := model.LogProbs(logs[draw], theta); err != nil {
			return nil, err
		}
	}
	whole, falls := make([]float64, len(members)), make([]float64, len(members)) // E KL(q* ‖ q̄_S) and V_S
	centre, mean, at := make([]float64, C), make([]float64, C), make([][]float64, ownDraws)
	alike := slices.Repeat([]float64{1. / ownDraws}, ownDraws)
	for row := range rows {
		law, part := x.Table.Of(x.Label, row), floats.Sum(x.Table.Of(f.weights, row))
		for draw := range at {
			at[draw] = x.Table.Of(logs[draw], row)
			of.one[draw][row] = part * cellKL(law, at[draw], 1)
		}
		geometric(centre, at, alike)
		of.stays[row] = part * cellKL(law, centre, 1)
		q := slices.Clone(centre)
		numeric.Exps(q)
		for i, ways := range x.ways {
			for way, probability := range ways.probabilities {
				geometric(mean, at, ways.parts[way])
				whole[i] += probability * part * cellKL(law, mean, 1)
				falls[i] += probability * part * cellKL(q, mean, 1)
			}
		}
	}
	numbers, gap := x.numbers(of, f.frequencies), 0.0
	for i := range members {
		gap = math.Max(gap, math.Abs(whole[i]-numbers[staysRisk]-falls[i]))
	}
	for i, S := range members[1:] {
		numbers = append(numbers, float64(S)*falls[i+1]/falls[0])
	}
	return append(numbers, gap), nil
}

// aloneShares are frequencies that a common codeword takes alone.
var aloneShares = []float64{1e-4, 1e-5}

// alone are the slopes of B and V_1 of the rows of a common codeword on its frequency, moved alone, by the formula.
func (x *ensemble) alone(ctx context.Context) (stays, falls float64, err error) {
	all, err := theory.Each(ctx, commonCodewords*len(aloneShares), x.models(), func(model theory.Model, i int) (foretold, error) {
		return x.foretell(model.(*eachDraw), x.common().WithShare(i/len(aloneShares), aloneShares[i%len(aloneShares)]))
	})
	if err != nil {
		return 0, 0, err
	}
	var ofStays, ofFalls numeric.Points
	for i, f := range all {
		k := i / len(aloneShares)
		ofStays.Add(f.frequencies[k], f.numbers[commonRisks+2*k], k)
		ofFalls.Add(f.frequencies[k], f.numbers[commonRisks+2*k+1], k)
	}
	return ofStays.Slope(), ofFalls.Slope(), nil
}

// represents is the largest ‖∇L(θ*)‖ of the draws, by the graph.
func (x *ensemble) represents() (largest float64, err error) {
	at := &theory.Loss{Weights: x.weights(x.common().Frequencies(0))}
	for _, draw := range x.drawn {
		at.Model = draw.model
		_, grad := at.Gradient(x.Theta)
		largest = math.Max(largest, floats.Norm(grad, 2))
	}
	return largest, at.Err
}

// ensembleOutcome is what samples under shifts of the common codewords' law gave.
type ensembleOutcome struct {
	*ensemble
	*theory.Trials
	laws   []foretold
	tables [][][]float64 // of each number of measured, by law and size, and replicate
	lost   []string
}

func (x *ensemble) run(ctx context.Context) (*ensembleOutcome, error) {
	o, reach := &ensembleOutcome{ensemble: x}, 0.0
	for _, shift := range x.common().Shifts(choose(x.Settings, 2, 4)) {
		f, err := x.foretell(x.models(), x.common().Frequencies(shift))
		if err != nil {
			return nil, err
		}
		o.laws, reach = append(o.laws, f), math.Max(reach, f.reach)
	}
	sizes, err := theory.CertainSizes(reach)
	if err != nil {
		return nil, err
	}
	o.Trials = x.Draws(nil, slices.Delete(sizes, 1, 2), choose(x.Settings, 24, 64)) // three tell a slope
	o.Trials.Laws, o.Law = len(o.laws), func(t theory.Trial) []float64 { return o.laws[t.Law].weights }
	o.Rand = func(t theory.Trial) *rand.Rand {
		return o.RNG(71, uint64(t.Law), uint64(t.Size), uint64(t.Replicate))
	}
	measure := func(model theory.Model, t theory.Trial) ([]float64, error) {
		return x.measured(model.(*eachDraw), o.laws[t.Law], o.Draw(t))
	}
	o.tables, o.lost, err = o.Measure(ctx, x.models(), len(o.laws[0].numbers)+len(members), measure)
	return o, err
}

// gap is the largest of Heskes' identity.
func (o *ensembleOutcome) gap() float64 {
	return slices.Max(append(numeric.Valid(slices.Concat(o.tables[len(o.tables)-1]...)), 0))
}

// averages are the means over some replicates of the numbers of measured: of each size, of each law.
type averages [][][]float64

func (o *ensembleOutcome) averages(pick [][]int) averages {
	a := make(averages, len(o.Sizes))
	for set, of := range pick {
		values := data.Each(o.tables, func(table [][]float64) float64 {
			return numeric.Mean(numeric.Valid(data.Each(of, func(r int) float64 { return table[set][r] })))
		})
		a[set%len(o.Sizes)] = append(a[set%len(o.Sizes)], values)
	}
	return a
}

// last are those of the largest N.
func (a averages) last() [][]float64 { return a[len(a)-1] }

// formula are N times the numbers, of each law, to first order.
func (o *ensembleOutcome) formula() [][]float64 {
	return data.Each(o.laws, func(f foretold) []float64 { return f.numbers })
}

// falling is V_1 of all rows.
func falling(numbers []float64) float64 { return numbers[oneRisk] - numbers[staysRisk] }

// everyOther are the numbers that stand at n, n + 2, …, so many.
func everyOther(n, many int) (all []func([]float64) float64) {
	for i := range many {
		all = append(all, func(numbers []float64) float64 { return numbers[n+2*i] })
	}
	return all
}

// toFormula is the mean over laws and numbers of measured over formula, at the largest N.
func (o *ensembleOutcome) toFormula(of ...func([]float64) float64) func(a averages) float64 {
	return func(a averages) float64 {
		var ratios []float64
		N := float64(o.Sizes[len(o.Sizes)-1])
		for law, formula := range o.formula() {
			for _, number := range of {
				ratios = append(ratios, number(a.last()[law])*N/number(formula))
			}
		}
		return numeric.Mean(ratios)
	}
}

// onN is the slope of a number on N.
func (o *ensembleOutcome) onN(number func([]float64) float64) func(a averages) float64 {
	return func(a averages) float64 {
		var p numeric.Points
		for size, N := range o.Sizes {
			for law, numbers := range a[size] {
				p.Add(float64(N), number(numbers), law)
			}
		}
		return p.Slope()
	}
}

// onCommon is the slope of B of the rows of a common codeword on its frequency, over the laws.
func (o *ensembleOutcome) onCommon(of [][]float64) float64 {
	var p numeric.Points
	for law, numbers := range of {
		for k, share := range o.laws[law].frequencies {
			p.Add(share, numbers[commonRisks+2*k], k)
		}
	}
	return p.Slope()
}

// onOwn is the slope on the frequency of an own codeword of a risk on its rows, of which the first is at n.
func (o *ensembleOutcome) onOwn(n int) func(of [][]float64) float64 {
	return func(of [][]float64) float64 {
		var p numeric.Points
		for law, numbers := range of {
			for l, many := range ownAtoms {
				p.Add(float64(many), numbers[n+2*l], law)
			}
		}
		return p.Slope()
	}
}

// report adds the rows of what the samples gave.
func (o *ensembleOutcome) report(r *theory.Report) {
	type claim struct {
		key, quantity string
		target        float64
		theory        string
		of            func(a averages) float64
	}
	beyond := func(slope func(of [][]float64) float64) func(a averages) float64 {
		return func(a averages) float64 { return slope(a.last()) - slope(o.formula()) }
	}
	claims := []claim{
		{"one", "excess risk of one fit, measured/formula", 1, "1: df/2N", o.toFormula(everyOther(oneRisk, 1)...)},
		{"stays", "B, which S does not lower, measured/formula", 1, "1: ‖P̄‖²/2N", o.toFormula(everyOther(staysRisk, 1)...)},
		{"falls", "V_1, which falls with 1/S, measured/formula", 1, "1: (df − ‖P̄‖²)/2N", o.toFormula(falling)},
		{"stays-n", "slope of B in N", -1, "−1", o.onN(everyOther(staysRisk, 1)[0])},
		{"falls-n", "slope of V_1 in N", -1, "−1", o.onN(falling)},
		{"common-stays", "B of the rows of a common codeword, measured/formula, mean", 1, "1", o.toFormula(everyOther(commonRisks, commonCodewords)...)},
		{"common-falls", "V_1 of the same rows, measured/formula, mean", 1, "1", o.toFormula(everyOther(commonRisks+1, commonCodewords)...)},
		{"common-excess", "slope of B of the rows of a common codeword on its frequency, less the formula's", 0, "0", beyond(o.onCommon)},
		{"own-one", "risk of a fit on the rows of a codeword of its own, measured/formula, mean", 1, "1", o.toFormula(everyOther(ownRisks, len(ownAtoms))...)},
		{"own-stays", "B of the same rows, measured/formula, mean", 1, "1", o.toFormula(everyOther(ownRisks+1, len(ownAtoms))...)},
		{"own-one-excess", "slope of a fit's risk on the rows of a codeword of its own on its frequency, less the formula's", 0, "0", beyond(o.onOwn(ownRisks))},
		{"own-stays-excess", "slope of B of the same rows, less the formula's", 0, "0", beyond(o.onOwn(ownRisks + 1))},
	}
	for i, S := range members[1:] {
		of := len(o.laws[0].numbers) + i
		claims = append(claims, claim{fmt.Sprintf("members-%d", S), fmt.Sprintf("S V_S/V_1 of S = %d", S), 1, "1 but for third order", func(a averages) (sum float64) {
			for _, numbers := range a.last() {
				sum += numbers[of] / float64(len(o.laws))
			}
			return sum
		}})
	}
	estimates := theory.Bootstrap(len(o.laws)*len(o.Sizes), o.Count, o.RNG(72), func(pick [][]int) []float64 {
		a := o.averages(pick)
		return data.Each(claims, func(c claim) float64 { return c.of(a) })
	})
	for i, c := range claims {
		r.Near(c.key, c.quantity, estimates[i], c.target, 0.01, c.theory)
	}
	formula := o.formula()
	r.Record("df", "df, 2N times the excess risk of one fit", theory.Exact(2*formula[0][oneRisk]), "(2C−1)K")
	r.Record("shared", "‖P̄‖², what of it S does not lower", theory.Exact(2*formula[0][staysRisk]), fmt.Sprintf("%d that all draws share, 1/%d of the others, and what these share by chance", (2*o.Design.Classes-1)*(commonCodewords+1), ownDraws))
	r.Record("common-slope", "slope of B of the rows of a common codeword on its frequency, by the formula", theory.Exact(o.onCommon(formula)), "near −1")
	r.Record("own-one-slope", "slope of a fit's risk on the rows of a codeword of its own on its frequency, by the formula", theory.Exact(o.onOwn(ownRisks)(formula)), "toward −1")
	r.Record("own-stays-slope", "slope of B of the same rows, by the formula", theory.Exact(o.onOwn(ownRisks+1)(formula)), "toward 0")
}

func runEnsemble(ctx context.Context, s theory.Settings, r *theory.Report) error {
	x := newEnsemble(s)
	gradient, err := x.represents()
	if err != nil {
		return err
	}
	r.Rounding("represents", "‖∇L(θ*)‖ of the draws, by the graph", gradient, theory.Vanishing, "0: each draw can represent the law")
	stays, falls, err := x.alone(ctx)
	if err != nil {
		return err
	}
	r.Near("alone-stays", "slope of B of the rows of a common codeword on its frequency, moved alone, by the formula", theory.Exact(stays), -1, 0.05, "−1: no mean of fits has more of its rows")
	r.Near("alone-falls", "slope of V_1 of the same rows", theory.Exact(falls), 0, 0.05, "0: it is of own codewords")
	o, err := x.run(ctx)
	if err != nil {
		return err
	}
	r.Unsettled(o.lost, o.Total(), theory.LostPart)
	r.Rounding("identity", "|E KL(q* ‖ q̄_S) − B − V_S|, largest over samples and S", o.gap(), theory.Vanishing, "0: the geometric mean splits exactly")
	o.report(r)
	return nil
}

// scoreRows are the rows √W ∇ℓᵀ of the entries (entries × Dim).
func scoreRows(p *theory.Loss, theta []float64) *mat.Dense {
	rows := mat.NewDense(len(p.Weights), len(theta), nil)
	for entry, w := range p.Weights {
		row := rows.RawRowView(entry)
		if p.Err == nil {
			p.Err = p.Model.Score(row, theta, entry)
		}
		floats.Scale(math.Sqrt(w), row)
	}
	return rows
}
