//go:build !unix

// Package floor checks nothing on systems whose shells set no limits.
package floor
