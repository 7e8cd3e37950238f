package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/study"
)

// sweep is study sweep, whose grid the flags --set name.
func (c *studyCmd) sweep(ctx context.Context, t *terminal, methods *method.Catalog) (*asked, error) {
	if c.Methods == nil {
		return nil, data.Inputf("", "study sweep needs --method; name the method whose settings are varied")
	}
	if err := c.suits(); err != nil {
		return nil, err
	}
	named, err := found(methods, c.Methods)
	if err != nil {
		return nil, err
	}
	s := study.Sweep{Catalog: methods, Methods: namesOf(named), Random: or(c.Random, 0)}
	if s.Swept, s.Fixed, err = c.swept(methods, s.Methods); err != nil {
		return nil, err
	}
	of, err := s.Study()
	if err != nil {
		return nil, err
	}
	origins, inputs, err := c.origins(ctx, t, methods)
	if err != nil {
		return nil, err
	}
	settings := study.Settings{Catalog: methods, Seeds: c.Seeds, Split: c.split(c.Split), Encoder: c.Encoder}
	if settings.Executor, err = c.executor(); err != nil {
		return nil, err
	}
	return c.asked(ctx, t, of, settings, origins, inputs)
}

// swept are the settings with several values, and those with one; the codebook's may be called as their flags. A
// setting that is a list itself takes one value of each --set.
func (c *studyCmd) swept(methods *method.Catalog, names []string) (swept []study.Swept, fixed method.Values, err error) {
	lists, err := listSettings(methods, names)
	if err != nil {
		return nil, nil, err
	}
	short := map[string]string{}
	for _, flag := range c.codebook() {
		short[flag.name] = flag.key
	}
	var all []study.Swept
	single := c.settingFiles()
	for _, text := range c.Set {
		if method.IsSettingsFile(text) {
			continue
		}
		key, values, ok := strings.Cut(text, "=")
		key = strings.TrimSpace(key)
		key = cmp.Or(short[key], key)
		several := strings.Split(values, ",")
		if lists[key] {
			several = []string{values}
		}
		for i := range several {
			several[i] = strings.Join(strings.Fields(several[i]), "")
		}
		at := slices.IndexFunc(all, func(s study.Swept) bool { return s.Key == key })
		if at < 0 {
			at = len(all)
			all = append(all, study.Swept{Key: key})
		}
		for i, value := range several {
			switch {
			case !ok || key == "" || value == "":
				return nil, nil, data.Inputf("", "the setting %q is not KEY=VALUE,VALUE, as codebook.codewords=16,64 is", text)
			case slices.Contains(several[:i], value) || slices.Contains(all[at].Values, value):
				return nil, nil, data.Inputf("", "%s names %s twice; name each value once", key, value)
			}
		}
		all[at].Values = append(all[at].Values, several...)
	}
	for _, s := range all {
		if len(s.Values) > 1 {
			swept = append(swept, s)
		} else {
			single = append(single, s.Key+"="+s.Values[0])
		}
	}
	if swept == nil {
		return nil, nil, data.Inputf("", "study sweep needs a setting with several values; name them as in --set codebook.codewords=16,64")
	}
	for _, flag := range c.codebook() {
		if flag.text != "" && slices.ContainsFunc(swept, func(s study.Swept) bool { return s.Key == flag.key }) {
			return nil, nil, givenTwice(flag)
		}
	}
	flags := c.settingFlags
	flags.Set = single
	fixed, err = flags.read(methods, names)
	c.notice = flags.notice
	return swept, fixed, err
}

// listSettings are the keys of the methods' settings whose value is a list, with the method's name before it too.
func listSettings(methods *method.Catalog, names []string) (map[string]bool, error) {
	lists := map[string]bool{}
	named, err := found(methods, names)
	for _, m := range named {
		for _, k := range m.Settings(method.Options{Catalog: methods}) {
			if strings.HasPrefix(k.Kind, "list") {
				lists[k.Name], lists[m.Name+"."+k.Name] = true, true
			}
		}
	}
	return lists, err
}
