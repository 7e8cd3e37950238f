package cuda

import "fmt"

// Choice is where a command works.
type Choice int

// The choices.
const (
	CPU  Choice = iota // on the CPU
	Auto               // on the device, if there is one and the work is large enough to pay
	CUDA               // on the device; its absence is an error
)

// String is "cpu", "auto" or "cuda".
func (c Choice) String() string { return [...]string{"cpu", "auto", "cuda"}[c] }

func (c Choice) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads cpu, auto or cuda; nothing is cpu.
func (c *Choice) UnmarshalText(text []byte) error {
	for _, known := range []Choice{CPU, Auto, CUDA} {
		if string(text) == known.String() || len(text) == 0 {
			*c = known
			return nil
		}
	}
	return fmt.Errorf("%q is none of cpu, auto and cuda", text)
}

// Open is the executor of the choice, on the first card; nil is the CPU. Of CUDA, the absence of
// a card is an error that wraps [ErrNoDevice]; of Auto, notice is told.
func (c Choice) Open(notice func(sentence string)) (*Executor, error) {
	if c == CPU {
		return nil, nil
	}
	d, err := OpenCard()
	switch {
	case err == nil && c == Auto:
		return WherePays(d, Worth, notice), nil
	case err == nil:
		return On(d, notice), nil
	case c == Auto:
		notice(fmt.Sprintf("working on the CPU: %v", err))
		return nil, nil
	}
	return nil, err
}
