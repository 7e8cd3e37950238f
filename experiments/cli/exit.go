package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"calibra/data"
	"calibra/layers"
)

// Exit codes besides 0.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitNoDevice    = 3
	exitInternal    = 70 // EX_SOFTWARE of sysexits.h
	exitInterrupted = 130
)

// exitCodes is the table that --help prints.
var exitCodes = []struct {
	code int
	what string
}{
	{0, "done"},
	{exitFailure, "the work failed: a full disk, a failed fit, a claim outside its band"},
	{exitUsage, "the input or the flags are wrong"},
	{exitNoDevice, "--device cuda, and there is no device or too little memory on it"},
	{exitInternal, "a fault of this program; the sentence says where to report it"},
	{exitInterrupted, "interrupted by Ctrl-C or SIGTERM"},
}

// writeExitCodes is the end of every help text.
func writeExitCodes(out io.Writer) {
	fmt.Fprintln(out, "\nExit codes:")
	for _, c := range exitCodes {
		fmt.Fprintf(out, "  %3d  %s\n", c.code, c.what)
	}
}

// usageError marks an error as the user's to mend: exit code 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// internalError is a panic that was caught.
type internalError struct {
	value any
	place string // "layers/bilinear.go:33"
}

func (e internalError) Error() string {
	return fmt.Sprintf("internal fault at %s: %v; this is a bug in calibra: please report the command and this line as an issue of its repository", e.place, strings.ReplaceAll(fmt.Sprint(e.value), "\n", " "))
}

// caught is the error for a panic with value; call it in the deferred function that
// recovered it.
func caught(value any) error {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	thrown := false
	for {
		f, more := frames.Next()
		switch {
		case strings.HasPrefix(f.Function, "runtime."):
			thrown = thrown || strings.HasPrefix(f.Function, "runtime.gopanic") || strings.HasPrefix(f.Function, "runtime.panic") || strings.HasPrefix(f.Function, "runtime.sigpanic")
		case thrown:
			return internalError{value, filepath.Join(filepath.Base(filepath.Dir(f.File)), filepath.Base(f.File)) + fmt.Sprintf(":%d", f.Line)}
		}
		if !more {
			return internalError{value, "an unknown place"}
		}
	}
}

// exitCode is the code for err.
func exitCode(err error) int {
	var (
		usage    usageError
		input    *data.InputError
		setting  *layers.SettingError
		internal internalError
	)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &internal):
		return exitInternal
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case lacksDevice(err):
		return exitNoDevice
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EIO), errors.Is(err, syscall.EMFILE):
		return exitFailure // of the machine, whatever file it was about
	case errors.As(err, &usage), errors.As(err, &input), errors.As(err, &setting):
		return exitUsage
	}
	return exitFailure
}

// sentence is err as it is told on stderr.
func sentence(err error) string {
	if errors.Is(err, context.Canceled) {
		return "calibra: interrupted: " + err.Error()
	}
	return "calibra: " + err.Error()
}
