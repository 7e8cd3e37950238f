// Package report draws figures, writes documents of tables and figures as HTML, Markdown and LaTeX, and decides the verdict
// that all commands print ([Judge]).
package report
