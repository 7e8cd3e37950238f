//go:build !unix

// Package floor checks nothing where a shell limits nothing.
package floor
