// Package report shows what package metrics measures: figures, and documents of
// tables and figures as HTML, Markdown and LaTeX.
package report
