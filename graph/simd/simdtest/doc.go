// Package simdtest is what the tests of vector kernels share, and those of packages that compute by them.
package simdtest
