package op

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Formed is a [Kernel] whose shapes are a line of text, as its documentation has them:
//
//	"X, Y -> Z"                        inputs, and the output
//	"B C, C -> B C"                    an axis is a word; a letter is one length wherever it stands
//	"K d, int B w -> B w*d"            int: of int32, as codes and labels are
//	"B H, 1 -> B H"                    a number is that length; () is a scalar
//	"R C, int B w -> B C where R/w"    quotients must come out whole, those after where too
//	"B C -> int B 3 where C-3"         and differences must not be negative
//	"B C, C -> B C by B"               each row needs but the same row of inputs that begin with B
//
// A length may be computed of others by -, +, * and /, the weakest first, each from the right. A number that a kernel
// has in a field is written with [fmt.Sprintf].
type Formed interface {
	Kernel
	Form() string
}

// Shaped is a [Kernel] whose shapes no such line has: which depend on more than lengths, or whose
// number of dimensions varies.
type Shaped interface {
	Kernel
	// Signature gives the types of the inputs and, last, of the output.
	Signature() []Kind
	// Shape infers the output's shape, or an error.
	Shape(in []Shape) (Shape, error)
}

// Kind is the type of a value: its number of dimensions and its elements.
type Kind struct {
	Dims int
	Int  bool // int32 rather than the graph's float type
}

// The kinds that most ops take.
var (
	Scalar  = Kind{Dims: 0}
	Vector  = Kind{Dims: 1}
	Matrix  = Kind{Dims: 2}
	Indices = Kind{Dims: 1, Int: true} // a label or row number per row
	Codes   = Kind{Dims: 2, Int: true} // B×w codeword indices
	Images  = Kind{Dims: 4}            // N×C×H×W
)

// words are such as "a matrix of int32".
func (k Kind) words() string {
	text := [...]string{"a number", "a vector", "a matrix"}[min(k.Dims, 2)]
	if k.Dims > 2 {
		text = fmt.Sprintf("a tensor of %d dimensions", k.Dims)
	}
	if k.Int {
		text += " of int32"
	}
	return text
}

func (k Kind) hmType() hm.Type {
	var of hm.Type = hm.TypeVariable('a')
	if k.Int {
		of = tensor.Int32
	}
	if k.Dims == 0 {
		return of
	}
	return gorgonia.TensorType{Dims: k.Dims, Of: of}
}

// Alike is the form of an op of so many inputs which have, as its output has, one shape.
func Alike(of Kind, inputs int) string {
	return strings.Repeat(axesOf(of)+", ", inputs-1) + axesOf(of) + " -> " + axesOf(of)
}

// AlikeByRow is Alike of an op each of whose rows is computed by itself; a vector is one row.
func AlikeByRow(of Kind, inputs int) string {
	if of.Dims < 2 {
		return Alike(of, inputs)
	}
	return Alike(of, inputs) + " by N"
}

// axesOf are the axes of a tensor in a form.
func axesOf(k Kind) string { return [...]string{"()", "N", "N C", "N C H", "N C H W"}[k.Dims] }

// form is a form that was read, the output last.
type form struct {
	kinds []Kind
	axes  [][]string
	where []string // what must come out whole and not negative
	by    string   // the axis whose rows are computed by themselves
}

var forms sync.Map // of those read, by their text

func parse(text string) *form {
	if f, ok := forms.Load(text); ok {
		return f.(*form)
	}
	f := new(form)
	shapes, where, _ := strings.Cut(text, " where ")
	f.where = strings.Fields(where)
	shapes, f.by, _ = strings.Cut(shapes, " by ")
	in, out, ok := strings.Cut(shapes, " -> ")
	if !ok {
		return f
	}
	for _, s := range append(strings.Split(in, ", "), out) {
		s, isInt := strings.CutPrefix(s, "int ")
		axes := strings.Fields(strings.TrimPrefix(s, "()"))
		f.kinds, f.axes = append(f.kinds, Kind{len(axes), isInt}), append(f.axes, axes)
	}
	forms.Store(text, f)
	return f
}

// Infer is the output's shape by a form, see [Formed], or an error.
func Infer(text string, in []Shape) (Shape, error) {
	lengths, err := Bind(text, in)
	if err != nil {
		return nil, err
	}
	axes := parse(text).axes
	return lengths.all(axes[len(axes)-1])
}

// Lengths are the lengths of a form's axes, by their words.
type Lengths map[string]int

// Bind gives the lengths of a form for inputs of given shapes, or an error where they do not fit.
func Bind(text string, in []Shape) (Lengths, error) {
	f, lengths := parse(text), Lengths{}
	inputs := f.axes[:len(f.axes)-1]
	for i, axes := range inputs {
		if len(in[i]) != len(axes) {
			return nil, errShapes
		}
		for k, axis := range axes {
			if _, known := lengths[axis]; !known && !strings.ContainsAny(axis, "*/+-0123456789") {
				lengths[axis] = in[i][k]
			}
		}
	}
	for i, axes := range inputs {
		if s, err := lengths.all(axes); err != nil || !s.Eq(in[i]) {
			return nil, errShapes
		}
	}
	_, err := lengths.all(f.where)
	return lengths, err
}

// all is the lengths of words.
func (l Lengths) all(words []string) (Shape, error) {
	s := make(Shape, len(words))
	for i, word := range words {
		var ok bool
		if s[i], ok = l.Of(word); !ok {
			return nil, errShapes
		}
	}
	return s, nil
}

// Of is the value of a word, such as B*C. It is not ok if the word is unknown, a quotient is not
// whole or a difference is negative.
func (l Lengths) Of(word string) (n int, ok bool) {
	for _, sign := range "-+*/" {
		first, second, found := strings.Cut(word, string(sign))
		if !found {
			continue
		}
		x, okX := l.Of(first)
		y, okY := l.Of(second)
		switch {
		case !okX || !okY || sign == '/' && (y == 0 || x%y != 0) || sign == '-' && x < y:
			return 0, false
		case sign == '-':
			return x - y, true
		case sign == '+':
			return x + y, true
		case sign == '*':
			return x * y, true
		}
		return x / y, true
	}
	if n, err := strconv.Atoi(word); err == nil {
		return n, true
	}
	n, ok = l[word]
	return n, ok
}
