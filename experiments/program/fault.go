package program

import (
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"calibra/graph/work"
)

// Fault is a panic that was caught: a bug of this program, which its message asks the user to report, or of
// the code of another module that it called, such as a Map, an op, a rule or a metric.
type Fault struct {
	Value any    // of the panic
	Place string // "layers/bilinear.go:33"
	Whose string // the function of another module, "example.org/mine.Rank.LogProbs"; "": this program's
	Stack string // a line for each call, innermost first
}

func (f *Fault) Error() string {
	value := strings.ReplaceAll(fmt.Sprint(f.Value), "\n", " ")
	if f.Whose != "" {
		return fmt.Sprintf("%s panics at %s: %s; this is code of your module, which calibra calls: mend it there (CALIBRA_TRACE=1 prints the stack)", f.Whose, f.Place, value)
	}
	return fmt.Sprintf("internal fault at %s: %s; this is a bug in calibra: please report the command and this line as an issue of its repository (CALIBRA_TRACE=1 prints the stack)", f.Place, value)
}

// Caught is the fault of a panic with value; call it in the deferred function that
// recovered it. A panic of another goroutine has the place where it began there: package
// work hands it to the one that waits.
func Caught(value any) *Fault {
	callers := make([]uintptr, 256)
	callers = callers[:runtime.Callers(2, callers)]
	for {
		other, ok := value.(*work.Panic)
		if !ok {
			break
		}
		value, callers = other.Value, other.Callers
	}
	var frames []runtime.Frame
	for all := runtime.CallersFrames(callers); ; {
		f, more := all.Next()
		frames = append(frames, f)
		if !more {
			break
		}
	}
	main := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		main = info.Main.Path
	}
	return faultOf(value, thrown(frames), main)
}

// thrown are the frames from the one that began the first panic; the deferred functions of that
// may have panicked again, and lie above it.
func thrown(frames []runtime.Frame) []runtime.Frame {
	from := len(frames)
	for i, f := range frames {
		panics := strings.HasPrefix(f.Function, "runtime.gopanic") || strings.HasPrefix(f.Function, "runtime.panic") || strings.HasPrefix(f.Function, "runtime.sigpanic")
		if panics {
			from = i + 1
		} else if from == i && strings.HasPrefix(f.Function, "runtime.") {
			from++
		}
	}
	return frames[min(from, len(frames)):]
}

// faultOf is the fault of the calls that led to it, innermost first, in a program of module main.
// It is of another module where a function of main was called on the way, by the commands: theirs
// is the module's own Main, which called them.
func faultOf(value any, frames []runtime.Frame, main string) *Fault {
	f := &Fault{Value: value, Place: "an unknown place"}
	var stack strings.Builder
	for i, at := range frames {
		if i == 0 {
			f.Place = place(at)
		}
		fmt.Fprintf(&stack, "%s\n\t%s:%d\n", at.Function, at.File, at.Line)
	}
	f.Stack = stack.String()
	for _, at := range frames {
		if strings.HasPrefix(at.Function, ourModule+"/experiments/cli.") {
			break
		}
		if main != ourModule && !ourCode(at.File) && (strings.HasPrefix(at.Function, "main.") || strings.HasPrefix(at.Function, main+".") || strings.HasPrefix(at.Function, main+"/")) {
			f.Whose, f.Place = at.Function, place(at)
			break
		}
	}
	return f
}

// ourCode reports whether a file is one of this module's, as the code of a constructor is
// that the compiler has put into a function of another module, after which it is then named.
func ourCode(file string) bool {
	return strings.HasPrefix(file, ourRoot()+"/")
}

// ourRoot is the module's root when the program was built.
func ourRoot() string {
	_, file, _, _ := runtime.Caller(0)
	return path.Dir(path.Dir(path.Dir(file)))
}

// place is "layers/bilinear.go:33".
func place(at runtime.Frame) string {
	return filepath.Join(filepath.Base(filepath.Dir(at.File)), filepath.Base(at.File)) + fmt.Sprintf(":%d", at.Line)
}

// ourModule is the path of this module.
const ourModule = "calibra"
