package program

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// TestWhosePanic: a panic on the way through a function of another module is that module's, by
// whatever of this module it was thrown; that the module's own main called the command is not.
func TestWhosePanic(t *testing.T) {
	stack := func(functions ...string) (frames []runtime.Frame) {
		for _, f := range functions {
			frames = append(frames, runtime.Frame{Function: f, File: "/home/x/mine/file.go", Line: 7})
		}
		return frames
	}
	for _, c := range []struct {
		main, whose string
		frames      []runtime.Frame
	}{
		{"example.org/mine", "example.org/mine.Rank.LogProbs", stack("runtime.gopanic", "example.org/mine.Rank.LogProbs", "calibra/layers.(*Trained).Fit", "calibra/experiments/cli.execute", "main.main")},
		{"example.org/mine", "example.org/mine/ops.Swish.Run", stack("runtime.gopanic", "runtime.panicIndex", "calibra/graph/op.SameShape", "example.org/mine/ops.Swish.Run", "calibra/graph/op.Op.UsePreallocDo", "calibra/experiments/cli.execute", "main.main")},
		{"example.org/mine", "main.elu.Run", stack("runtime.gopanic", "calibra/graph/op.Op.UsePreallocDo.func1", "runtime.gopanic", "main.elu.Run", "calibra/graph/op.Op.UsePreallocDo")},
		{"example.org/mine", "", stack("runtime.gopanic", "calibra/layers.(*Trained).Fit", "calibra/experiments/cli.execute", "calibra/experiments/cli.Main", "main.main")},
		{"example.org/mine", "", stack("runtime.gopanic", "example.org/minerals.F", "calibra/layers.(*Trained).Fit")},
		{"calibra", "", stack("runtime.gopanic", "calibra/layers.(*Trained).Fit", "main.main")},
	} {
		f := faultOf("of range", thrown(c.frames), c.main)
		if f.Whose != c.whose || strings.Contains(f.Error(), "bug in calibra") != (c.whose == "") || !strings.Contains(f.Stack, "file.go:7") {
			t.Errorf("%v: %v", c.frames[1].Function, f)
		}
	}
	inlined := []runtime.Frame{{Function: "main.init.OnCodewords.func7", File: ourRoot() + "/experiments/method/method.go", Line: 7}}
	if f := faultOf("nil", inlined, "example.org/mine"); f.Whose != "" || f.Place != "method/method.go:7" {
		t.Errorf("our code in a function of another module is told as %v", f)
	}
	if f := faultOf(errors.New("none"), nil, ""); f.Place != "an unknown place" {
		t.Error(f)
	}
}
