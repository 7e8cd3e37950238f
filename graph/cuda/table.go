package cuda

import (
	"fmt"
	"reflect"
	"strings"

	"calibra/graph/op"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// operand is a value on a device: float32 or int32 elements, row by row.
type operand struct {
	Memory
	Shape tensor.Shape // empty for a scalar
}

// Size is the number of elements.
func (o operand) Size() int { return o.Shape.TotalSize() }

func (o operand) columns() int { return o.Shape[len(o.Shape)-1] }

// row is how a device runs the ops of one kind: by one launch, whose grid and arguments are words,
// or by a function where that will not do. See [call.value] for the words.
type row struct {
	of      op.Kernel
	kernel  string
	grid    string // a kind of grid, and how many it is for
	args    string
	enqueue func(d *Device, o op.Kernel, out operand, in []operand)
}

// on is a row of ops that a function runs.
func on[K op.Kernel](enqueue func(d *Device, o K, out operand, in []operand)) row {
	return row{of: *new(K), enqueue: func(d *Device, o op.Kernel, out operand, in []operand) { enqueue(d, o.(K), out, in) }}
}

// table has a row for each kind of op that devices run. An op without one is run by this
// process (see program).
var table = func() map[reflect.Type]row {
	all := map[reflect.Type]row{}
	for _, list := range [][]row{rows, functionRows, networkRows} {
		for _, r := range list {
			all[reflect.TypeOf(r.of)] = r
		}
	}
	return all
}()

// has reports whether devices run o: it has a row, or it is Gorgonia's sum.
func has(o gorgonia.Op) bool {
	ours, is := o.(op.Op)
	if !is {
		return op.IsSum(o)
	}
	_, has := table[reflect.TypeOf(ours.Kernel)]
	return has
}

// bind is what enqueues o, which has a row, again and again.
func bind(o gorgonia.Op, out operand, in []operand) func(*Device) {
	ours, is := o.(op.Op)
	if !is { // Gorgonia's sum
		ours = op.Plus(len(out.Shape))
	}
	r := table[reflect.TypeOf(ours.Kernel)]
	if r.enqueue != nil {
		return func(d *Device) { r.enqueue(d, ours.Kernel, out, in) }
	}
	c := newCall(ours.Kernel, out, in)
	var args []any
	for _, word := range strings.Fields(r.args) {
		args = append(args, c.value(word))
	}
	grid := c.grid(r.grid)
	return func(d *Device) { d.launch(r.kernel, grid, args...) }
}

// call is an op on values of a device.
type call struct {
	op      op.Kernel
	out     operand
	in      []operand
	lengths op.Lengths
}

func newCall(o op.Kernel, out operand, in []operand) call {
	c := call{op: o, out: out, in: in, lengths: op.Lengths{}}
	if k, formed := o.(op.Formed); formed {
		var shapes []tensor.Shape
		for _, x := range in {
			shapes = append(shapes, x.Shape)
		}
		if l, err := op.Bind(k.Form(), shapes); err == nil {
			c.lengths = l
		}
	}
	c.measure("", out.Shape)
	for i, x := range in {
		c.measure(fmt.Sprint(i), x.Shape)
	}
	settings := reflect.ValueOf(o)
	for i := range settings.NumField() {
		if f := settings.Field(i); f.Kind() == reflect.Int {
			c.lengths["."+settings.Type().Field(i).Name] = int(f.Int())
		}
	}
	return c
}

// measure names the lengths of the output or of input i.
func (c call) measure(i string, s tensor.Shape) {
	c.lengths["size"+i] = s.TotalSize()
	if len(s) > 0 {
		c.lengths["rows"+i], c.lengths["columns"+i] = s[0], s[len(s)-1]
	}
}

// value is what a word stands for:
//
//	out x0 x1 … -     the output and the inputs; - is none
//	B w B*w           lengths of axes as the op's form has them, see [op.Lengths]
//	size size0 …      how many elements the output and an input have; rows and columns likewise
//	.K .Eps           settings of the op, which are floats as float32
//	0.                a float32
//	plus relu .F      a function by its name, or the name in a setting
func (c call) value(word string) any {
	if n, ok := c.lengths.Of(word); ok {
		return n
	}
	switch {
	case word == "-":
		return Memory{}
	case word == "out":
		return c.out.Memory
	case word == "0.":
		return float32(0)
	case word[0] == 'x':
		return c.in[word[1]-'0'].Memory
	case word[0] != '.':
		return function(word)
	}
	v := reflect.ValueOf(c.op).FieldByName(word[1:])
	if v.Kind() == reflect.String {
		return function(v.String())
	}
	return float32(v.Float())
}

// grid is that of a kind for so many.
func (c call) grid(words string) Grid {
	kind, word, _ := strings.Cut(words, " ")
	first, second, two := strings.Cut(word, " ")
	n, _ := c.lengths.Of(first)
	if two {
		m, _ := c.lengths.Of(second)
		return tiles(n, m, 1)
	}
	return grids[kind](n)
}

var grids = map[string]func(n int) Grid{"each": each, "warps": warps, "columns": columns, "blocks": blocks}

// functions are those of the kernels map, of one element x, and combine, of two x and y. With
// settings v and u: scaled is v·x, flooredLog log max(x, v), blend v·x + u·y, divideAbove and
// passAbove are y/x and y where x > v, else 0, eluSlope is y·min(1, 1+x).
var functions = map[string]int{
	"softplus": 0, "sigmoid": 1, "relu": 2, "exp": 3, "lgamma": 4, "digamma": 5, "y(1-y)": 6,
	"scaled": 7, "flooredLog": 8, "trigamma": 9, "elu": 10,
	"plus": 0, "times": 1, "blend": 2, "divideAbove": 3, "passAbove": 4, "eluSlope": 5,
}

func function(name string) int {
	n, ok := functions[name]
	if !ok {
		panic(fmt.Sprintf("cuda: %q is no word of a row", name))
	}
	return n
}

// Map is a function of the kernel map.
type Map string

// Scaled is v·x.
const Scaled Map = "scaled"

// Map applies f to n elements.
func (d *Device) Map(f Map, out, x Memory, n int, v float32) {
	d.launch("map", each(n), out, x, function(string(f)), v, n)
}

var rows = []row{
	{op.NearestOp{}, "nearest", "tiles 1 B*M/d", "out x0 - x1 B*M/d M/d d K", nil},
	{op.NearestTakenOp{}, "nearest", "tiles 1 B*M/d", "out x0 x1 x2 B*M/d M/d d K", nil},
	{op.CodeSumOp{}, "code_sum", "each size", "out x0 x1 .N size", nil},
	{op.CompareCodesOp{}, "compare_codes", "each size", "out x0 x1 size", nil},
	{op.SumBlocksOp{}, "sum_blocks", "each size", "out x0 .Blocks columns/.Groups size", nil},
	{op.RepeatBlocksOp{}, "repeat_blocks", "each size", "out x0 .Blocks columns0/.Groups size", nil},
	{op.CountOp{}, "count_codes", "blocks K", "out x0 size0", nil},
	{op.NormalizeOp{}, "normalize", "each size", "out x0 x1 .Eps d size", nil},
	{op.TakeOp{}, "take", "each size", "out x0 x1 size/size1 size", nil},
	{op.GatherOp{}, "take", "each size", "out x0 x1 d size", nil},
	{op.MassOp{}, "mass", "blocks B", "out x0 - x1 w 1 .K", nil},
	{op.ShareMassOp{}, "mass", "blocks B", "out x0 x1 x2 p p/w .K", nil},
	{op.SlotSumOp{}, "slot_sum", "columns w", "out x0 - x1 B w 1 K", nil},
	{op.ShareSlotSumOp{}, "slot_sum", "columns .Slots", "out x0 x1 x2 B .Slots p/.Slots K", nil},
	{op.ShareSumOp{}, "share_sum", "each size", "out x0 x1 x2 p C size", nil},
	{op.WordSumOp{}, "share_sum", "each size", "out x0 x1 x2 p/.Slots d size", nil},
	{op.TableSumOp{}, "table_sum", "each size", "out x0 x1 w R/w C size", nil},
	{op.TableScatterOp{}, "table_scatter", "each size", "out x0 x1 B w .K C size", nil},
	{op.OuterOp{}, "outer", "warps K*C", "out x0 x1 C D K*C", nil},

	{op.DirichletOp{}, "dirichlet_scores", "columns size", "out x0 x1 C .Delta size", nil},
	{op.DirichletByFormOp{}, "dirichlet_by_form", "columns B*C", "out x0 x1 x2 C B*C", nil},
	{op.DirichletByInputOp{}, "dirichlet_by_input", "warps size", "out x0 x1 C .Delta size", nil},
	{op.DirichletWithGradientOp{}, "dirichlet_scores", "columns size", "out x0 x1 C .Delta size", nil}, // each by itself
	{op.DirichletTimesGOp{}, "dirichlet_by_form", "columns B*C", "out x0 x1 x2 C B*C", nil},

	{op.LogSoftmaxOp{}, "log_softmax", "warps size/columns", "out x0 size/columns columns", nil},
	{op.LogSoftmaxGradOp{}, "log_softmax_grad", "warps size/columns", "out x0 x1 size/columns columns", nil},
	{op.SoftmaxOp{}, "softmax", "warps N", "out x0 N C", nil},
	{op.SoftmaxGradOp{}, "softmax_grad", "warps N", "out x0 x1 N C", nil},
	{op.SharesOp{}, "shares", "warps N", "out x0 N C", nil},
	{op.SharesGradOp{}, "shares_grad", "warps N", "out x0 x1 N C", nil},
	{op.NLLOp{}, "nll", "blocks 1", "out x0 x1 - B C", nil},
	{op.NLLGradOp{}, "nll_grad", "each size", "out x1 - x2 B C size", nil},
	{op.CrossEntropyOp{}, "nll", "blocks 1", "out x0 - x1 B C", nil},
	{op.CrossEntropyGradOp{}, "nll_grad", "each size", "out - x0 x1 B C size", nil},
	{op.JensenShannonOp{}, "jensen_shannon", "blocks 1", "out x0 x1 x2 C size0", nil},
	{op.JensenShannonGradOp{}, "jensen_shannon_grad", "each size", "out x0 x1 x2 x3 C size", nil},

	{op.ElementwiseOp{}, "map", "each size", "out x0 .F 0. size", nil},
	{op.ReLUOp{}, "map", "each size", "out x0 relu 0. size", nil},
	{op.ELUOp{}, "map", "each size", "out x0 elu 0. size", nil},
	{op.ScaleOp{}, "map", "each size", "out x0 scaled .C size", nil},
	{op.FlooredLogOp{}, "map", "each size", "out x0 flooredLog .Floor size", nil},
	{op.ReLUGradOp{}, "combine", "each size", "out x0 x1 passAbove 0. 0. size size", nil},
	{op.ELUGradOp{}, "combine", "each size", "out x0 x1 eluSlope 0. 0. size size", nil},
	{op.FlooredLogGradOp{}, "combine", "each size", "out x0 x1 divideAbove .Floor 0. size size", nil},
	{op.PlusOp{}, "combine", "each size", "out x0 x1 plus 0. 0. size1 size", nil},
	{op.AddRowOp{}, "combine", "each size", "out x0 x1 plus 0. 0. size1 size", nil},
	{op.TimesOp{}, "combine", "each size", "out x0 x1 times 0. 0. size1 size", nil},
	{op.TimesRowOp{}, "combine", "each size", "out x0 x1 times 0. 0. size1 size", nil},
	{op.TimesScalarOp{}, "combine", "each size", "out x0 x1 times 0. 0. size1 size", nil},

	{op.SumRowsOp{}, "sum_rows", "columns C", "out x0 B C", nil},
	{op.SumOp{}, "sum_all", "blocks 1", "out x0 - size0", nil},
	{op.InnerOp{}, "sum_all", "blocks 1", "out x0 x1 size0", nil},
	{op.RepeatedRowOp{}, "repeat", "each size", "out x0 size0 size", nil},
	{op.SpreadOp{}, "repeat", "each size", "out x0 1 size", nil},
	{op.FillOp{}, "repeat", "each size", "out x1 1 size", nil},

	{op.PlaneSpreadOp{}, "plane_spread", "each size", "out x0 size/size0 size", nil},
	{op.LayerNormOp{}, "layer_norm", "warps B", "out x0 x1 x2 .Eps B M", nil},
	{op.LayerNormInputOp{}, "layer_norm_input", "warps B", "out x0 x1 x2 .Eps B M", nil},
	{op.TokensOp{}, "tokens", "each size", "out x0 x1 F d size", nil},
	{op.TokenInputsOp{}, "token_inputs", "warps size", "out x0 x1 F d size", nil},
	{op.TokenWeightsOp{}, "token_weights", "columns G", "out x0 x1 B F G/F", nil},
	{op.ReGLUOp{}, "reglu", "each size", "out x0 columns size", nil},
	{op.ReGLUGradOp{}, "reglu_grad", "each size1", "out x0 x1 H size1", nil},
	{op.CategoryOp{}, "category", "each size", "out x0 .Column columns0 size", nil},
	{op.GaussianOp{}, "gaussian", "tiles B J", "out x0 x1 B J d .C", nil},
	{op.OmitSelfOp{}, "omit_self", "each size", "out x0 x1 x2 J size", nil},
}

// functionRows are those of ops that take more than one launch, or numbers that are worked out.
var functionRows = []row{
	on(func(d *Device, o op.BlendOp, out operand, in []operand) {
		d.launch("combine", each(out.Size()), out, in[0], in[1], function("blend"), float32(o.Decay), float32(1-o.Decay), out.Size(), out.Size())
	}),
	on(func(d *Device, _ op.ScatterAddOp, out operand, in []operand) {
		d.scatterAdd(out, in[0], in[1], operand{})
	}),
	on(func(d *Device, _ op.ScatterTakenOp, out operand, in []operand) {
		d.scatterAdd(out, in[0], in[1], in[2])
	}),
	on(func(d *Device, o op.NearestInOp, out operand, in []operand) {
		n, w, width, k := out.Size(), out.columns(), in[1].columns(), o.To-o.From
		words := in[1].Memory.Slice(4*o.From*width, 4*k*width)
		d.launch("nearest", tiles(1, n, 1), out, in[0], Memory{}, words, n, w, width, k)
		d.launch("code_sum", each(n), out, out, Memory{}, o.From, n)
	}),
	on(func(d *Device, o op.InterleaveOp, out operand, in []operand) {
		out.Shape = tensor.Shape{out.Size() / o.N, o.N}
		for k, x := range in {
			x.Shape = tensor.Shape{x.Size(), 1}
			d.copyColumns(out, k, x, 0, 1)
		}
	}),
	on(func(d *Device, o op.NearbyOp, out operand, in []operand) {
		best := d.Alloc(out.Size())
		d.launch("nearby", each(out.Size()/o.Of), out, best, in[0], in[1], o.Of, in[1].columns(), in[1].Shape[0], out.Size()/o.Of)
		d.Free(best)
	}),
	on(func(d *Device, o op.NearSharesOp, out operand, in []operand) {
		d.launch("near_shares", each(out.Size()/o.Of), out, in[0], in[1], in[2], in[3], float32(op.LeastShare), o.Of, in[1].columns(), out.Size()/o.Of)
	}),
	on(func(d *Device, o op.ShareScatterOp, out operand, in []operand) { // in parts of the rows, added afterwards
		b, p, c := in[2].Shape[0], in[0].columns(), out.columns()
		part := max(leastScattered, (b+mostScatters-1)/mostScatters)
		cut, tiles := (b+part-1)/part, (o.Rows/o.Slots+scatterPlaces-1)/scatterPlaces
		sums := out.Memory
		if cut > 1 {
			sums = d.Alloc(cut * out.Size())
		}
		grid := Grid{X: o.Slots, Y: cut, Z: tiles * ((c + 31) / 32), ThreadsX: 32, ThreadsY: 1}
		d.launch("share_scatter", grid, sums, in[0], in[1], in[2], b, o.Slots, p, o.Rows, c, part)
		if cut > 1 {
			d.launch("sum_parts", each(out.Size()), out, sums, out.Size(), cut)
			d.Free(sums)
		}
	}),
	on(func(d *Device, o op.RampsOp, out operand, in []operand) {
		d.launch("ramps", each(out.Size()), out, in[0], in[1], d.constant(o.Knots), len(o.Knots), out.Size())
	}),
	on(func(d *Device, o op.RampSumsOp, out operand, in []operand) {
		d.launch("ramp_sums", blocks(out.Size()), out, in[0], in[1], d.constant(o.Knots), len(o.Knots), in[0].Size())
	}),
	on(func(d *Device, o op.MatMulOp, out operand, in []operand) {
		m, k := oriented(in[0].Shape, o.X)
		d.multiply(product{of: layoutOf(o.X, o.Y), z: out.Memory, x: in[0].Memory, y: in[1].Memory, m: m, n: out.columns(), k: k})
	}),
	on(func(d *Device, _ op.OuterLeftOp, out operand, in []operand) {
		left := warps(out.Size()).X
		d.launch("outer_sides", columnBlocks(left, 1, 1), out, Memory{}, in[0], Memory{}, in[1], left, in[0].Shape[0], out.columns(), in[1].columns())
	}),
	on(func(d *Device, _ op.OuterRightOp, out operand, in []operand) {
		d.launch("outer_sides", columns(out.Size()), Memory{}, out, in[0], in[1], Memory{}, 0, in[0].Shape[0], in[1].columns(), out.columns())
	}),
	on(func(d *Device, o op.PullOp, out operand, in []operand) { // 2c Σ_j E_ij (y_j − x_i)
		moved, sums := d.Alloc(out.Size()), d.Alloc(out.Shape[0])
		rows, others := oriented(in[0].Shape, o.E)
		d.multiply(product{of: layoutOf(o.E, blas.NoTrans), z: moved, x: in[0].Memory, y: in[2].Memory, m: rows, n: out.columns(), k: others})
		if o.E == blas.Trans {
			d.launch("sum_rows", columns(rows), sums, in[0], others, rows)
		} else {
			d.launch("sum_columns", warps(rows), sums, in[0], rows, others)
		}
		d.launch("pull", each(out.Size()), out, moved, in[1], sums, float32(2*o.C), out.columns(), out.Size())
		d.Free(moved, sums)
	}),
	on(func(d *Device, o op.BackgroundOp, out operand, in []operand) {
		classes := in[1].Size() - 1
		d.launch("background", warps(classes), out, in[0], in[1], in[2], in[3], int64(o.Seed), out.Size(), classes)
	}),
}

// A block of the kernel share_scatter keeps so many places of a slot. It takes at least leastScattered rows, and more
// where there would be more than mostScatters parts of them.
const (
	scatterPlaces  = 64
	leastScattered = 128
	mostScatters   = 32
)

// scatterPart is how many slots one block of a scatter looks through.
const scatterPart = 1024

// scatterAdd is the sum (K×d) of the slots of each code (B×w), of rows of x or, where there are
// none, of its first B.
func (d *Device) scatterAdd(sums, codes, x, rows operand) {
	cut := scatterCut(codes)
	if cut == 1 {
		d.scatter(sums.Memory, Memory{}, codes, x, rows, sums.Shape)
		return
	}
	pieces := d.Alloc(cut * sums.Size())
	d.scatter(pieces, Memory{}, codes, x, rows, sums.Shape)
	d.launch("sum_parts", each(sums.Size()), sums, pieces, sums.Size(), cut)
	d.Free(pieces)
}

// scatterCut is into how many parts the slots of a scatter are cut.
func scatterCut(codes operand) int { return max(1, (codes.Size()+scatterPart-1)/scatterPart) }

// scatter sums each part by itself, K×d, and counts its slots of each code unless counts is none.
func (d *Device) scatter(sums, counts Memory, codes, x, rows operand, shape tensor.Shape) {
	k, wide := shape[0], shape[1]
	d.launch("scatter_parts", columnBlocks(k, scatterCut(codes), (wide+31)/32), sums, counts, codes, x, rows, codes.Size(), codes.columns(), wide, k, scatterPart)
}
