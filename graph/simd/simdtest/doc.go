// Package simdtest has helpers for tests of vector kernels and of packages that use them.
package simdtest
