package method

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/layers"
)

// Catalog is all that commands look up by name: methods, the rules that optim.rule chooses
// from, metrics and raw sources. Whoever does so is handed one: there is no other place where
// these are registered. Nil stands for [Methods] and what this package has besides.
type Catalog struct {
	methods []Method
	rules   []Rule
	metrics []metrics.Own
	sources []data.RawSource
	code    map[string]fs.FS
	others  []Part
}

// Part is an entry of a catalog: a [Method], a [Rule], a [Metric], a [RawSource], or what a command alone knows.
type Part interface{ Join(*Catalog) error }

// Metric is a metric of a module from outside, with the fields of [metrics.Own]: Key, Title,
// HigherIsBetter, and Row or All.
type Metric metrics.Own

// RawSource is raw data that a module from outside knows how to read: NAME:REST. It has the fields
// of [data.RawSource]: Name, Line, and Open.
type RawSource data.RawSource

// Sources are files of Go that the program was compiled from, as go:embed has them, in the folder with the import path
// Path; "" is that of package main. By them a study knows which of its cells the same code computed: without them any
// change of the program is another code for all that a module from outside has part in.
type Sources struct {
	Path  string
	Files fs.FS
}

func (s Sources) Join(c *Catalog) error {
	if c.code[s.Path] != nil || s.Files == nil {
		return fmt.Errorf("the sources of %q need Files, once", s.Path)
	}
	if c.code == nil {
		c.code = map[string]fs.FS{}
	}
	c.code[s.Path] = s.Files
	return nil
}

func (m Method) Join(c *Catalog) error {
	if err := Callable("method", m.Name, c.Names()); err != nil {
		return err
	}
	if m.New == nil {
		return fmt.Errorf("the method %s has no New, which makes its calibrator", m.Name)
	}
	c.methods = append(c.methods, m)
	return nil
}

func (r Rule) Join(c *Catalog) error {
	if err := Callable("rule", r.Name, append(named(c.rules), newton.Name, bisection.Name)); err != nil {
		return err
	}
	if (r.New == nil) == (r.Whole == nil) {
		return fmt.Errorf("the rule %s needs New, which makes a rule of steps, or Whole, which makes a method over all rows", r.Name)
	}
	c.rules = append(c.rules, r)
	return nil
}

func (m Metric) Join(c *Catalog) error {
	if err := metrics.CheckOwn(append(slices.Clone(c.metrics), metrics.Own(m))); err != nil {
		return err
	}
	c.metrics = append(c.metrics, metrics.Own(m))
	return nil
}

func (s RawSource) Join(c *Catalog) error {
	if err := Callable("raw source", s.Name, data.Each(c.sources, func(s data.RawSource) string { return s.Name })); err != nil {
		return err
	}
	if s.Open == nil {
		return fmt.Errorf("the raw source %s has no Open, which reads its rows", s.Name)
	}
	c.sources = append(c.sources, data.RawSource(s))
	return nil
}

// Callable is an error for a name that another part of its kind has, or that flags cannot distinguish from
// several names, a key with its value or a path.
func Callable(kind, name string, others []string) error {
	switch {
	case name == "" || strings.ContainsAny(name, " \t\n,:=/\\"):
		return fmt.Errorf("a %s cannot be named %q: a name is a word without blanks, commas, colons, equals signs and slashes", kind, name)
	case slices.Contains(others, name):
		return fmt.Errorf("there is a %s named %q already; give yours another name", kind, name)
	}
	return nil
}

// NewCatalog is All, and the other parts that this package has, with more at their ends.
// It panics where [JoinCatalog] has an error.
func NewCatalog(more ...Part) *Catalog {
	c, err := JoinCatalog(more...)
	if err != nil {
		panic(err)
	}
	return c
}

// JoinCatalog is [NewCatalog], or an error where a part lacks something, or two have one name.
func JoinCatalog(more ...Part) (*Catalog, error) {
	c := &Catalog{methods: slices.Clone(ours.methods), rules: slices.Clone(ours.rules)}
	for i, part := range more {
		if part == nil {
			return nil, fmt.Errorf("experiments: part %d is nil", i+1)
		}
		if err := part.Join(c); err != nil {
			return nil, fmt.Errorf("experiments: %w", err)
		}
	}
	return c, nil
}

func (c *Catalog) Metrics() []metrics.Own { return c.orOwn().metrics }

func (c *Catalog) RawSources() []data.RawSource { return c.orOwn().sources }

// RulesFromOutside are those of other modules.
func (c *Catalog) RulesFromOutside() []Rule { return c.orOwn().rules[len(ours.rules):] }

// Sources are the files that the program was compiled from, by the import path of their folder.
func (c *Catalog) Sources() map[string]fs.FS { return c.orOwn().code }

// Outside are the parts from outside that have a part in the numbers of a method with the settings of o: the
// calibrator, not fitted, where it or a setting names a method from outside, the rules that settings name, all metrics
// and raw sources.
func (c *Catalog) Outside(name string, o Options) (parts []any, err error) {
	c = c.orOwn()
	named := []string{name}
	for _, value := range o.Values {
		named = append(named, strings.Split(value, ",")...)
	}
	for _, m := range c.methods[len(ours.methods):] {
		if slices.Contains(named, m.Name) {
			whole, err := c.Find(name)
			if err != nil {
				return nil, err
			}
			calibrator, _, err := whole.Build(o)
			if err != nil {
				return nil, err
			}
			parts = append(parts, calibrator)
		}
	}
	for _, r := range c.RulesFromOutside() {
		if slices.Contains(named, r.Name) {
			parts = append(parts, r)
		}
	}
	return append(parts, c.metrics, c.sources), nil
}

// Keep adds a part that the catalog has no lists of, and Others are those that were added.
func (c *Catalog) Keep(p Part) { c.others = append(c.others, p) }

func (c *Catalog) Others() []Part { return c.orOwn().others }

// ours is the catalog of this package, for which nil stands. It is set by init, as its methods look rules up in it.
var ours Catalog

func init() { ours = Catalog{methods: All, rules: rules} }

func (c *Catalog) orOwn() *Catalog {
	if c == nil {
		return &ours
	}
	return c
}

// List is the methods in order.
func (c *Catalog) List() []Method { return c.orOwn().methods }

// Grouped are the methods in the order of lists: the recommended one, the paper's, baselines, variants, controls.
func (c *Catalog) Grouped() []Method {
	return slices.SortedStableFunc(slices.Values(c.List()), func(a, b Method) int {
		return slices.Index(groups, a.Group) - slices.Index(groups, b.Group)
	})
}

// Recommended is the method to take where nothing is known, and what commands and Python fit where none is named.
func (c *Catalog) Recommended() Method {
	all := c.List()
	return all[slices.IndexFunc(all, func(m Method) bool { return m.Group == Recommended })]
}

// Names lists the names in the catalog's order.
func (c *Catalog) Names() []string {
	return data.Each(c.List(), func(m Method) string { return m.Name })
}

// Title is how tables write the method of that name.
func (c *Catalog) Title(name string) string {
	m, err := c.Find(name)
	if err != nil {
		m.Name = name
	}
	return m.written()
}

// Find finds a method by its name; an unknown name is a *data.InputError that names the nearest.
func (c *Catalog) Find(name string) (Method, error) {
	for _, m := range c.List() {
		if m.Name == name {
			return m, nil
		}
	}
	return Method{}, data.Inputf("", "%w; calibra methods --all lists all", data.Unknown("method", name, c.Names()))
}

// Load reads a model file and restores the calibrator in it, by the method that the file
// names.
func (c *Catalog) Load(path string) (layers.Stateful, Method, error) {
	file, err := layers.ReadModel(path)
	if err != nil {
		return nil, Method{}, err
	}
	const byWhom = "%w; a model with parts of a module from outside is read by the program of that module"
	method, err := c.Find(file.Method)
	if err != nil {
		return nil, Method{}, data.Inputf(path, byWhom, err)
	}
	model, _, err := method.Build(Options{Catalog: c, Values: file.Settings})
	if err != nil {
		return nil, Method{}, data.Inputf(path, byWhom, err)
	}
	if err := file.Restore(model); err != nil {
		return nil, Method{}, data.Inputf(path, "%w", err)
	}
	return model, method, nil
}

// Find finds one of [Methods].
func Find(name string) (Method, error) { return (*Catalog)(nil).Find(name) }

// Load reads a model file of one of [Methods], model.safetensors of a run.
func Load(path string) (layers.Stateful, Method, error) { return (*Catalog)(nil).Load(path) }
