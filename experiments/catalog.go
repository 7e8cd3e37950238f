package experiments

import (
	"fmt"
	"slices"

	"calibra/data"
	"calibra/layers"
)

// Catalog is a list of methods that are looked up by name. Whoever does so is handed one:
// there is no other place where methods are registered. Nil stands for [Methods].
type Catalog struct{ methods []Method }

// NewCatalog is Methods with more at its end. It panics if a name is there twice.
func NewCatalog(more ...Method) *Catalog {
	c := &Catalog{slices.Clone(Methods)}
	for _, m := range more {
		if slices.Contains(c.Names(), m.Name) {
			panic(fmt.Sprintf("experiments: there are two methods named %q", m.Name))
		}
		c.methods = append(c.methods, m)
	}
	return c
}

// List is the methods in order.
func (c *Catalog) List() []Method {
	if c == nil {
		return Methods
	}
	return c.methods
}

// Names lists the names in the catalog's order.
func (c *Catalog) Names() []string {
	var names []string
	for _, m := range c.List() {
		names = append(names, m.Name)
	}
	return names
}

// Title is how tables write the method of that name.
func (c *Catalog) Title(name string) string {
	m, err := c.Find(name)
	if err != nil {
		m.Name = name
	}
	return m.Written()
}

// Find finds a method; an unknown name is a *data.InputError that names the nearest.
func (c *Catalog) Find(name string) (Method, error) {
	for _, m := range c.List() {
		if m.Name == name {
			return m, nil
		}
	}
	return Method{}, data.Unknown("method", name, c.Names())
}

// Load reads a model file and restores the calibrator in it, by the method that the file
// names.
func (c *Catalog) Load(path string) (layers.Stateful, Method, error) {
	file, err := layers.ReadModel(path)
	if err != nil {
		return nil, Method{}, err
	}
	method, err := c.Find(file.Method)
	if err != nil {
		return nil, Method{}, data.Inputf(path, "%w", err)
	}
	model, _, err := method.Build(Options{Values: file.Settings})
	if err != nil {
		return nil, Method{}, data.Inputf(path, "%w", err)
	}
	if err := file.Restore(model); err != nil {
		return nil, Method{}, data.Inputf(path, "%w", err)
	}
	return model, method, nil
}

// MethodByName finds one of [Methods].
func MethodByName(name string) (Method, error) { return (*Catalog)(nil).Find(name) }

// LoadModel reads a model file of one of [Methods].
func LoadModel(path string) (layers.Stateful, Method, error) { return (*Catalog)(nil).Load(path) }
