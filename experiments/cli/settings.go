package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"calibra/experiments"
)

// settingFlags are of the commands that fit: every setting of a method, by --set or from a
// file, and the codebook's by flags of their own.
type settingFlags struct {
	Slots     *int     `most:"65536" placeholder:"64" help:"Slots w that the features are cut into; must divide their number M (the largest divisor of M up to 64)."`
	Codewords *int     `most:"65536" placeholder:"64" help:"Codewords K of the shared codebook (64)."`
	EMA       *string  `placeholder:"warm|zero" help:"What the codebook's moving averages start from: the initial codewords (warm) or zero, as published (warm)."`
	Set       []string `sep:"none" placeholder:"KEY=VALUE" help:"A setting of the method, such as optim.rate=3e-4; may be repeated. METHOD.KEY=VALUE sets it for one method of several. calibra methods NAME lists the keys."`
	Config    string   `type:"path" placeholder:"F.yaml" help:"Settings from a YAML file, by the same keys; --set wins."`

	notice string // to be told at the end: flags that changed nothing
}

// found are the methods of these names, each once; a former name will do.
func found(methods *experiments.Catalog, names []string) (all []experiments.Method, err error) {
	for _, name := range names {
		m, err := methods.Find(name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all, func(o experiments.Method) bool { return o.Name == m.Name }) {
			all = append(all, m)
		}
	}
	return all, nil
}

func namesOf(all []experiments.Method) (names []string) {
	for _, m := range all {
		names = append(names, m.Name)
	}
	return names
}

// values are the settings of each named method. Flags of the codebook that no method
// would read are left out, and notice says so.
func (f *settingFlags) values(methods *experiments.Catalog, names []string) (map[string]experiments.Values, error) {
	v, err := experiments.ReadValues(f.Config, f.Set)
	if err != nil {
		return nil, err
	}
	named, err := found(methods, names)
	if err != nil {
		return nil, err
	}
	var ignored []string
	for _, flag := range []struct{ name, key, text string }{
		{"--slots", "codebook.slots", digits(f.Slots)}, {"--codewords", "codebook.codewords", digits(f.Codewords)}, {"--ema", "codebook.start", word(f.EMA)},
	} {
		switch _, twice := v[flag.key]; {
		case flag.text == "":
		case twice:
			return nil, usageError{fmt.Errorf("%s is given by %s and as a setting; give it once", flag.key, flag.name)}
		case !slices.ContainsFunc(named, func(m experiments.Method) bool { return m.Has(flag.key, v) }):
			ignored = append(ignored, flag.name)
		default:
			v[flag.key] = flag.text
		}
	}
	divided, err := methods.Divide(v, names)
	if err != nil {
		return nil, err
	}
	if ignored != nil {
		f.notice = fmt.Sprintf("%s: %s changed nothing; calibra methods NAME lists what a method has", strings.Join(names, ", "), strings.Join(ignored, ", "))
	}
	return divided, nil
}

func digits(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func word(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
