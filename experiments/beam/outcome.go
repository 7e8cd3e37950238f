package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"fmt"
	"os"
	"reflect"
	"slices"

	"calibra/data"
	"calibra/experiments/cli"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
)

// Outcome is what became of one element: its name, and why it failed or "".
type Outcome struct {
	Number int64  `json:"number"`
	Name   string `json:"name"`
	Error  string `json:"error,omitempty"`
}

// Outcomes are those of many elements, by their numbers.
type Outcomes struct{ All []Outcome }

// outcome is that of an element: what would exit with the code of wrong input is its failure;
// anything else may be the machine's and goes to the runner, which tries the element again
// where it can.
func outcome(number int64, name string, err error) (Outcome, error) {
	one := Outcome{Number: number, Name: name}
	switch cli.ExitCode(err) {
	case 0:
		return one, nil
	case 2:
		one.Error = err.Error()
		if wrong, ok := err.(*data.InputError); ok && base(wrong.Path) == base(name) { // the name is told already
			one.Error = wrong.Err.Error()
		}
		return one, nil
	}
	return Outcome{}, fmt.Errorf("%s: %w", name, err)
}

// collectFn gathers outcomes, each element's once however often it was delivered.
type collectFn struct{}

func (collectFn) AddInput(all Outcomes, one Outcome) Outcomes {
	return collectFn{}.MergeAccumulators(all, Outcomes{[]Outcome{one}})
}

func (collectFn) MergeAccumulators(a, b Outcomes) Outcomes {
	all := slices.Concat(a.All, b.All)
	slices.SortStableFunc(all, func(x, y Outcome) int { return cmp.Compare(x.Number, y.Number) })
	return Outcomes{slices.CompactFunc(all, func(x, y Outcome) bool { return x.Number == y.Number })}
}

// writeOutcomesFn writes outcomes to a file that the program which runs the pipeline
// reads.
type writeOutcomesFn struct{ Path string }

func (f *writeOutcomesFn) ProcessElement(ctx context.Context, all Outcomes) error {
	return storeGob(ctx, f.Path, all)
}

// Lists travel as gob, whose bytes runners in other languages leave alone: Java and Go do not
// agree on rows that hold lists.
func encodeOutcomes(all Outcomes) ([]byte, error)  { return encoded(all) }
func decodeOutcomes(text []byte) (Outcomes, error) { return decoded[Outcomes](text) }

func encoded(v any) ([]byte, error) {
	var out bytes.Buffer
	err := gob.NewEncoder(&out).Encode(v)
	return out.Bytes(), err
}

func decoded[T any](text []byte) (v T, err error) {
	err = gob.NewDecoder(bytes.NewReader(text)).Decode(&v)
	return v, err
}

func init() {
	beam.RegisterCoder(reflect.TypeFor[Outcomes](), encodeOutcomes, decodeOutcomes)
	register.DoFn2x2[context.Context, Shard, Outcome, error](&applyFn{})
	register.DoFn2x2[context.Context, Shard, Outcome, error](&cellFn{})
	register.DoFn2x2[context.Context, Shard, Outcome, error](&generateFn{})
	register.Combiner2[Outcomes, Outcome](&collectFn{})
	register.DoFn2x1[context.Context, Outcomes, error](&writeOutcomesFn{})
}

// each runs a pipeline in which fn makes an outcome of each element, and gives those that failed
// and how many there are.
func each(ctx context.Context, elements []Shard, fn any, temp string) (failed []Outcome, of int, err error) {
	text, err := result(ctx, temp, func(path string) *beam.Pipeline {
		p, s := beam.NewPipelineWithRoot()
		outcomes := beam.ParDo(s, fn, beam.Reshuffle(s, beam.CreateList(s, elements)))
		beam.ParDo0(s, &writeOutcomesFn{path}, beam.Combine(s, &collectFn{}, outcomes))
		return p
	})
	if err != nil {
		return nil, 0, err
	}
	outcomes, err := decodeOutcomes(text)
	all := outcomes.All
	return slices.DeleteFunc(slices.Clone(all), func(o Outcome) bool { return o.Error == "" }), len(all), err
}

// tempFlag is of all commands, as all pipelines end in a file.
type tempFlag struct {
	Temp string `placeholder:"DIR" help:"Directory that workers and this program see, such as gs://bucket/temp; needed where workers run elsewhere."`
}

// elsewhere reports whether Beam's flags have the workers run outside of this process.
func elsewhere() bool {
	switch *runners.Runner {
	case "direct":
		return false
	case "", "prism":
		return *jobopts.EnvironmentType+*jobopts.Endpoint != "" && !jobopts.IsLoopback()
	case "dataflow":
		return true
	}
	return !jobopts.IsLoopback()
}

// result runs the pipeline that build makes, and reads the file that it writes below temp,
// which is removed then; "" is a directory of this machine, where the pipeline runs too.
func result(ctx context.Context, temp string, build func(path string) *beam.Pipeline) ([]byte, error) {
	switch {
	case *jobopts.Async:
		return nil, data.Inputf("", "--async waits for no result; leave it out")
	case temp == "" && elsewhere():
		return nil, data.Inputf("", "the workers run elsewhere and cannot give their results to this program; name a directory that both see by --temp")
	}
	local, err := os.MkdirTemp("", "calibra-beam-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(local)
	if temp == "" {
		temp = local
	}
	path := join(temp, base(local)+".gob") // a name of its own
	defer remove(context.WithoutCancel(ctx), path)
	log.LogLevel = "warn" // what Beam prints besides is of no use to who reads results
	beam.Init()
	if err := beamx.Run(ctx, build(path)); err != nil {
		return nil, fmt.Errorf("the pipeline failed: %w", err)
	}
	read, err := fetched(ctx, path, local)
	if err != nil {
		return nil, err
	}
	return data.ReadFile(read)
}

// failures is the error of elements that failed, nil without one; each is named on stderr.
func failures(failed []Outcome, of int, what string) error {
	for _, o := range failed {
		fmt.Fprintf(os.Stderr, "calibra-beam: failed: %s: %s\n", o.Name, o.Error)
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d %s failed, named above; mend what is said of them and run the same command again", len(failed), of, what)
	}
	return nil
}
