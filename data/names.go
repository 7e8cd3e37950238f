package data

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Names are a file's names of classes and features, nil if it has none. It holds them as text
// beside its rows: class_names (C), in the order of the columns of logits and of the labels
// 0…C−1, and feature_names (M). Labels may be text themselves: names of class_names or, without
// it, the classes in ascending order (numbers ascend as numbers).
type Names struct{ Classes, Features []string }

// texts reads the N texts of the array key, nil if it is not there.
func (a *archive) texts(key string) ([]string, error) {
	if !a.has(key) {
		return nil, nil
	}
	e, err := a.entry(key)
	if err != nil {
		return nil, err
	}
	return e.texts()
}

func (e *entry) texts() (text []string, err error) {
	if len(e.shape) != 1 || !e.text() {
		return nil, e.fault("has shape %s and dtype %.20q; it has one axis, a text in each place", shapeString(e.shape), e.dtype)
	}
	err = e.read(func(r io.Reader) error {
		text = make([]string, e.shape[0])
		return e.strings(r, text)
	})
	return text, err
}

// name finds the names: given ones, as a model was fitted with, which those of the file must be,
// those of the file, or the classes that its labels of text name.
func (a *archive) name(given Names) (err error) {
	a.names = given.plain()
	for i, known := range []*[]string{&a.names.Features, &a.names.Classes} {
		of := [...]string{"feature", "class"}[i]
		names, err := a.texts(of + "_names")
		if err == nil {
			err = differ(a.path, of, names, *known)
		}
		if err != nil {
			return err
		}
		if names != nil {
			*known = names
		}
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(a.names.Classes))); len(distinct) != len(a.names.Classes) {
		return Inputf(a.path, "class_names holds a name twice; every class has its own")
	}
	if a.names.Classes == nil {
		err = a.nameByLabels()
	}
	return err
}

// labelNames are the classes that labels of text name, in the order of the file; nil if there are none.
func (a *archive) labelNames() (classes []string, err error) {
	seen := map[string]bool{}
	for _, key := range a.keys {
		if key != "labels" && !strings.HasSuffix(key, "_labels") {
			continue
		}
		e, err := a.entry(key)
		if err != nil || !e.text() {
			continue // whoever reads the labels returns the error
		}
		text, err := e.texts()
		if err != nil {
			return nil, err
		}
		if unnamed(text) {
			continue
		}
		if i := slices.Index(text, ""); i >= 0 {
			return nil, e.fault("has no name at row %d; give it one or leave the row out", i)
		}
		for _, name := range text {
			if !seen[name] {
				seen[name], classes = true, append(classes, name)
			}
		}
	}
	return classes, nil
}

// unnamed reports whether labels of text are all empty: of rows without labels.
func unnamed(text []string) bool {
	return !slices.ContainsFunc(text, func(s string) bool { return s != "" })
}

// labelled is the array of labels key, nil if it is not there or its texts are all empty.
func (a *archive) labelled(key string, rows *lengths) (*entry, error) {
	e, err := a.among(key, rows, nil)
	if e == nil || err != nil || !e.text() {
		return e, err
	}
	text, err := e.texts()
	if err != nil || unnamed(text) {
		return nil, err
	}
	return e, nil
}

// Numbered reports whether the names are the numbers 0…C−1, in order.
func Numbered(names []string) bool { return slices.Equal(names, Numerals(len(names))) }

// Numerals are the names "0" … "n−1".
func Numerals(n int) []string { return Each(UpTo(n), strconv.Itoa) }

// plainName is a name as it is compared: in one form of Unicode (é is one letter, or e with an accent
// that follows), without spaces around it.
func plainName(name string) string { return norm.NFC.String(strings.TrimSpace(name)) }

// plain are the names in that form.
func (n Names) plain() Names { return Names{Each(n.Classes, plainName), Each(n.Features, plainName)} }

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
	return Inputf(path, "names %s %d %s and the model was fitted with %s there; put columns and names in the model's order", of, i, Printable(names[i]), Printable(known[i]))
}

// numbered is the numbers of the classes that labels of text name.
func (e *entry) numbered(text []string) ([]int, error) {
	classes := e.a.names.Classes
	number := make(map[string]int, len(classes))
	for k, name := range classes {
		number[name] = k
	}
	labels := make([]int, len(text))
	for i, name := range text {
		k, known := number[name]
		if !known {
			const most = 8
			shown := Each(classes[:min(most, len(classes))], Printable)
			return nil, e.fault("says %s at row %d, which is none of the %d classes %s", Printable(name), i, len(classes), strings.Join(shown, ", "))
		}
		labels[i] = k
	}
	return labels, nil
}

// checkNames holds the number of names against the columns of logits; orders of more or fewer classes are no orders of
// theirs.
func (a *archive) checkNames(columns int) error {
	of := slices.DeleteFunc(slices.Clone(a.orders), func(o classOrder) bool { return len(o.names) != columns })
	if columns > 0 && len(of) > 0 {
		a.asked = a.asked || !a.ordered && of[0].by != byLevels
		a.orders = of
		a.take(of[0])
	}
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

// strings reads len(dst) elements of kind 'U' (UTF-32) or 'S' (bytes) without the zeros that fill them.
func (h *header) strings(r io.Reader, dst []string) error {
	if h.size == 0 { // every text is empty
		return nil
	}
	invalid := -1
	err := h.chunks(r, len(dst), func(at int, b []byte) {
		i := at
		for element := range slices.Chunk(b, h.size) {
			text := ""
			if h.kind == 'U' {
				text = h.utf32(element)
			} else {
				text = strings.TrimRight(string(element), "\x00")
			}
			if invalid < 0 && !utf8.ValidString(text) {
				invalid = i
			}
			dst[i] = strings.Map(harmless, plainName(text))
			i++
		}
	})
	if err == nil && invalid >= 0 {
		err = fmt.Errorf("holds bytes at row %d that are not UTF-8; decode them and save it as text", invalid)
	}
	return err
}

// utf32 is the text of the code points in b up to a zero.
func (h *header) utf32(b []byte) string {
	var text strings.Builder
	for point := range slices.Chunk(b, 4) {
		c := rune(h.order.Uint32(point))
		if c == 0 {
			break
		}
		text.WriteRune(c) // or utf8.RuneError of what is none
	}
	return text.String()
}
