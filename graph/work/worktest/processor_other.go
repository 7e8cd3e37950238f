//go:build !unix

package worktest

import "time"

var began = time.Now()

// Processor is the time that passed: what a process has had of processors is not known here.
func Processor() time.Duration { return time.Since(began) }
