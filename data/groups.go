package data

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"calibra/data/parquet"
)

// Groups say which group each row belongs to.
type Groups struct {
	Of    []int    // N values in 0…G−1; nil: the rows have no groups
	Names []string // G
}

// Rows are the groups of the rows at the given indices.
func (g Groups) Rows(index []int) Groups { return Groups{at(g.Of, index), g.Names} }

// Arrays are the groups as files hold them: groups (N) and group_names (G).
func (g Groups) Arrays() []Array {
	if g.Of == nil {
		return nil
	}
	return []Array{{Name: "groups", Value: g.Of}, {Name: "group_names", Value: g.Names}}
}

// groups reads the array key, a group for each of so many rows: numbers into group_names (G texts) or, without it,
// numbers or texts that are names themselves, in ascending order. Of a file without the array there are none.
func (a *archive) groups(key string, rows int) (g Groups, err error) {
	if !a.has(key) {
		return g, nil
	}
	e, err := a.entry(key)
	switch {
	case err != nil:
		return g, err
	case len(e.shape) != 1:
		return g, e.fault("has shape %s; it has one axis, one group a row", shapeString(e.shape))
	case e.shape[0] != rows:
		return g, e.fault("has %d rows and there are %d; they must have the same, and groups of test rows alone are called test_groups", e.shape[0], rows)
	case e.text(), e.kind == 'f', e.unit != "", e.dtype == "|b1" && !a.has("group_names"):
		each, err := e.named()
		if err != nil {
			return g, err
		}
		g.Names, g.Of = encode(each)
		return g, nil
	}
	g.Of = make([]int, rows)
	if err := e.read(func(r io.Reader) error { return e.ints(r, g.Of) }); err != nil {
		return g, err
	}
	if g.Names, err = a.texts("group_names"); err != nil {
		return g, err
	}
	if g.Names == nil {
		distinct := slices.Compact(slices.Sorted(slices.Values(g.Of)))
		for i, of := range g.Of {
			g.Of[i], _ = slices.BinarySearchFunc(distinct, of, cmp.Compare[int])
		}
		g.Names = Each(distinct, strconv.Itoa)
	}
	if i := InvalidLabel(g.Of, len(g.Names)); i >= 0 {
		return g, e.fault("holds %d at row %d; groups must lie in 0…%d", g.Of[i], i, len(g.Names)-1)
	}
	return g, nil
}

// named are the names that one axis of texts, decimals, truth values or dates gives.
func (e *entry) named() ([]string, error) {
	if e.text() {
		return e.texts()
	}
	if e.kind == 'f' {
		v, err := values[float64](e, e.shape[0], 1, onlyFinite)
		return Each(v, decimalName), err
	}
	whole := make([]int, e.shape[0])
	if err := e.read(func(r io.Reader) error { return e.ints(r, whole) }); err != nil {
		return nil, err
	}
	if i := slices.Index(whole, math.MinInt64); i >= 0 && e.unit != "" { // NaT
		return nil, e.fault("has no value at row %d; fill it in or leave the row out", i)
	}
	return Each(whole, func(v int) string {
		if e.unit == "" {
			return strconv.FormatBool(v != 0)
		}
		each := dateUnits[e.unit]
		perSecond := max(1, int(time.Second/each))
		return parquet.DateText(time.Unix(int64(v/perSecond)*max(1, int64(each/time.Second)), int64(v%perSecond)*int64(each)))
	}), nil
}

// dateUnits are those of numpy's datetime64.
var dateUnits = map[string]time.Duration{"D": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": 1}

// groupsOf are the groups of so many rows of a part: its own, such as test_groups, or, without them, groups.
func (a *archive) groupsOf(prefix string, rows int) (Groups, error) {
	return a.groups(cmp.Or(a.first(prefix+"groups"), "groups"), rows)
}

// ReadLabels reads the N integers of the array key of the npz file at path.
func ReadLabels(path, key string) ([]int, error) {
	return within(path, func(a *archive) ([]int, error) { return a.labels(key) })
}
