//go:build generate

package isa

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// words are the encodings, with registers 0, of the instructions without a mnemonic
// in Go's assembler (Arm ARM, C7.2). Register n goes to bit 0 for the destination, 5
// for the first source and 16 for the second.
var words = map[string]uint32{
	"fadd.4s": 0x4e20d400, "fsub.4s": 0x4ea0d400, "fmul.4s": 0x6e20dc00, "fdiv.4s": 0x6e20fc00,
	"fadd.2d": 0x4e60d400, "fsub.2d": 0x4ee0d400, "fmul.2d": 0x6e60dc00, "fdiv.2d": 0x6e60fc00, "fmax.2d": 0x4e60f400,
	"fmin.4s": 0x4ea0f400, "fmax.4s": 0x4e20f400, "smin.4s": 0x4ea06c00, "fsqrt.4s": 0x6ea1f800,
	"fcmeq.4s": 0x4e20e400, "fcmge.4s": 0x6e20e400, "fcmgt.4s": 0x6ea0e400, "not.16b": 0x6e205800,
	"fcmeq.2d": 0x4e60e400, "fcmge.2d": 0x6e60e400, "fcmgt.2d": 0x6ee0e400, "frintn.2d": 0x4e618800, "frintm.2d": 0x4e619800,
	"frintn.4s": 0x4e218800, "frintm.4s": 0x4e219800, "fcvtns.4s": 0x4e21a800, "scvtf.4s": 0x4e21d800,
	"sshr.4s": 0x4f000400, "fcvtl.2d": 0x0e617800,
	"fmla.4s": 0x4f801000, "fmla.2d": 0x4fc01000, // by a lane
}

// spell gives the instructions of fn the operands that Go's assembler for arm64 reads.
func spell(fn *ir.Function) error {
	var nodes []ir.Node
	for _, node := range fn.Nodes {
		i, ok := node.(*ir.Instruction)
		if ok {
			if (i.Opcode == "VMOV" || i.Opcode == "MOVD") && i.Operands[0] == i.Operands[1] {
				continue
			}
			text, err := spelling(i)
			if err != nil {
				return fmt.Errorf("neon: %s: %w", fn.Name, err)
			}
			i.Opcode, i.Suffixes, i.Operands = text[0], nil, nil
			for _, t := range text[1:] {
				i.Operands = append(i.Operands, operand.LabelRef(t))
			}
		}
		nodes = append(nodes, node)
	}
	fn.Nodes = nodes
	return nil
}

// spelling returns the mnemonic and the operands of i.
func spelling(i *ir.Instruction) ([]string, error) {
	if i.Opcode == strings.ToLower(i.Opcode) {
		return word(i)
	}
	operands := i.Operands
	if strings.HasPrefix(i.Opcode, "TB") { // the label is last
		operands = append(append([]operand.Op{}, operands[1:]...), operands[0])
	}
	text := []string{i.Opcode}
	for at, op := range operands {
		t, err := spellOperand(op)
		if err != nil {
			return nil, err
		}
		if r, ok := op.(reg.Register); ok && len(i.Suffixes) > 0 {
			suffix := i.Suffixes[min(at, len(i.Suffixes)-1)]
			switch {
			case r.Kind() == reg.KindVector:
				t = fmt.Sprintf("V%d.%s", number(op), suffix)
			case at == 0 && suffix != "<<0": // a shifted operand
				t += suffix
			}
		}
		if i.Opcode == "VLD1R" && at == 1 {
			t = "[" + t + "]"
		}
		text = append(text, t)
	}
	return text, nil
}

func spellOperand(op operand.Op) (string, error) {
	switch op := op.(type) {
	case reg.Register:
		if op.Kind() == reg.KindVector {
			return fmt.Sprintf("F%d", number(op)), nil
		}
		return fmt.Sprintf("R%d", number(op)), nil
	case operand.Mem:
		if op.Base == reg.FramePointer {
			return op.Asm(), nil
		}
		if op.Symbol.Name != "" || op.Index != nil {
			return "", fmt.Errorf("cannot spell %s", op.Asm())
		}
		if op.Disp == 0 {
			return fmt.Sprintf("(R%d)", number(op.Base)), nil
		}
		return fmt.Sprintf("%d(R%d)", op.Disp, number(op.Base)), nil
	}
	return op.Asm(), nil
}

// number is that of a register: 0–31 of a vector, 0–15 without 4 of the others.
func number(op operand.Op) uint32 { return uint32(reg.ToPhysical(op.(reg.Register)).PhysicalIndex()) }

// word encodes i; a comment names it.
func word(i *ir.Instruction) ([]string, error) {
	arrangement := i.Suffixes[0]
	code, ok := words[i.Opcode+"."+arrangement]
	if !ok {
		return nil, fmt.Errorf("no encoding of %s.%s", i.Opcode, arrangement)
	}
	last := len(i.Operands) - 1
	d := number(i.Operands[last])
	code |= d
	text := fmt.Sprintf("%s v%d.%s", i.Opcode, d, arrangement)
	switch i.Opcode {
	case "sshr":
		n, by := number(i.Operands[1]), uint32(i.Operands[0].(operand.U8))
		code |= n<<5 | (64-by)<<16
		text += fmt.Sprintf(", v%d.%s, #%d", n, arrangement, by)
	case "fmla":
		lane, m, n := uint32(i.Operands[0].(operand.U8)), number(i.Operands[1]), number(i.Operands[2])
		code |= n<<5 | m<<16
		if arrangement == "4s" {
			code |= lane&1<<21 | lane>>1<<11
		} else {
			code |= lane << 11
		}
		text += fmt.Sprintf(", v%d.%s, v%d.%c[%d]", n, arrangement, m, arrangement[1], lane)
	case "fcvtl":
		n := number(i.Operands[0])
		code |= n << 5
		text += fmt.Sprintf(", v%d.2s", n)
	default:
		for at := last - 1; at >= 0; at-- {
			r := number(i.Operands[at])
			code |= r << (5 + 11*(last-1-at))
			text += fmt.Sprintf(", v%d.%s", r, arrangement)
		}
	}
	return []string{"WORD", fmt.Sprintf("$0x%08x // %s", code, text)}, nil
}
