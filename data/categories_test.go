package data

import (
	"fmt"
	"strings"
	"testing"
)

// TestOrderOfClasses: categories keep the order that a file gives them, ordered or not. The
// files are those of testdata/tables/tables.py, by pyarrow 26.0.
func TestOrderOfClasses(t *testing.T) {
	for file, want := range map[string]string{
		"ordered.parquet":       "[small large huge] [1 0 0 1] in order of their categories: small, large, huge",
		"ordered.arrow":         "[small large huge] [1 0 0 1] in order of their categories: small, large, huge",
		"unordered.parquet":     "[small large huge] [1 0 2 1] in order of their categories: small, large, huge",
		"unordered.arrow":       "[small large huge] [1 0 2 1] in order of their categories: small, large, huge",
		"integers.parquet":      "[] [0 2 1 0] ",
		"integers.arrow":        "[] [0 2 1 0] ",
		"ordered-plain.parquet": "labels name 2 classes and logits have 3 columns", // without a dictionary nothing tells the order
	} {
		s, err := Open("testdata/tables/" + file)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", file, err)
			}
			continue
		}
		if got := fmt.Sprint(s.Test.Names.Classes, s.Test.Labels, " ", s.Order); !strings.HasPrefix(strings.Replace(got, "the labels are names, taken for the classes 0…2 ", "", 1), want) {
			t.Errorf("%s: %s", file, got)
		}
	}
	// a model's classes come before a file's
	if s, err := OpenContext(t.Context(), "testdata/tables/ordered.arrow", Names{Classes: []string{"huge", "large", "small"}}); err != nil || fmt.Sprint(s.Test.Labels) != "[1 2 2 1]" || s.Order != "" {
		t.Errorf("for a model: %v, %v", s, err)
	}
	c := &column{}
	c.rank([]string{"b"})
	if c.rank([]string{"b", "a"}); fmt.Sprint(c.categories) != "[b a]" {
		t.Errorf("a category more: %v", c.categories)
	}
	if c.rank([]string{"a", "b"}); c.categories != nil || !c.disordered {
		t.Errorf("two orders: %v", c.categories)
	}
}
