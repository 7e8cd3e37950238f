package experiments

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"calibra/data"
)

// ReadValues reads settings as a command gets them: KEY=VALUE each.
func ReadValues(set []string) (Values, error) {
	v := Values{}
	for _, s := range set {
		key, value, ok := strings.Cut(s, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" {
			return nil, data.Inputf("", "the setting %q is not KEY=VALUE, as optim.rate=3e-4 is", s)
		}
		if _, twice := v[key]; twice {
			return nil, data.Inputf("", "the setting %s is given twice", key)
		}
		v[key] = value
	}
	return v, nil
}

// ParseValues reads "optim.rate=3e-4 divide.epochs=200".
func ParseValues(text string) (Values, error) { return ReadValues(strings.Fields(text)) }

// String is what ParseValues reads, keys in alphabetical order.
func (v Values) String() string {
	return strings.Join(data.Each(v.Names(), func(key string) string {
		return key + "=" + strings.Join(strings.Fields(v[key]), "")
	}), " ")
}

// Names lists the keys in alphabetical order.
func (v Values) Names() []string { return slices.Sorted(maps.Keys(v)) }

// With is v with more settings, which win.
func (v Values) With(more Values) Values {
	all := Values{}
	maps.Copy(all, v)
	maps.Copy(all, more)
	return all
}

// Divide gives each of the named methods its settings: a key that it has, or one that
// begins with its name and a dot, which wins ("vq.optim.rate" is the optim.rate of vq
// alone). A key that none of them has is a *data.InputError.
func (c *Catalog) Divide(v Values, names []string) (map[string]Values, error) {
	out, unread, known, err := c.divide(v, names)
	if err != nil || unread == nil {
		return out, err
	}
	key := unread[0]
	if key == MembersKey {
		return nil, drawsNothing(names[0])
	}
	if strings.HasPrefix(key, optimPrefix) && !slices.ContainsFunc(known, func(name string) bool { return strings.HasPrefix(name, optimPrefix) }) {
		return nil, takesNoOptimizer(strings.Join(names, ", "), key)
	}
	slices.Sort(known)
	whose := names[0] + " has no"
	if rule := v["optim.rule"]; rule != "" && strings.HasPrefix(key, optimPrefix) {
		whose = names[0] + " with optim.rule=" + rule + " has no"
	}
	if last := len(names) - 1; last > 0 {
		whose = "none of " + strings.Join(names[:last], ", ") + " and " + names[last] + " has a"
	}
	if i := slices.IndexFunc(c.List(), func(m Method) bool { return m.Has(key, v) }); i >= 0 {
		key += ", which " + c.List()[i].Name + " has"
	}
	return nil, unknownKey(whose, key, slices.Compact(known))
}

// Unread are the keys that Divide refuses, in alphabetical order.
func (c *Catalog) Unread(v Values, names []string) ([]string, error) {
	_, unread, _, err := c.divide(v, names)
	return unread, err
}

// divide is Divide without its error about keys that none has: these are unread; known are all that there are.
func (c *Catalog) divide(v Values, names []string) (out map[string]Values, unread, known []string, err error) {
	out, used := map[string]Values{}, map[string]bool{}
	for _, name := range names {
		m, err := c.Find(name)
		if err != nil {
			return nil, nil, nil, err
		}
		own := Values{}
		for key, text := range v {
			if rest, ok := strings.CutPrefix(key, name+"."); ok {
				own[rest] = text
			}
		}
		mine, keys := m.own(c, v.With(own))
		for _, k := range keys {
			known = append(known, k.Name)
			used[k.Name], used[name+"."+k.Name] = true, true
		}
		if len(mine) > 0 {
			out[name] = mine
		}
		if _, _, err := m.Build(Options{Catalog: c, Values: mine}); err != nil {
			if len(names) > 1 {
				err = fmt.Errorf("%s: %w", name, err)
			}
			return nil, nil, nil, err
		}
	}
	for _, key := range v.Names() {
		if !used[key] {
			unread = append(unread, key)
		}
	}
	return out, unread, known, nil
}

// optimPrefix begins the settings of optimizers.
const optimPrefix = "optim."

// takesNoOptimizer is the error about a setting of optimizers where no method has any.
func takesNoOptimizer(whose, key string) error {
	return data.Inputf("", "%s: no optimizer is at work, the fit is in closed form or counts; leave %s out", whose, key)
}

// unknownKey is the error about a setting that nobody asked for; whose is the
// sentence up to the word setting.
func unknownKey(whose, key string, known []string) error {
	hint := ""
	if near := data.Nearest(key, known); near != "" {
		hint = "did you mean " + near + "? "
	}
	return data.Inputf("", "%s setting %s; %scalibra methods NAME lists what a method has", whose, key, hint)
}
