package data

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names are what a file calls classes and features, nil where it does not. It holds them as text
// beside its rows: class_names (C), in the order of the columns of logits and of the labels
// 0…C−1, and feature_names (M). Labels may be text themselves: names of class_names or, without
// it, the classes in ascending order (numbers ascend as numbers).
type Names struct{ Classes, Features []string }

// textArray reads the N texts of the array key.
func (a *archive) textArray(key string) (text []string, err error) {
	err = a.read(key, func(h *header, r io.Reader) error {
		if len(h.shape) != 1 || !h.text() {
			return fmt.Errorf("has shape %s and dtype %.20q; it has one axis, a text in each place", shapeString(h.shape), h.dtype)
		}
		text, err = h.texts(r)
		return err
	})
	return text, err
}

// name finds the names: given ones, as a model was fitted with, which those of the file must be,
// those of the file, or the classes that its labels of text name.
func (a *archive) name(given Names) (err error) {
	a.names = given
	if a.has("feature_names") {
		if a.names.Features, err = a.textArray("feature_names"); err != nil {
			return err
		}
		if err := differ(a.path, "feature", a.names.Features, given.Features); err != nil {
			return err
		}
	}
	if a.has("class_names") {
		names, err := a.textArray("class_names")
		if err != nil {
			return err
		}
		if err := differ(a.path, "class", names, given.Classes); err != nil {
			return err
		}
		sorted := slices.Sorted(slices.Values(names))
		if len(slices.Compact(sorted)) != len(names) {
			return Inputf(a.path, "class_names holds a name twice; every class has its own")
		}
		a.names.Classes = names
	}
	if a.names.Classes == nil {
		a.names.Classes, err = a.labelNames()
	}
	return err
}

// labelNames are the classes that labels of text name, in ascending order; nil if there are none.
func (a *archive) labelNames() (classes []string, err error) {
	var all []string
	for _, key := range a.keys {
		if key != "labels" && !strings.HasSuffix(key, "_labels") {
			continue
		}
		h, err := a.anyHeader(key)
		if err != nil || !h.text() {
			continue // whoever reads the labels says what is wrong
		}
		text, err := a.textArray(key)
		if err != nil {
			return nil, err
		}
		if i := slices.Index(text, ""); i >= 0 {
			return nil, Inputf(a.path, "%s has no name at row %d; give it one or leave the row out", key, i)
		}
		all = append(all, text...)
	}
	if all != nil {
		classes, _ = encode(all)
	}
	return classes, nil
}

// Numbered tells whether the names are the numbers 0…C−1, in order.
func Numbered(names []string) bool { return slices.Equal(names, Numerals(len(names))) }

// Numerals are the names "0" … "n−1".
func Numerals(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}

// ReadFeatureNames reads feature_names (M) of the npz file at path, nil if it has none.
func ReadFeatureNames(path string) ([]string, error) {
	return within(path, func(a *archive) ([]string, error) {
		if !a.has("feature_names") {
			return nil, nil
		}
		return a.textArray("feature_names")
	})
}

// differ returns an *InputError unless the names that a file gives are those that are known, if any
// are.
func differ(path, of string, names, known []string) error {
	if known == nil || names == nil || slices.Equal(names, known) {
		return nil
	}
	if len(names) != len(known) {
		return Inputf(path, "has %d names of a %s and the model %d", len(names), of, len(known))
	}
	i := 0
	for names[i] == known[i] {
		i++
	}
	return Inputf(path, "names %s %d %s and the model was fitted with %s there; put columns and names in the model's order", of, i, printable(names[i]), printable(known[i]))
}

// numbered is the numbers of the classes that labels of text name.
func (a *archive) numbered(key string, text []string) ([]int, error) {
	number := make(map[string]int, len(a.names.Classes))
	for k, name := range a.names.Classes {
		number[name] = k
	}
	labels := make([]int, len(text))
	for i, name := range text {
		k, known := number[name]
		if !known {
			const most = 8
			shown := make([]string, min(most, len(a.names.Classes)))
			for j := range shown {
				shown[j] = printable(a.names.Classes[j])
			}
			return nil, Inputf(a.path, "%s says %s at row %d, which is none of the %d classes %s", key, printable(name), i, len(a.names.Classes), strings.Join(shown, ", "))
		}
		labels[i] = k
	}
	return labels, nil
}

// checkNames holds the number of names against the columns of logits.
func (a *archive) checkNames(columns int) error {
	if columns == 0 || a.names.Classes == nil || len(a.names.Classes) == columns {
		return nil
	}
	if a.has("class_names") {
		return Inputf(a.path, "class_names has %d names and logits have %d columns; they must have the same", len(a.names.Classes), columns)
	}
	return Inputf(a.path, "labels name %d classes and logits have %d columns; add class_names, the names in the order of the columns", len(a.names.Classes), columns)
}

// harmless is the character, but for one that a terminal or a browser would obey.
func harmless(c rune) rune {
	if unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) {
		return utf8.RuneError
	}
	return c
}

// texts reads all elements of kind 'U' (UTF-32) or 'S' (bytes) without the zeros that fill them.
func (h *header) texts(r io.Reader) ([]string, error) {
	out := make([]string, h.shape[0])
	if h.size == 0 { // every text is empty
		return out, nil
	}
	err := h.chunks(r, len(out), func(at int, b []byte) {
		for i := range len(b) / h.size {
			element := b[i*h.size : (i+1)*h.size]
			if h.kind == 'S' {
				out[at+i] = strings.ToValidUTF8(strings.TrimRight(string(element), "\x00"), "?")
				continue
			}
			var text strings.Builder
			for k := 0; k < len(element); k += 4 {
				c := rune(h.order.Uint32(element[k:]))
				if c == 0 {
					break
				}
				if !utf8.ValidRune(c) {
					c = utf8.RuneError
				}
				text.WriteRune(c)
			}
			out[at+i] = text.String()
		}
		for i := range len(b) / h.size {
			out[at+i] = strings.Map(harmless, out[at+i])
		}
	})
	return out, err
}
