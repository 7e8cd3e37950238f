package onnx

import (
	"fmt"
	"slices"
	"strings"

	"calibra/data"
)

// Settings say how a network is read. Without names for its outputs those named
// "features" and "logits" are taken, or told apart by their widths.
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

// choose finds the outputs of features and logits.
func (s Settings) choose(path string, outputs []port) (features, logits port, err error) {
	find := func(name string) (port, error) {
		i := slices.IndexFunc(outputs, func(o port) bool { return o.name == name })
		if i < 0 {
			return port{}, data.Inputf(path, "has no output %q; it has %s", name, list(outputs))
		}
		return outputs[i], nil
	}
	for i, o := range outputs {
		if slices.ContainsFunc(outputs[:i], func(earlier port) bool { return earlier.name == o.name }) {
			return features, logits, data.Inputf(path, "has two outputs named %q, which cannot be told apart; export it with a name for each", o.name)
		}
	}
	features.name, logits.name = s.Features, s.Logits
	other := func(name string) string {
		i := slices.IndexFunc(outputs, func(o port) bool { return o.name != name })
		return outputs[i].name
	}
	has := func(name string) bool {
		return slices.ContainsFunc(outputs, func(o port) bool { return o.name == name })
	}
	if logits.name == "" && has("logits") && features.name != "logits" {
		logits.name = "logits"
	}
	if features.name == "" && has("features") && logits.name != "features" {
		features.name = "features"
	}
	if len(outputs) == 2 {
		switch {
		case features.name == "" && logits.name == "":
			wide := func(o port) bool { return s.Classes > 0 && o.width() == int64(s.Classes) }
			if a, b := wide(outputs[0]), wide(outputs[1]); a != b {
				i := 0
				if b {
					i = 1
				}
				logits.name, features.name = outputs[i].name, outputs[1-i].name
			}
		case features.name == "" && has(logits.name):
			features.name = other(logits.name)
		case logits.name == "" && has(features.name):
			logits.name = other(features.name)
		}
	}
	if features.name == "" || logits.name == "" {
		return features, logits, data.Inputf(path, "must have an output of features and one of logits, and does not say which they are; it has %s: name them with --features-output and --logits-output, or export both", list(outputs))
	}
	if features.name == logits.name {
		return features, logits, data.Inputf(path, "features and logits are both %s; they must be two outputs", features.name)
	}
	if features, err = find(features.name); err != nil {
		return features, logits, err
	}
	logits, err = find(logits.name)
	return features, logits, err
}

func list(outputs []port) string {
	var out []string
	for _, o := range outputs {
		out = append(out, o.String())
	}
	return strings.Join(out, ", ")
}
