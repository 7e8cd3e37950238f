//go:build generate

package isa

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/reg"
)

// For arm64 a kernel is first the program that it would be for AVX on 128-bit
// registers. lower turns that into NEON, one instruction into one or a few; avo
// allocates V0–V31 as if they were X0–X31, and R0–R15 for AX–R15; spell writes
// what Go's assembler reads, and as a WORD what it has no mnemonic for.
func compileForNEON() {
	pass.Compile = pass.Concat(
		pass.Verify,
		pass.FunctionPass(lower),
		pass.FunctionPass(pass.PruneJumpToFollowingLabel),
		pass.FunctionPass(pass.PruneDanglingLabels),
		pass.FunctionPass(pass.LabelTarget),
		pass.FunctionPass(pass.CFG),
		pass.FunctionPass(pass.Liveness),
		pass.FunctionPass(pass.AllocateRegisters),
		pass.FunctionPass(pass.BindRegisters),
		pass.FunctionPass(pass.VerifyAllocation),
		pass.Func(pass.IncludeTextFlagHeader),
		pass.FunctionPass(spell),
	)
}

// lowering is the arm64 program of one function in the making.
type lowering struct {
	nodes  []ir.Node
	flags  bool           // the next instruction branches on the result of this one
	table  reg.Register   // address of the constants, nil if none is used
	recent []loadedMemory // constants loaded a few instructions ago, not written since
	cold   []ir.Node      // what follows the function's end: the rare parts of vectors
	parts  int            // loads and stores of part of a vector so far
}

type loadedMemory struct {
	disp int
	v    reg.Register
	node int
}

func lower(fn *ir.Function) error {
	l := new(lowering)
	for at, node := range fn.Nodes {
		i, ok := node.(*ir.Instruction)
		if !ok {
			l.nodes = append(l.nodes, node)
			l.recent = nil
			continue
		}
		l.flags = false
		if at+1 < len(fn.Nodes) {
			next, ok := fn.Nodes[at+1].(*ir.Instruction)
			l.flags = ok && next.IsConditional
		}
		f, ok := lowered[i.Opcode]
		if !ok {
			return fmt.Errorf("neon: %s: no instruction for %s", fn.Name, i.Opcode)
		}
		if err := f(l, i); err != nil {
			return fmt.Errorf("neon: %s: %w", fn.Name, err)
		}
	}
	if l.table != nil {
		l.nodes = slices.Insert(l.nodes, 0, ir.Node(write("MOVD", operand.LabelRef("$"+constantsName+"<>(SB)"), l.table)))
	}
	fn.Nodes = append(l.nodes, l.cold...)
	return nil
}

// write returns an instruction that reads its operands but the last, and writes that.
func write(opcode string, operands ...operand.Op) *ir.Instruction {
	name, arrangement, dotted := strings.Cut(opcode, ".")
	i := &ir.Instruction{Opcode: name, Operands: operands}
	if dotted {
		i.Suffixes = strings.Split(arrangement, ".")
	}
	last := len(operands) - 1
	i.Inputs, i.Outputs = operands[:last:last], operands[last:]
	return i
}

func (l *lowering) put(i *ir.Instruction) error {
	l.nodes = append(l.nodes, i)
	return nil
}

func (l *lowering) write(opcode string, operands ...operand.Op) error {
	return l.put(write(opcode, operands...))
}

// update is write where the last operand is read too.
func (l *lowering) update(opcode string, operands ...operand.Op) error {
	i := write(opcode, operands...)
	i.Inputs = operands
	return l.put(i)
}

// read is write where the last operand is only read: a comparison.
func (l *lowering) read(opcode string, operands ...operand.Op) error {
	return l.put(&ir.Instruction{Opcode: opcode, Operands: operands, Inputs: operands})
}

// branch jumps to label; further operands are read.
func (l *lowering) branch(opcode, label string, rest ...operand.Op) error {
	return l.put(&ir.Instruction{
		Opcode: opcode, Operands: append([]operand.Op{operand.LabelRef(label)}, rest...), Inputs: rest,
		IsBranch: true, IsConditional: opcode != "JMP",
	})
}

// address returns m as arm64 takes it: a register and a displacement, or a parameter.
func (l *lowering) address(m operand.Mem) operand.Mem {
	switch {
	case m.Symbol.Name == constantsName:
		if l.table == nil {
			l.table = build.GP64()
		}
		return operand.Mem{Base: l.table, Disp: m.Disp}
	case m.Base == reg.StaticBase:
		at := build.GP64()
		l.write("MOVD", operand.LabelRef("$"+m.Symbol.String()+"(SB)"), at)
		m = operand.Mem{Base: at, Disp: m.Disp}
	}
	if m.Index != nil {
		at := build.GP64()
		l.write(fmt.Sprintf("ADD.<<%d", shift(m.Scale)), m.Index, m.Base, at)
		m = operand.Mem{Base: at, Disp: m.Disp}
	}
	return m
}

// pointer returns the address m in a register.
func (l *lowering) pointer(m operand.Mem) operand.Mem {
	m = l.address(m)
	if m.Disp == 0 {
		return m
	}
	at := build.GP64()
	l.write("ADD", operand.Imm(uint64(m.Disp)), m.Base, at)
	return operand.Mem{Base: at}
}

func shift(scale uint8) int { return map[uint8]int{1: 0, 2: 1, 4: 2, 8: 3}[scale] }

// vector returns op in a register that must not be written. A constant stays in
// its register while the interleaved bodies that need it follow one another.
func (l *lowering) vector(op operand.Op) operand.Op {
	m, ok := op.(operand.Mem)
	if !ok {
		return op
	}
	const near = 12
	constant := m.Symbol.Name == constantsName
	if constant {
		for _, r := range l.recent {
			if r.disp == m.Disp && len(l.nodes)-r.node <= near {
				return r.v
			}
		}
	}
	v := build.XMM()
	l.write("FMOVQ", l.address(m), v)
	if constant {
		l.recent = append(l.recent, loadedMemory{m.Disp, v, len(l.nodes)})
	}
	return v
}

type rule = func(l *lowering, i *ir.Instruction) error

// plain lowers to one instruction with the operands in the same order; only the first
// may lie in memory.
func plain(opcode string) rule { return inOrder((*lowering).write, opcode) }

// accumulated is plain where the destination is read too.
func accumulated(opcode string) rule { return inOrder((*lowering).update, opcode) }

func inOrder(write func(*lowering, string, ...operand.Op) error, opcode string) rule {
	return func(l *lowering, i *ir.Instruction) error {
		operands := slices.Clone(i.Operands)
		operands[0] = l.vector(operands[0])
		return write(l, opcode, operands...)
	}
}

// jump lowers a conditional branch.
func jump(opcode string) rule {
	return func(l *lowering, i *ir.Instruction) error {
		return l.branch(opcode, string(i.Operands[0].(operand.LabelRef)))
	}
}

// arithmetic lowers dst = dst ∘ x, in the form that sets the flags if they are asked.
func arithmetic(opcode string) rule {
	return func(l *lowering, i *ir.Instruction) error {
		name := opcode
		if l.flags {
			name += "S"
		}
		x, dst := i.Operands[0], i.Operands[len(i.Operands)-1]
		if len(i.Operands) == 1 { // DEC
			x = operand.Imm(1)
		}
		return l.write(name, x, dst, dst)
	}
}

// selected lowers a conditional move.
func selected(condition string) rule {
	return func(l *lowering, i *ir.Instruction) error {
		return l.write("CSEL", operand.LabelRef(condition), i.Operands[0], i.Operands[1], i.Operands[1])
	}
}

// moved lowers a load or a store of one size.
func moved(opcode string) rule {
	return func(l *lowering, i *ir.Instruction) error {
		from, to := i.Operands[0], i.Operands[1]
		if m, ok := from.(operand.Mem); ok {
			from = l.address(m)
		}
		if m, ok := to.(operand.Mem); ok {
			to = l.address(m)
		}
		return l.write(opcode, from, to)
	}
}

// ofItself is for an instruction that is used with one register as both its sources.
func ofItself(f rule) rule {
	return func(l *lowering, i *ir.Instruction) error {
		if i.Operands[0] != i.Operands[1] {
			return fmt.Errorf("%s of two registers", i.Opcode)
		}
		return f(l, i)
	}
}

// cleared is an exclusive or of a register with itself.
var cleared = ofItself(func(l *lowering, i *ir.Instruction) error {
	return l.write("MOVD", operand.Imm(0), i.Operands[1])
})

var lowered map[string]rule

func init() {
	lowered = map[string]rule{
		"VADDPS": plain("fadd.4s"), "VSUBPS": plain("fsub.4s"), "VMULPS": plain("fmul.4s"), "VDIVPS": plain("fdiv.4s"),
		"VADDPD": plain("fadd.2d"), "VSUBPD": plain("fsub.2d"), "VMULPD": plain("fmul.2d"), "VDIVPD": plain("fdiv.2d"), "VMAXPD": plain("fmax.2d"),
		"VMINPS": plain("fmin.4s"), "VMAXPS": plain("fmax.4s"), "VPMINSD": plain("smin.4s"), "VSQRTPS": plain("fsqrt.4s"),
		"VPADDD": plain("VADD.S4"), "VPSUBD": plain("VSUB.S4"),
		"VPAND": plain("VAND.B16"), "VANDPS": plain("VAND.B16"), "VORPS": plain("VORR.B16"),
		"VPSRAD": plain("sshr.4s"), "VPSLLD": plain("VSHL.S4"), "VPSRLQ": plain("VUSHR.D2"), "VPSLLQ": plain("VSHL.D2"),
		"VCVTPS2DQ": plain("fcvtns.4s"), "VCVTDQ2PS": plain("scvtf.4s"),
		"VFMADD231PS": accumulated("VFMLA.S4"), "VFMADD231PD": accumulated("VFMLA.D2"), "VFNMADD231PS": accumulated("VFMLS.S4"), "VFNMADD231PD": accumulated("VFMLS.D2"),
		"VUNPCKLPS": plain("VZIP1.S4"), "VUNPCKHPS": plain("VZIP2.S4"), "VUNPCKLPD": plain("VZIP1.D2"), "VUNPCKHPD": plain("VZIP2.D2"),
		"VADDSS":  plain("FADDS"),
		"VMOVAPS": plain("VMOV.B16"), "VMOVUPS": moved("FMOVQ"), "VMOVSD": moved("FMOVD"), "VMOVSS": moved("FMOVS"), "MOVSS": moved("FMOVS"), "VMOVD": moved("FMOVS"),
		"VCVTPS2PD": func(l *lowering, i *ir.Instruction) error { // from memory
			half := build.XMM()
			l.write("FMOVD", l.address(i.Operands[0].(operand.Mem)), half)
			return l.write("fcvtl.2d", half, i.Operands[1])
		},
		"VROUNDPS": rounded("4s"), "VROUNDPD": rounded("2d"),
		"VPXOR": ofItself(func(l *lowering, i *ir.Instruction) error {
			return l.write("VMOVI.B16", operand.Imm(0), i.Operands[2])
		}),
		"VMOVHLPS": ofItself(func(l *lowering, i *ir.Instruction) error { // its upper half, lanes 2 and 3
			return l.write("VEXT.B16", operand.Imm(8), i.Operands[0], i.Operands[1], i.Operands[2])
		}),
		"VMOVSHDUP": func(l *lowering, i *ir.Instruction) error {
			return l.write("VTRN2.S4", i.Operands[0], i.Operands[0], i.Operands[1])
		},
		"VPERMILPS": func(l *lowering, i *ir.Instruction) error {
			switch i.Operands[0].(operand.U8) {
			case 0x4e:
				return l.write("VEXT.B16", operand.Imm(8), i.Operands[1], i.Operands[1], i.Operands[2])
			case 0xb1:
				return l.write("VREV64.S4", i.Operands[1], i.Operands[2])
			}
			return fmt.Errorf("no permutation %s", i.Operands[0].Asm())
		},
		"VBLENDVPS": func(l *lowering, i *ir.Instruction) error {
			if i.Operands[2] != i.Operands[3] {
				return fmt.Errorf("VBLENDVPS into a third register")
			}
			return l.update("VBIT.B16", i.Operands[0], l.vector(i.Operands[1]), i.Operands[3])
		},
		"VCMPPS": compared("4s"), "VCMPPD": compared("2d"), "VBROADCASTSS": lowerBroadcast, "VMOVDDUP": lowerBroadcast,
		multiplyLane: func(l *lowering, i *ir.Instruction) error {
			return l.update("fmla."+map[string]string{"S": "4s", "D": "2d"}[i.Suffixes[0]], i.Operands...)
		},
		loadPart:  lowerLoadPart,
		storePart: lowerStorePart,

		"MOVQ": moved("MOVD"), "MOVLQSX": moved("MOVW"), "MOVL": moved("MOVW"),
		"ADDQ": arithmetic("ADD"), "SUBQ": arithmetic("SUB"), "DECQ": arithmetic("SUB"),
		"IMULQ": arithmetic("MUL"), "SHLQ": arithmetic("LSL"), "ANDQ": arithmetic("AND"),
		"NEGQ": func(l *lowering, i *ir.Instruction) error { return l.write("NEG", i.Operands[0], i.Operands[0]) },
		"IMUL3Q": func(l *lowering, i *ir.Instruction) error {
			t := build.GP64()
			l.write("MOVD", i.Operands[0], t)
			return l.write("MUL", t, i.Operands[1], i.Operands[2])
		},
		"LEAQ": func(l *lowering, i *ir.Instruction) error {
			return l.write("MOVD", l.pointer(i.Operands[0].(operand.Mem)).Base, i.Operands[1])
		},
		"XORQ": cleared, "XORL": cleared,
		"CMPQ":  func(l *lowering, i *ir.Instruction) error { return l.read("CMP", i.Operands[1], i.Operands[0]) },
		"CMPL":  func(l *lowering, i *ir.Instruction) error { return l.read("CMPW", i.Operands[1], i.Operands[0]) },
		"TESTQ": ofItself(func(l *lowering, i *ir.Instruction) error { return l.read("CMP", operand.Imm(0), i.Operands[0]) }),
		"JMP":   jump("JMP"), "JL": jump("BLT"), "JLE": jump("BLE"), "JG": jump("BGT"), "JGE": jump("BGE"), "JNZ": jump("BNE"),
		"CMOVQGT": selected("GT"), "CMOVLEQ": selected("EQ"),
		"RET": func(l *lowering, i *ir.Instruction) error { return l.put(i) },
	}
}

// rounded lowers a rounding to integers.
func rounded(lanes string) rule {
	return func(l *lowering, i *ir.Instruction) error {
		const toEven, down = 8, 9
		name := map[operand.U8]string{toEven: "frintn.", down: "frintm."}[i.Operands[0].(operand.U8)]
		return l.write(name+lanes, i.Operands[1], i.Operands[2])
	}
}

// compared lowers a comparison.
func compared(lanes string) rule {
	return func(l *lowering, i *ir.Instruction) error {
		x, y, m := l.vector(i.Operands[1]), i.Operands[2], i.Operands[3]
		switch i.Operands[0].(operand.U8) { // y (predicate) x
		case IsEqual:
			return l.write("fcmeq."+lanes, x, y, m)
		case IsLess:
			return l.write("fcmgt."+lanes, y, x, m)
		case IsAtLeast, IsAtLeastSignaling:
			return l.write("fcmge."+lanes, x, y, m)
		case IsNotBelow:
			l.write("fcmgt."+lanes, y, x, m)
			return l.write("not.16b", m, m)
		}
		return fmt.Errorf("no comparison %s", i.Operands[0].Asm())
	}
}

func lowerBroadcast(l *lowering, i *ir.Instruction) error {
	from, ok := i.Operands[0].(operand.Mem)
	scalar, entry, all := "FMOVS", "S[0]", "S4"
	if i.Opcode == "VMOVDDUP" {
		scalar, entry, all = "FMOVD", "D[0]", "D2"
	}
	switch {
	case !ok:
		return fmt.Errorf("broadcast of a register")
	case from.Symbol.Name == constantsName:
		return l.write("FMOVQ", l.address(from), i.Operands[1])
	case from.Base == reg.FramePointer:
		t := build.XMM()
		l.write(scalar, from, t)
		return l.write("VDUP."+entry+"."+all, t, i.Operands[1])
	}
	return l.write("VLD1R."+all, l.pointer(from), i.Operands[1])
}

// Instructions of our own beside those of AVX.
const (
	multiplyLane = "MULTIPLYLANE" // lane, a, b, sum: sum += b·a[lane]
	loadPart     = "LOADPART"     // n, m, v: n entries of memory into v, zeros behind them
	storePart    = "STOREPART"    // n, v, m: n entries of v into memory
)

// LoadPart loads the first n entries of from, all of a vector if there are so many,
// each of 4 or 8 bytes.
func LoadPart(size int, n reg.Register, from operand.Mem, to Vec) {
	build.Instruction(own(loadPart, size, n, from, to))
}

// StorePart stores the first n entries of a vector, n as in LoadPart.
func StorePart(size int, n reg.Register, from Vec, to operand.Mem) {
	build.Instruction(own(storePart, size, n, from, to))
}

// MultiplyLane adds b·a[lane] to sum, entries of 4 or 8 bytes.
func MultiplyLane(size, lane int, a, b, sum Vec) {
	i := own(multiplyLane, size, operand.U8(lane), a, b, sum)
	i.Inputs = i.Operands
	build.Instruction(i)
}

// own returns an instruction of our own for entries of so many bytes.
func own(opcode string, size int, operands ...operand.Op) *ir.Instruction {
	return write(opcode+"."+map[int]string{4: "S", 8: "D"}[size], operands...)
}

func lowerLoadPart(l *lowering, i *ir.Instruction) error {
	n, from, to := i.Operands[0], l.pointer(i.Operands[1].(operand.Mem)), i.Operands[2]
	l.parted(n, i.Suffixes[0], from, to, func() { l.write("VMOVI.B16", operand.Imm(0), to) }, func() { l.update("VLD1.S[2]", l.behind(from, 8), to) })
	return nil
}

func lowerStorePart(l *lowering, i *ir.Instruction) error {
	n, v, to := i.Operands[0], i.Operands[1], l.pointer(i.Operands[2].(operand.Mem))
	l.parted(n, i.Suffixes[0], v, to, func() {}, func() { l.write("VST1.S[2]", v, l.behind(to, 8)) })
	return nil
}

// parted moves n entries. A whole vector goes straight on. Of a part the bits of n are how many
// entries there are: 2 and 1 of 32 bits, before and after which begin and third do their share, or
// 1 of 64.
func (l *lowering) parted(n operand.Op, size string, from, to operand.Op, begin, third func()) {
	l.part(n, size, func() { l.write("FMOVQ", from, to) }, func(label func(string) string) {
		if size == "D" {
			l.write("FMOVD", from, to)
			return
		}
		begin()
		l.branch("TBZ", label("One"), operand.Imm(1), n)
		l.write("FMOVD", from, to)
		l.branch("TBZ", label("Done"), operand.Imm(0), n)
		third()
		l.branch("JMP", label("Done"))
		l.label(label("One"))
		l.branch("TBZ", label("Done"), operand.Imm(0), n)
		l.write("FMOVS", from, to)
	})
}

// part emits whole for n = a vector's lanes, and behind the function's end part, which
// goes on at the label Done.
func (l *lowering) part(n operand.Op, size string, whole func(), part func(label func(string) string)) {
	l.parts++
	prefix := fmt.Sprintf("part%d", l.parts)
	label := func(name string) string { return prefix + name }
	bit := map[string]uint64{"S": 2, "D": 1}[size]
	l.branch("TBZ", prefix, operand.Imm(bit), n)
	whole()
	l.label(label("Done"))

	hot := l.nodes
	l.nodes = nil
	l.label(prefix)
	part(label)
	l.branch("JMP", label("Done"))
	l.cold = append(l.cold, l.nodes...)
	l.nodes = hot
}

func (l *lowering) label(name string) {
	l.nodes = append(l.nodes, ir.Label(name))
	l.recent = nil
}

// behind returns the address some bytes past m.
func (l *lowering) behind(m operand.Mem, bytes int) operand.Mem {
	m.Disp += bytes
	return l.pointer(m)
}
