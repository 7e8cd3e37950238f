// Package report draws figures and writes documents of tables and figures as HTML, Markdown and LaTeX.
package report
