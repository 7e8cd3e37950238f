package cli

import (
	"reflect"
	"strconv"

	"calibra/data"

	"github.com/alecthomas/kong"
)

// AfterApply holds the flags of whole numbers against the most that they may say, their tag most:
// what a number asks of memory or of the clock grows with it, and a slip of the keyboard is soon
// beyond any machine.
func (c *cli) AfterApply(line *kong.Context, t *terminal) error {
	t.quiet = c.Quiet
	for _, flag := range line.Selected().Flags {
		most, _ := strconv.ParseInt(flag.Tag.Get("most"), 10, 64)
		if n, whole := number(flag.Target); whole && n > most {
			return data.Inputf("", "--%s is %d; at most %d are possible", flag.Name, n, most)
		}
	}
	return nil
}

// number is the value of a flag of whole numbers that are no seed.
func number(v reflect.Value) (n int64, whole bool) {
	switch n := v.Interface().(type) {
	case int:
		return int64(n), true
	case *int:
		if n != nil {
			return int64(*n), true
		}
		return 0, true
	}
	return 0, false
}
