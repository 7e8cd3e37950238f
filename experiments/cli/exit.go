package cli

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"syscall"

	"calibra/data"
	"calibra/experiments/program"
	"calibra/layers"

	"github.com/alecthomas/kong"
)

// Exit codes besides 0.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitNoDevice    = 3
	exitCheck       = 4
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
	{exitCheck, "apply wrote its predictions, and the verdict on the rows is to check them"},
	{exitInternal, "a fault of this program; the message says where to report it"},
	{exitInterrupted, "interrupted by Ctrl-C or SIGTERM"},
}

// ExitCode is the exit code of calibra after err, 0 if err is nil.
func ExitCode(err error) int {
	var (
		input   *data.InputError
		setting *layers.SettingError
		fault   *program.Fault
	)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &fault) && fault.Whose == "":
		return exitInternal
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case lacksDevice(err):
		return exitNoDevice
	case errors.Is(err, errCheck):
		return exitCheck
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG), errors.Is(err, syscall.EIO), errors.Is(err, syscall.EMFILE):
		return exitFailure // of the machine, whatever file it was about
	case errors.As(err, &input), errors.As(err, &setting):
		return exitUsage
	}
	return exitFailure
}

// traced is the stack of a fault, where CALIBRA_TRACE=1 is set.
func traced(err error) string {
	if fault := (*program.Fault)(nil); os.Getenv("CALIBRA_TRACE") == "1" && errors.As(err, &fault) {
		return fault.Stack
	}
	return ""
}

// sentence is err as it is told on stderr.
func sentence(err error) string {
	if errors.Is(err, context.Canceled) {
		text := strings.TrimSuffix(strings.ReplaceAll(": "+err.Error(), ": "+context.Canceled.Error(), ""), ": ")
		return "calibra: interrupted" + text
	}
	return "calibra: " + rooms.ReplaceAllString(err.Error(), "$1")
}

// wrongFlags is the parser's error in the words of a user, with a command that would work.
func wrongFlags(err error) error {
	text := err.Error()
	for _, s := range flagFaults {
		if m := s.parsers.FindStringSubmatch(text); m != nil {
			return data.Inputf("", "%s %s", m[1], s.ours)
		}
	}
	command := "" // that was named
	if parse := (*kong.ParseError)(nil); errors.As(err, &parse) && parse.Context.Selected() != nil {
		command = parse.Context.Selected().Name
	}
	missing, flags := strings.CutPrefix(text, "missing flags: ")
	argument, positional := strings.CutPrefix(text, "expected ")
	switch {
	case strings.Contains(text, "did you mean"):
	case flags && command != "":
		return data.Inputf("", "%s lacks %s; write, for example, %s", command, missing, firstExample(command))
	case positional && command != "":
		return data.Inputf("", "%s lacks %s; write, for example, %s", command, strings.Trim(argument, `"`), firstExample(command))
	case strings.HasPrefix(text, "unknown flag ") && command != "":
		return data.Inputf("", "%w; calibra %s --help --all lists the flags", err, command)
	case strings.HasPrefix(text, "unexpected argument ") && command == "":
		return data.Inputf("", "there is no command %s; calibra help lists all", strings.TrimPrefix(text, "unexpected argument "))
	}
	return data.Inputf("", "%w", err)
}

var flagFaults = []struct {
	parsers *regexp.Regexp // the flag, and what is wrong with it
	ours    string
}{
	{regexp.MustCompile(`^(--[\w-]+): expected .* but got (?:"EOL" |"--.*\(long flag\))`), "lacks its value"},
	{regexp.MustCompile(`^(--[\w-]+): expected .* but got ".*" \(short flag\)`), "has a value that begins with a dash; write flag and value as one word, with ="},
	{regexp.MustCompile(`^(--[\w-]+): expected (?:uint value|a valid 64 bit uint) but got `), "must be a whole number of 0 or more"},
	{regexp.MustCompile(`^(--[\w-]+): expected a valid 64 bit int but got `), "must be a whole number"},
	{regexp.MustCompile(`^(--[\w-]+): expected a float but got `), "must be a number"},
}

// rooms are the names of packages that stand before what they say.
var rooms = regexp.MustCompile(`(^|: )(?:(?:anchored|baselines|data|encoders|experiments|graph|layers|metrics|optim|report|study|theory): )+`)
