package cli

import (
	"reflect"

	"calibra/data"

	"github.com/alecthomas/kong"
)

// limits are the most that flags of whole numbers may say, by command and flag. What a
// number asks of memory or of the clock grows with it, and a slip of the keyboard is soon
// beyond any machine. A flag of whole numbers has its line here, which a test asks for.
var limits = map[string]int{
	"bench --rows": 10_000_000, "bench --reps": 10_000,
	"compare --jobs": 1024, "compare --slots": 65_536, "compare --codewords": 65_536,
	"diagnose --rows": 1_000_000_000, "diagnose --codewords": 65_536, "diagnose --redraws": 1_000_000,
	"encode --batch": 65_536, "encode --severity": 5,
	"evaluate --small-bin": 1_000_000_000, "evaluate --anchors": 1_000_000_000, "evaluate --folds": 10_000, "study --alarms": 1_000_000,
	"evaluate --bins": 100_000, "evaluate --redraws": 100_000, "evaluate --replicates": 100_000,
	"fit --slots": 65_536, "fit --codewords": 65_536,
	"pretrain --epochs": 1_000_000, "pretrain --batch": 1_000_000, "pretrain --patience": 1_000_000,
	"theory --slots": 1_000_000, "theory --codewords": 1_000_000, "theory --classes": 1_000_000, "theory --atoms": 1_000_000, "theory --shifts": 1_000_000, "theory --replicates": 1_000_000,
	"study --jobs": 1024, "study --slots": 65_536, "study --codewords": 65_536,
}

// AfterApply holds what the command line asks for against limits and traffic, before the
// command begins.
func (*cli) AfterApply(line *kong.Context) error {
	command := line.Selected()
	if command == nil {
		return nil
	}
	for _, flag := range command.Flags {
		most, ok := limits[command.Name+" --"+flag.Name]
		if n, whole := number(flag.Target); ok && whole && n > int64(most) {
			return data.Inputf("", "--%s is %d; at most %d are possible", flag.Name, n, most)
		}
	}
	return apart(command.Target.Addr().Interface())
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
