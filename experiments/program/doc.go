// Package program is the program that runs: which it is, so that its numbers are told from those of another
// ([ThisProgram]), its pieces of work side by side ([SideBySide]), and whose fault a panic is ([Caught]).
package program
