package cli

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/paper"
	"calibra/experiments/report/tensorboard"
	"calibra/experiments/run"
	"calibra/graph/cuda"

	"github.com/alecthomas/kong"
)

// settingFlags are of the commands that fit: every setting of a method, by --set or from a
// file, and the codebook's by flags of their own.
type settingFlags struct {
	Slots     *int              `most:"65536" placeholder:"64" group:"Settings of the methods:" help:"Number of slots w that the features are cut into. It must divide the number M of features (the largest divisor of M up to 64)."`
	Codewords *int              `most:"65536" placeholder:"64" group:"Settings of the methods:" help:"Number of codewords K in the codebook, which all slots share (64)."`
	Protocol  *metrics.Protocol `placeholder:"tables|formula" group:"Settings of the methods:" help:"All that differs from the paper at once, validation rows and metrics too: as the code behind its tables, or as its text. --set wins."`
	Set       []string          `sep:"none" placeholder:"KEY=VALUE" help:"A setting of the method, such as optim.rate=3e-4. May be repeated. METHOD.KEY=VALUE sets it for one of several methods. A YAML file of such keys is --set F.yaml. calibra methods NAME lists the keys."`

	notice string // to be told at the end: flags that changed nothing
}

// found are the methods of these names, each once.
func found(methods *method.Catalog, names []string) (all []method.Method, err error) {
	for _, name := range names {
		m, err := methods.Find(name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all, func(o method.Method) bool { return o.Name == m.Name }) {
			all = append(all, m)
		}
	}
	return all, nil
}

func namesOf(all []method.Method) []string {
	return data.Each(all, func(m method.Method) string { return m.Name })
}

// settingFiles are those that settings are read from.
func (f *settingFlags) settingFiles() (paths []string) {
	for _, arg := range f.Set {
		if method.IsSettingsFile(arg) {
			paths = append(paths, arg)
		}
	}
	return paths
}

// codebookFlag is a setting of the codebook by its flag; text is "" where that is not given.
type codebookFlag struct{ name, key, text string }

func (f *settingFlags) codebook() []codebookFlag {
	return []codebookFlag{{"slots", "codebook.slots", given(f.Slots)}, {"codewords", "codebook.codewords", given(f.Codewords)}}
}

// values are the settings of each named method.
func (f *settingFlags) values(methods *method.Catalog, names []string) (map[string]method.Values, error) {
	v, err := f.read(methods, names)
	if err != nil {
		return nil, err
	}
	return methods.Divide(v, names)
}

// read are the settings of all flags. Flags of the codebook that no named method would read are left out, and notice
// names them.
func (f *settingFlags) read(methods *method.Catalog, names []string) (method.Values, error) {
	v, err := method.ReadValues(f.Set)
	if err != nil {
		return nil, err
	}
	named, err := found(methods, names)
	if err != nil {
		return nil, err
	}
	var ignored []string
	for _, flag := range f.codebook() {
		switch _, twice := v[flag.key]; {
		case flag.text == "":
		case twice:
			return nil, givenTwice(flag)
		case !slices.ContainsFunc(named, func(m method.Method) bool { return m.Has(flag.key, v) }):
			ignored = append(ignored, "--"+flag.name)
		default:
			v[flag.key] = flag.text
		}
	}
	if f.Protocol != nil {
		together := method.Values{}
		set, _ := paper.Protocol(*f.Protocol)
		for _, s := range set {
			key, value, _ := strings.Cut(s, "=")
			if slices.ContainsFunc(named, func(m method.Method) bool { return m.Has(key, v) }) {
				together[key] = value
			}
		}
		v = together.With(v)
	}
	if ignored != nil {
		f.notice = fmt.Sprintf("%s: %s changed nothing; calibra methods NAME lists what a method has", strings.Join(names, ", "), strings.Join(ignored, ", "))
	}
	return v, nil
}

// split is that of the protocol, unless another one is given.
func (f *settingFlags) split(given data.Holdout) data.Holdout {
	if f.Protocol == nil || given != "" {
		return given
	}
	_, split := paper.Protocol(*f.Protocol)
	return data.Holdout(split)
}

func givenTwice(flag codebookFlag) error {
	return data.Inputf("", "%s is given by --%s and as a setting; give it once", flag.key, flag.name)
}

// given is a flag's value, "" where it is not given.
func given[T any](flag *T) string {
	if flag == nil {
		return ""
	}
	return fmt.Sprint(*flag)
}

// seeds are those of a command that fits several times: "42", "42,43,50-52".
type seeds []uint64

// mostSeeds bounds a range, lest a slip of the keyboard fill the memory.
const mostSeeds = 10_000

// UnmarshalText reads numbers and ranges of numbers, separated by commas.
func (s *seeds) UnmarshalText(text []byte) error {
	*s = nil
	for _, part := range strings.Split(string(text), ",") {
		part = strings.TrimSpace(part)
		low, high, ranged := strings.Cut(part, "-")
		first, err := strconv.ParseUint(low, 10, 64)
		last := first
		if err == nil && ranged {
			last, err = strconv.ParseUint(high, 10, 64)
		}
		switch {
		case err != nil || last < first:
			return fmt.Errorf("%q is not a seed or a range of seeds; write a list such as 42,43,50-52", part)
		case last-first >= mostSeeds || uint64(len(*s))+last-first >= mostSeeds:
			return fmt.Errorf("%q makes more than %d seeds", string(text), mostSeeds)
		}
		for seed := first; ; seed++ {
			if slices.Contains(*s, seed) {
				return fmt.Errorf("the list names %d twice", seed)
			}
			*s = append(*s, seed)
			if seed == last {
				break
			}
		}
	}
	return nil
}

// orFirst are the seeds, or where the flag is not given the n from 42.
func (s seeds) orFirst(n int) seeds {
	if s == nil {
		s = data.Each(data.UpTo(n), func(k int) uint64 { return 42 + uint64(k) })
	}
	return s
}

// deviceFlag is of the commands that train or measure.
type deviceFlag struct {
	Device cuda.Choice `default:"cpu" env:"CALIBRA_DEVICE" placeholder:"cpu|auto|cuda" group:"Device and logs:" help:"Where to compute: on the CPU, on an NVIDIA GPU (cuda), or on the GPU if that should be faster (auto) (${default}). An empty CALIBRA_DEVICE counts as not set."`
}

// executor is the one that the flag names; nil is this process.
func (f deviceFlag) executor() (run.Executor, error) {
	e, err := f.Device.Open(func(sentence string) { fmt.Fprintln(os.Stderr, "calibra:", sentence) })
	if err != nil || e == nil {
		return nil, err
	}
	return e, nil
}

// lacksDevice reports whether err is that there is no device, or too little memory on it.
func lacksDevice(err error) bool { return errors.Is(err, cuda.ErrNoDevice) || cuda.OutOfMemory(err) }

// AfterApply holds the flags of whole numbers against the least and the most that they may be, their tags least and
// most: what a number costs in memory and time grows with it, and a slip of the keyboard is soon beyond any machine.
func (e *everywhere) AfterApply(line *kong.Context, t *terminal) error {
	t.quiet = e.Quiet
	for _, flag := range line.Selected().Flags {
		v := reflect.Indirect(flag.Target)
		if !v.IsValid() || v.Type() != reflect.TypeFor[int]() {
			continue // no whole number, or one that is not given
		}
		most, _ := strconv.ParseInt(flag.Tag.Get("most"), 10, 64)
		least, unbounded := strconv.ParseInt(flag.Tag.Get("least"), 10, 64)
		switch n := v.Int(); {
		case n > most:
			return data.Inputf("", "--%s is %d; at most %d are possible", flag.Name, n, most)
		case n < least && unbounded == nil:
			return data.Inputf("", "--%s is %d; it must be at least %d", flag.Name, n, least)
		}
	}
	return nil
}

// boardFlag is of the commands that train.
type boardFlag struct {
	Tensorboard string `type:"output" placeholder:"DIR" group:"Device and logs:" help:"Write losses, gradient norms, learning rates, metrics and settings for TensorBoard while training, each run into its own folder of DIR. tensorboard --logdir DIR shows them."`
}

// board is the one that the flag names, nil for none.
func (f boardFlag) board() *tensorboard.Board { return tensorboard.NewBoard(f.Tensorboard) }
