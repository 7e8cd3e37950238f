// Package program describes the running program. [ThisProgram] gives its version, which is recorded beside every
// result. [Caught] says whose fault a panic is.
package program
