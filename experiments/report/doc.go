// Package report draws what package metrics measures.
package report
