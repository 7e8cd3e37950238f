package experiments

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/sourcegraph/conc/panics"
)

// Fault is a panic that was caught: a bug of this program, which its message asks to report.
type Fault struct {
	Value any    // of the panic
	Place string // "layers/bilinear.go:33"
}

func (f *Fault) Error() string {
	return fmt.Sprintf("internal fault at %s: %v; this is a bug in calibra: please report the command and this line as an issue of its repository", f.Place, strings.ReplaceAll(fmt.Sprint(f.Value), "\n", " "))
}

// Caught is the fault of a panic with value; call it in the deferred function that
// recovered it. A panic of another goroutine has the place where it began there: all
// goroutines are conc's, which hand theirs to the one that waits for them.
func Caught(value any) *Fault {
	callers := make([]uintptr, 256)
	callers = callers[:runtime.Callers(2, callers)]
	for {
		other, ok := value.(*panics.Recovered)
		if !ok {
			return &Fault{value, place(callers)}
		}
		value, callers = other.Value, other.Callers
	}
}

// place is the first caller of the first panic; the deferred functions of that may have
// panicked again, and lie above it.
func place(callers []uintptr) string {
	at, thrown := "an unknown place", false
	frames := runtime.CallersFrames(callers)
	for {
		f, more := frames.Next()
		switch {
		case strings.HasPrefix(f.Function, "runtime."):
			thrown = thrown || strings.HasPrefix(f.Function, "runtime.gopanic") || strings.HasPrefix(f.Function, "runtime.panic") || strings.HasPrefix(f.Function, "runtime.sigpanic")
		case thrown:
			at, thrown = filepath.Join(filepath.Base(filepath.Dir(f.File)), filepath.Base(f.File))+fmt.Sprintf(":%d", f.Line), false
		}
		if !more {
			return at
		}
	}
}
