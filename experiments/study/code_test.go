package study

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"slices"
	"testing"

	"calibra/layers"
)

type holder struct {
	of   any
	next *holder
}

type generic[A any] struct{}

func plain() {}

var declared = func() {}

// TestContents: what a part holds is known to the last number, or said to be unknown.
func TestContents(t *testing.T) {
	n := 3
	captures := func() { n++ }
	ring := &holder{of: 1.5}
	ring.next = ring
	read := func(v any) (digest string, c *contents) {
		sum := sha256.New()
		c = &contents{to: sum}
		c.add(reflect.ValueOf(v))
		return hex.EncodeToString(sum.Sum(nil)), c
	}
	all := map[string]any{
		"a number": holder{of: 1.5}, "another": holder{of: 1.25}, "its type": holder{of: float32(1.5)}, "a ring": ring,
		"a map": holder{of: map[string]int{"a": 1, "b": 2}}, "another map": holder{of: map[string]int{"a": 2, "b": 1}},
		"a list": holder{of: []any{1, 2}}, "two lists": holder{of: []any{[]any{1}, 2}}, "nothing": nil,
	}
	names := map[string]string{}
	for name, v := range all {
		digest, c := read(v)
		if again, _ := read(v); again != digest || c.unknown {
			t.Errorf("%s: unknown %v, %s and %s", name, c.unknown, digest, again)
		}
		if other := names[digest]; other != "" {
			t.Errorf("%s is as %s", name, other)
		}
		names[digest] = name
	}
	for name, v := range map[string]any{"captured": captures, "bound": ring.String, "of a call": counter(3), "a channel": make(chan int)} {
		if _, c := read(holder{of: v}); !c.unknown {
			t.Errorf("%s counts as known", name)
		}
	}
	const there, here = "calibra/layers", "calibra/experiments/study"
	for _, v := range []any{plain, declared, (*holder).String, holder{}, generic[layers.UnitScale]{}} {
		_, c := read(v)
		if c.unknown || !slices.Contains(c.packages, here) {
			t.Errorf("%T: unknown %v, packages %q", v, c.unknown, c.packages)
		}
	}
	if _, c := read(generic[layers.UnitScale]{}); !slices.Contains(c.packages, there) {
		t.Errorf("the argument of a type is of %q", c.packages)
	}
	if _, c := read(layers.NameOf); !slices.Contains(c.packages, there) {
		t.Errorf("a function of %s is of %q", there, c.packages)
	}
}

func (h *holder) String() string { return "" }

func counter(n int) func() int { return func() int { return n } }
