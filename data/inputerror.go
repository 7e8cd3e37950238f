package data

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// InputError is a fault in what the user handed in (a file, a label, a shape),
// as against a fault of the program: a command answers it with its one sentence
// and exit status 2.
type InputError struct {
	Path string // the file at fault, "" where there is none
	Err  error  // the sentence
}

// Inputf returns an *InputError about the file at path; format and args work as in
// fmt.Errorf, with %w. An error about a file is reduced to its cause, since the path
// stands before the sentence.
func Inputf(path, format string, args ...any) error {
	if path != "" {
		args = slices.Clone(args)
		for i, arg := range args {
			err, ok := arg.(error)
			if input, same := err.(*InputError); same && input.Path == path {
				args[i] = input.Err
			} else if ok {
				args[i] = Cause(err)
			}
		}
	}
	return &InputError{Path: path, Err: fmt.Errorf(format, args...)}
}

// Cause is err without the operation and the path that package os puts before it.
func Cause(err error) error {
	switch err := err.(type) {
	case *fs.PathError:
		return err.Err
	case *os.LinkError:
		return err.Err
	}
	return err
}

// Error is the sentence, after the path if there is one.
func (e *InputError) Error() string {
	if e.Path == "" {
		return e.Err.Error()
	}
	return e.Path + ": " + e.Err.Error()
}

// Unwrap is the cause, for errors.Is and errors.As.
func (e *InputError) Unwrap() error { return e.Err }
