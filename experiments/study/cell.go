package study

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/program"
	"calibra/experiments/run"
	"calibra/experiments/source"
)

// Settings are the settings of a whole study.
type Settings struct {
	Catalog *method.Catalog // where methods are looked up; nil: method.All
	// Executor is where fits and kernel sums run; nil: in this process.
	Executor run.Executor
	Seeds    []uint64     // in any order; cells, sums and tests take them ascending
	Split    data.Holdout // "" is each method's own
	// Shift is the shift of the cells that are judged on shifted rows; "" means the first that
	// the data offer.
	Shift source.Shift
	// Methods restricts the study to some of its methods; nil means all.
	Methods []string
	// Folds divide one labelled set, and Within says which rows stay in one fold; 0 if rows are divided already.
	Folds  int
	Within run.Within
	// Encoder is the network that raw rows are encoded by; "" means the first of each data set.
	Encoder string
	// Set holds settings of each method.
	Set map[string]method.Values
}

// Cell is one Spec on one origin.
type Cell struct {
	Spec   run.Spec
	Key    string // of its files
	Code   string // digest of the code that computes it; "": any change of the program is another
	Origin *source.Origin
	Cost   float64 // seconds it is expected to take

	training float64 // seconds of the network, in the cell that is expected to wait for it
}

// String names the cell: "letter vq w=64 |C|=64 seed 42".
func (c Cell) String() string {
	text := c.Spec.Data
	if c.Spec.Encoder != "" {
		text += "/" + c.Spec.Encoder
	}
	text += " " + c.Spec.Method
	if w := c.Spec.Slots(); w > 0 {
		text += fmt.Sprintf(" w=%d |C|=%d", w, c.Spec.Codewords())
	}
	if others := c.Spec.Others(); others != "" {
		text += " " + others
	}
	if c.Spec.Fraction > 0 {
		text += fmt.Sprintf(" on %g %%", 100*c.Spec.Fraction)
	}
	if c.Spec.Shift != "" {
		text += ", shift " + string(c.Spec.Shift)
	}
	return fmt.Sprintf("%s seed %d", text, c.Spec.Seed)
}

// Skipped is a cell that its data rule out.
type Skipped struct {
	Data, Why string
}

// Cells lists the study's grid on the origins: origin by origin, seed by seed, so that what cells share is made once.
// Origins that tables would name alike are a *data.InputError.
func (s *Study) Cells(ctx context.Context, origins []*source.Origin, set Settings) (cells []Cell, skipped []Skipped, err error) {
	code := program.NewCode(set.Catalog.Sources())
	for i, o := range origins {
		sameTitle := func(other *source.Origin) bool {
			return other.Dataset == o.Dataset && other.Backbone == o.Backbone
		}
		if slices.ContainsFunc(origins[:i], sameTitle) {
			return nil, nil, data.Inputf("", "two of the data are %s to a table; name them once, or rename a file to DATASET-BACKBONE", (&subject{encoded: encoded{origin: o}}).Title())
		}
		grid := s.grid(o, set)
		if len(grid) == 0 {
			continue
		}
		for k := range o.Encoders { // but MLPs, which need float64
			o.Encoders[k].Optim.Executor = set.Executor
		}
		size, err := o.Size(ctx, set.Encoder)
		if err != nil {
			return nil, nil, err
		}
		for at, seed := range slices.Sorted(slices.Values(set.Seeds)) {
			for _, spec := range grid {
				spec.Seed = seed
				cell, why, err := s.cell(o, spec, size, set, grid)
				cell.Code = codeOf(cell.Spec, size.Features, code)
				switch {
				case err != nil:
					return nil, nil, err
				case why == "":
					cells = append(cells, cell)
				case at == 0:
					skipped = append(skipped, Skipped{o.Name, why})
				}
			}
		}
	}
	skipped = slices.Compact(skipped)
	return cells, skipped, nil
}

// cell is that of a Spec of the grid, with all filled in that the study leaves open, or why the
// data rule it out.
func (s *Study) cell(o *source.Origin, spec run.Spec, size source.Size, set Settings, grid []run.Spec) (c Cell, why string, err error) {
	if o.Encoders != nil {
		spec.Encoder = cmp.Or(set.Encoder, o.Encoders[0].Name)
	}
	spec.Data, spec.Split, spec.Catalog, spec.Executor = o.Name, set.Split, set.Catalog, set.Executor
	if spec.Shift != "" && set.Shift != "" {
		spec.Shift = set.Shift
		if !slices.Contains(o.Shifts, set.Shift) {
			return c, "", source.NoShift(o.Name, set.Shift, o.Shifts)
		}
	}
	method, err := set.Catalog.Find(spec.Method)
	if err != nil {
		return c, "", err
	}
	if set.Split == "" {
		spec.Split = method.Split()
	}
	if spec.Judging = s.Judging; spec.Judging == (run.Judging{}) {
		spec.Judging = usual(spec)
	}
	spec.Judging.Split, spec.Judging.Folds, spec.Judging.Within = set.together(grid), set.Folds, set.Within
	for _, key := range set.Set[spec.Method].Names() {
		if own := spec.Value(key); own != "" && own != set.Set[spec.Method][key] {
			return c, "", data.Inputf("", "study %s sets %s itself; leave it out, or name its values to study sweep", s.Name, key)
		}
	}
	if err := spec.Use(set.Set[spec.Method]); err != nil {
		return c, "", err
	}
	if method.Divides() {
		if spec, err = sized(spec, method, size.Features); err != nil {
			return c, "", err
		}
		if w := spec.Slots(); size.Features%w != 0 {
			return c, fmt.Sprintf("%d slots do not divide its %d features", w, size.Features), nil
		}
	}
	return Cell{Spec: spec, Key: key(spec, o.DigestOf(spec.Seed)), Origin: o, Cost: overhead + spec.Expected(size)*float64(max(1, set.Folds)), training: o.Training(size, spec.Encoder)}, "", nil
}

// Shifted reports whether any cell of the study's grid on the origins is judged on shifted rows.
func (s *Study) Shifted(origins []*source.Origin, set Settings) bool {
	return slices.ContainsFunc(origins, func(o *source.Origin) bool {
		return slices.ContainsFunc(s.grid(o, set), func(spec run.Spec) bool { return spec.Shift != "" })
	})
}

// MethodNames are the methods of the study's grid on the origins.
func (s *Study) MethodNames(origins []*source.Origin, set Settings) []string {
	var names []string
	for _, o := range origins {
		for _, spec := range s.grid(o, set) {
			names = append(names, spec.Method)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// overhead is what a cell takes besides its fit and its metrics, in seconds.
const overhead = .05

// grid is the study's on the origin, of the methods that set names; where its rows are
// methods, those that it has not are added at its end, each as the method that has the fewest Specs
// and as far as it has their settings.
func (s *Study) grid(o *source.Origin, set Settings) []run.Spec {
	grid := s.Grid(o)
	if s.Name == optimizersName {
		grid = withRules(grid, set.Catalog)
	}
	if set.Methods == nil || len(grid) == 0 {
		return grid
	}
	if s.varies(byMethod) {
		of := map[string][]run.Spec{}
		for _, spec := range grid {
			of[spec.Method] = append(of[spec.Method], spec)
		}
		like := of[grid[0].Method]
		for _, spec := range grid {
			if specs := of[spec.Method]; len(specs) < len(like) {
				like = specs
			}
		}
		for _, name := range set.Methods {
			if of[name] != nil {
				continue
			}
			for _, spec := range like {
				spec.Method, spec.Catalog = name, set.Catalog
				if spec.Possible() {
					grid = append(grid, spec)
				}
			}
		}
	}
	return slices.DeleteFunc(grid, func(spec run.Spec) bool { return !slices.Contains(set.Methods, spec.Method) })
}

// varies reports whether a field distinguishes the rows of its tables.
func (s *Study) varies(f Field) bool {
	return slices.ContainsFunc(s.Vary, func(other Field) bool { return other.Head == f.Head })
}

// together is what the problems are prepared by where each method has a split of its own: the
// one that sets rows aside, if any method needs it.
func (set Settings) together(grid []run.Spec) data.Holdout {
	if set.Split != "" {
		return ""
	}
	for _, spec := range grid {
		if m, err := set.Catalog.Find(spec.Method); err == nil && m.StopsEarly {
			return data.PaperText
		}
	}
	return data.NoValidation
}

// sized is the Spec with the sizes that the study leaves open filled in for features.
func sized(spec run.Spec, m method.Method, features int) (run.Spec, error) {
	values, err := method.ParseValues(spec.Set)
	if err != nil {
		return spec, err
	}
	_, keys, err := m.Build(method.Options{Catalog: spec.Catalog, Values: values, Features: features})
	return spec.Resolve(keys), err
}

// keyDigits are those of a cell's key.
const keyDigits = 20

// key is the hash of all that a cell's numbers depend on besides the program, which the
// result itself names: see [Store].
func key(spec run.Spec, digest string) string {
	text, err := json.Marshal(struct {
		Digest string
		Spec   run.Spec
	}{digest, spec})
	if err != nil {
		panic("study: a value that is no JSON: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:keyDigits]
}
