package onnx

import (
	"fmt"
	"slices"
	"strings"

	"calibra/data"
)

// Settings are how a network is read. Without names for its outputs those named
// "features" and "logits" are taken, or distinguished by their widths.
type Settings struct {
	Shape    []int  // of a raw row: {columns}, or {channels, height, width}
	Preset   Preset // what is done to it; the zero value leaves it as it is
	Library  string // path of the shared library; "" looks for it
	Features string // name of the output of N×M features; "" finds it
	Logits   string // name of the output of N×C logits; "" finds it
	Classes  int    // C, by which outputs without such names are told apart; 0 if not known
	Threads  int    // threads of one product; 0 leaves that to the library
}

// port is an input or output of the network: its name and declared shape, −1 where that is
// left open.
type port struct {
	name  string
	shape []int64
}

func (o port) String() string {
	var dims []string
	for _, d := range o.shape {
		if d < 0 {
			dims = append(dims, "?")
		} else {
			dims = append(dims, fmt.Sprint(d))
		}
	}
	return o.name + " (" + strings.Join(dims, "×") + ")"
}

// width is the number of values a row, 0 if it is not declared.
func (o port) width() int64 {
	if len(o.shape) < 2 {
		return 0
	}
	w := int64(1)
	for _, d := range o.shape[1:] {
		w *= max(d, 0)
	}
	return w
}

// ports are the outputs of a network.
type ports []port

func (o ports) at(name string) int {
	return slices.IndexFunc(o, func(p port) bool { return p.name == name })
}

// choose finds the outputs of features and logits.
func (s Settings) choose(path string, outputs ports) (features, logits port, err error) {
	for i, o := range outputs {
		if outputs.at(o.name) != i {
			return features, logits, data.Inputf(path, "has two outputs named %q, which cannot be told apart; export it with a name for each", o.name)
		}
	}
	f, l := s.named(outputs)
	if f == "" || l == "" {
		return features, logits, data.Inputf(path, "must have an output of features and one of logits, and does not say which they are; it has %s: name them with --features-output and --logits-output, or export both", list(outputs))
	}
	if f == l {
		return features, logits, data.Inputf(path, "features and logits are both %s; they must be two outputs", f)
	}
	for _, name := range []string{f, l} {
		if outputs.at(name) < 0 {
			return features, logits, data.Inputf(path, "has no output %q; it has %s", name, list(outputs))
		}
	}
	return outputs[outputs.at(f)], outputs[outputs.at(l)], nil
}

// named are the names of the outputs of features and logits: as in the settings, as outputs are called, or, of two
// outputs, by the other or by the width; "" where all of these fail.
func (s Settings) named(outputs ports) (features, logits string) {
	features, logits = s.Features, s.Logits
	has := func(name string) bool { return outputs.at(name) >= 0 }
	if logits == "" && has("logits") && features != "logits" {
		logits = "logits"
	}
	if features == "" && has("features") && logits != "features" {
		features = "features"
	}
	if len(outputs) != 2 {
		return features, logits
	}
	other := func(name string) string { return outputs[1-outputs.at(name)].name }
	wide := func(o port) bool { return s.Classes > 0 && o.width() == int64(s.Classes) }
	switch a, b := wide(outputs[0]), wide(outputs[1]); {
	case features == "" && logits == "" && a != b:
		if a {
			return outputs[1].name, outputs[0].name
		}
		return outputs[0].name, outputs[1].name
	case features == "" && has(logits):
		return other(logits), logits
	case logits == "" && has(features):
		return features, other(features)
	}
	return features, logits
}

func list(outputs []port) string {
	var out []string
	for _, o := range outputs {
		out = append(out, o.String())
	}
	return strings.Join(out, ", ")
}
