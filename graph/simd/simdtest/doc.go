// Package simdtest is what the tests of vector kernels share.
package simdtest
