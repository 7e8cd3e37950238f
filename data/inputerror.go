package data

import "fmt"

// InputError is a fault in what the user handed in (a file, a label, a shape),
// as against a fault of the program: a command answers it with its one sentence
// and exit status 2.
type InputError struct {
	Path string // the file at fault, "" where there is none
	Err  error  // the sentence
}

// Inputf returns an *InputError about the file at path; format and args are
// those of fmt.Errorf, %w included.
func Inputf(path, format string, args ...any) error {
	return &InputError{Path: path, Err: fmt.Errorf(format, args...)}
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
