package method

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"calibra/data"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// ReadValues reads settings as a command gets them: KEY=VALUE each, or YAML files of keys and values, whose groups may
// be nested. What is given by KEY=VALUE wins.
func ReadValues(set []string) (Values, error) {
	v := Values{}
	for _, path := range set {
		if !IsSettingsFile(path) {
			continue
		}
		tree, err := readSettings(path)
		if err != nil {
			return nil, err
		}
		if err := v.flatten(path, "", tree); err != nil {
			return nil, err
		}
	}
	given := map[string]bool{}
	for _, s := range set {
		if IsSettingsFile(s) {
			continue
		}
		key, value, ok := strings.Cut(s, "=")
		switch key = strings.TrimSpace(key); {
		case !ok || key == "":
			return nil, data.Inputf("", "the setting %q is not KEY=VALUE, as optim.rate=3e-4 is", s)
		case given[key]:
			return nil, data.Inputf("", "the setting %s is given twice", key)
		}
		v[key], given[key] = value, true
	}
	return v, nil
}

// IsSettingsFile reports whether what --set is given is a YAML file.
func IsSettingsFile(arg string) bool {
	return !strings.Contains(arg, "=") && (strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml"))
}

// flatten adds a tree of settings, its groups joined by dots.
func (v Values) flatten(path, group string, tree map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		key := group + name
		text := ""
		switch value := tree[name].(type) {
		case map[string]any:
			if err := v.flatten(path, key+".", value); err != nil {
				return err
			}
			continue
		case []any:
			text = strings.Join(data.Each(value, func(part any) string { return fmt.Sprint(part) }), ",")
		case nil:
			return data.Inputf(path, "%s has no value", key)
		default:
			text = fmt.Sprint(value)
		}
		if _, twice := v[key]; twice {
			return data.Inputf(path, "gives %s twice", key)
		}
		v[key] = text
	}
	return nil
}

// ParseValues reads "optim.rate=3e-4 divide.epochs=200".
func ParseValues(text string) (Values, error) { return ReadValues(strings.Fields(text)) }

// String is the text that ParseValues reads, keys in alphabetical order.
func (v Values) String() string {
	return strings.Join(data.Each(v.Names(), func(key string) string {
		return key + "=" + strings.Join(strings.Fields(v[key]), "")
	}), " ")
}

// Names lists the keys in alphabetical order.
func (v Values) Names() []string { return slices.Sorted(maps.Keys(v)) }

// With is v with more settings, which replace those of v.
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
	if err != nil || len(unread) == 0 {
		return out, err
	}
	key := unread[0]
	if key == MembersKey {
		return nil, drawsNothing(names[0])
	}
	soft := v.With(Values{"codebook.softness": "1"})
	for _, name := range names {
		if m, err := c.Find(name); key == nearestKey && err == nil && m.Has(key, soft) {
			return nil, errNotSoft
		}
	}
	whose := names[0] + " has no"
	if rule := v["optim.rule"]; rule != "" && strings.HasPrefix(key, optimPrefix) {
		whose = names[0] + " with optim.rule=" + rule + " has no"
	}
	if last := len(names) - 1; last > 0 {
		whose = "none of " + strings.Join(names[:last], ", ") + " and " + names[last] + " has a"
	}
	elsewhere := ""
	if i := slices.IndexFunc(c.List(), func(m Method) bool { return m.Has(key, v) }); i >= 0 {
		elsewhere = ", which " + c.List()[i].Name + " has"
	}
	slices.Sort(known)
	return nil, unknownKey(strings.Join(names, ", "), whose, key, elsewhere, slices.Compact(known))
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
		all := maps.Clone(v)
		for key, text := range v {
			if rest, ok := strings.CutPrefix(key, name+"."); ok {
				all[rest] = text
			}
		}
		mine := Values{}
		for _, k := range m.Settings(Options{Catalog: c, Values: all}) {
			known, used[k.Name], used[name+"."+k.Name] = append(known, k.Name), true, true
			if text, given := all[k.Name]; given {
				mine[k.Name] = text
			}
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
	return out, slices.DeleteFunc(v.Names(), func(key string) bool { return used[key] }), known, nil
}

// optimPrefix begins the settings of optimizers.
const optimPrefix = "optim."

// unknownKey is the error about a setting that none of the methods has, whose settings are known; whose is the sentence
// up to the word setting, and elsewhere says where there is one.
func unknownKey(methods, whose, key, elsewhere string, known []string) error {
	optimizes := func(key string) bool { return strings.HasPrefix(key, optimPrefix) }
	if optimizes(key) && !slices.ContainsFunc(known, optimizes) {
		return data.Inputf("", "%s: no optimizer is at work, the fit is in closed form or counts; leave %s out", methods, key)
	}
	hint := ""
	if near := data.Nearest(key+elsewhere, known); near != "" {
		hint = "did you mean " + near + "? "
	}
	return data.Inputf("", "%s setting %s%s; %scalibra methods NAME lists what a method has", whose, key, elsewhere, hint)
}

// mostDepth is how deep groups of settings may be nested in a file.
const mostDepth = 8

// readSettings reads a file of settings. It is looked through before it is decoded: a decoder
// of YAML takes more memory than there is for files that are made to that end.
func readSettings(path string) (map[string]any, error) {
	text, err := data.ReadSmall(path, data.MostSettings)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if err := checkSettings(text); err != nil {
		return nil, data.Inputf(path, "%w", err)
	}
	tree := map[string]any{}
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, data.Inputf(path, "is not YAML of settings: %s", yaml.FormatError(err, false, false))
	}
	return tree, nil
}

// checkSettings returns an error unless text is one document of groups that are nested no
// deeper than mostDepth and named by no anchors.
func checkSettings(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("is not YAML of settings: it is no text in UTF-8; save it so")
	}
	flow := 0         // brackets that are open
	var columns []int // of the block groups that are open
	begun := false
	var before *token.Token
	for _, t := range lexer.Tokenize(string(text)) {
		at := t.Position
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return fmt.Errorf("has %s in line %d: settings have no anchors and no aliases; write the values out", t.Value, at.Line)
		case token.DocumentHeaderType, token.DocumentEndType:
			if begun && t.Type == token.DocumentHeaderType {
				return fmt.Errorf("has a second document in line %d; settings are one", at.Line)
			}
			continue
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
			if t.Type == token.MappingValueType && before != nil {
				at = before.Position // of the key
			}
			if flow == 0 {
				for len(columns) > 0 && columns[len(columns)-1] >= at.Column {
					columns = columns[:len(columns)-1]
				}
				columns = append(columns, at.Column)
			}
		}
		if flow+len(columns) > mostDepth {
			return fmt.Errorf("has groups of settings deeper than %d in line %d; a setting is KEY: VALUE, as in optim.rate: 3e-4", mostDepth, at.Line)
		}
		begun = begun || t.Type != token.CommentType && t.Type != token.DirectiveType
		before = t
	}
	return nil
}
