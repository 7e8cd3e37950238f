// Package theory checks the paper's statistical claims on synthetic problems small
// enough that every population quantity is an exact sum.
package theory
