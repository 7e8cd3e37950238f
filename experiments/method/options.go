package method

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/graph"
	"calibra/optim"
)

// Observer gives an observer for each stage of a fit that runs in epochs, by its name in [Run.Curves].
type Observer func(stage string) func(optim.Epoch)

// Options are the settings that a method is built with. Its New reads every setting by name,
// with default, range and meaning, and gets the user's value or the default:
//
//	rank := o.Int("rank-r.rank", 2, 1, "", "factors of each codeword")
//
// So a key is declared where it is used, and the method has exactly the settings that New reads.
type Options struct {
	// Values are the settings that the user chose.
	Values Values
	// Catalog is where the rules that optim.rule names are looked up; nil means the rules of this package.
	Catalog *Catalog
	// Features is M where it is known, else 0: the default of w depends on it.
	Features int
	// Observe is nil where nobody observes.
	Observe Observer
	// Executor is where fits run; nil means in this process.
	Executor graph.Executor
	// Epochs fixes how long the stages that it names train, whatever Values hold: a fit without
	// validation rows finds it beforehand. A stage of 0 epochs keeps its start.
	Epochs map[string]int

	keys []Key
	err  error
	// Whether L-BFGS was named for a stage that takes steps alone, and whether another stage took it.
	stepped, whole bool
}

// Values are settings by key, as they are written on a command line: "optim.rate" is
// "3e-4". Nil means all defaults.
type Values map[string]string

// Key is a setting of a method.
type Key struct {
	Name    string `json:"key"`             // "optim.rate"
	Kind    string `json:"type"`            // "number > 0"
	Default any    `json:"default"`         // int, float64, string, []float64; or words where it depends on the data
	Value   any    `json:"-"`               // in use
	Paper   string `json:"paper,omitempty"` // the paper's value; "" where it names none
	Line    string `json:"what"`            // what it is
}

// Range is the finite numbers that a setting may have: all of them, in the zero value.
type Range struct {
	Name  string               // as errors and lists say it: "number > 0"; "": "number"
	Holds func(x float64) bool // nil: for all
}

// The ranges.
var (
	Positive    = Range{"number > 0", func(x float64) bool { return x > 0 }}
	NonNegative = Range{"number ≥ 0", func(x float64) bool { return x >= 0 }}
	Share       = Range{"number from 0 to below 1", func(x float64) bool { return x >= 0 && x < 1 }}
)

// answer declares a key and gives its value: that of the user, as parse reads it, or def.
// A key that is asked twice is declared once.
func answer[T any](o *Options, k Key, def T, parse func(text string) (T, bool)) T {
	value, chosen := def, false
	if text, ok := o.Values[k.Name]; ok {
		value, chosen = parse(strings.TrimSpace(text))
		if !chosen && o.err == nil {
			o.err = data.Inputf("", "%s is %q; it must be a %s", k.Name, text, k.Kind)
		}
	}
	if !has(o.keys, k.Name) {
		if k.Default == nil {
			k.Default = def
		}
		k.Value = k.Default
		if chosen {
			k.Value = value
		}
		o.keys = append(o.keys, k)
	}
	return value
}

func has(keys []Key, name string) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return k.Name == name })
}

// Int reads an integer of at least least. Paper is the paper's value, "" if it
// names none.
func (o *Options) Int(name string, def, least int, paper, line string) int {
	return answer(o, Key{Name: name, Kind: fmt.Sprintf("whole number ≥ %d", least), Paper: paper, Line: line}, def, integer(least))
}

// IntOr is Int with a default that depends on the data: 0, described in words.
func (o *Options) IntOr(name, words string, least int, paper, line string) int {
	return answer(o, Key{Name: name, Kind: fmt.Sprintf("whole number ≥ %d", least), Default: words, Paper: paper, Line: line}, 0, integer(least))
}

// Float reads a finite number in a range: [Positive], [NonNegative], [Share] or one of your own.
func (o *Options) Float(name string, def float64, in Range, paper, line string) float64 {
	return answer(o, Key{Name: name, Kind: in.kind(), Paper: paper, Line: line}, def, in.parse)
}

// FloatOr is Float with a default that depends on the data: nil, described in words.
func (o *Options) FloatOr(name, words string, in Range, paper, line string) *float64 {
	return answer(o, Key{Name: name, Kind: in.kind(), Default: words, Paper: paper, Line: line}, nil, func(text string) (*float64, bool) {
		v, ok := in.parse(text)
		return &v, ok
	})
}

// Floats reads a list of numbers, separated by commas.
func (o *Options) Floats(name string, def []float64, in Range, paper, line string) []float64 {
	return answer(o, Key{Name: name, Kind: "list, each a " + in.kind(), Paper: paper, Line: line}, def, list(in.parse))
}

// IntsOr reads a list of integers of at least 1, separated by commas, with a default
// that depends on the data: nil, described in words.
func (o *Options) IntsOr(name, words, paper, line string) []int {
	return answer(o, Key{Name: name, Kind: "list, each a whole number ≥ 1", Default: words, Paper: paper, Line: line}, nil, list(integer(1)))
}

func (o *Options) Word(name, def, line string) string {
	return answer(o, Key{Name: name, Kind: "word", Line: line}, def, func(text string) (string, bool) { return text, text != "" })
}

// Choice reads one of some words.
func (o *Options) Choice(name, def string, among []string, paper, line string) string {
	return answer(o, Key{Name: name, Kind: "word of " + strings.Join(among, ", "), Paper: paper, Line: line}, def, func(text string) (string, bool) {
		return text, slices.Contains(among, text)
	})
}

// words reads a list of words, separated by commas.
func (o *Options) words(name string, def []string, line string) []string {
	return answer(o, Key{Name: name, Kind: "list of words", Default: strings.Join(def, ","), Line: line}, def, list(func(text string) (string, bool) {
		return text, text != ""
	}))
}

// integer reads an integer of at least least.
func integer(least int) func(text string) (int, bool) {
	return func(text string) (int, bool) {
		v, err := strconv.Atoi(text)
		return v, err == nil && v >= least
	}
}

// list reads what one reads, separated by commas.
func list[T any](one func(text string) (T, bool)) func(text string) ([]T, bool) {
	return func(text string) (all []T, ok bool) {
		for part := range strings.SplitSeq(text, ",") {
			v, ok := one(strings.TrimSpace(part))
			if !ok {
				return nil, false
			}
			all = append(all, v)
		}
		return all, true
	}
}

func (r Range) kind() string { return cmp.Or(r.Name, "number") }

func (r Range) parse(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && v-v == 0 && (r.Holds == nil || r.Holds(v))
}

// Finish is the first wrong value, or the first of the user's settings that nobody asked
// for, in the order of their names.
func (o *Options) Finish(whose string) error {
	switch {
	case o.err != nil:
		return o.err
	case o.stepped && !o.whole:
		return data.Inputf("", "%s trains only by steps, and each step moves its codewords; name another optim.rule than %s", strings.TrimSuffix(whose, " has no"), lbfgs.Name)
	}
	for _, name := range o.Values.Names() {
		if !has(o.keys, name) {
			known := data.Each(o.keys, func(k Key) string { return k.Name })
			return unknownKey(strings.TrimSuffix(whose, " has no"), whose, name, "", known)
		}
	}
	return nil
}
