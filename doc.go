// Package calibra holds the module's own sources, by which a study tells whether the same code computed a cell.
package calibra
