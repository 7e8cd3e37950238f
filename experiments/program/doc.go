// Package program describes the running program. [ThisProgram] gives its version, which is recorded beside every result.
// [SideBySide] runs pieces of work at the same time. [Caught] says whose fault a panic is.
package program
