// Package study runs the paper's experiments as grids of [experiments.Spec].
//
// A [Study] is data: which Specs to run on an origin, and which tables and figures
// show them. [Study.Cells] lists its grid for given origins and seeds, [Plan.Run]
// computes the cells that are not there yet, [Findings.Write] shows them. [Truth], whose sources
// are its own, is no grid of Specs, and has cells all the same. To add
// a study, add a file with a Study and its name to [Studies]. [Compare] is the one behind
// calibra compare.
//
// # Cells
//
// A [Cell] is what is computed at once: one Spec on one origin, or one draw of study truth. Its
// result is kept as one file, written whole or not at all, under the cell's id: of a Spec a hash
// of it and of the data's contents:
//
//	DIR/KEY.json           the result
//	DIR/KEY.safetensors    the fitted model
//	DIR/encoded-KEY.npz    what an encoder made of raw rows
//	DIR/HASH.grid          the cells that a process wants, written before it begins (see [Grid])
//
// So a study that is interrupted, in whatever way, goes on where it stopped;
// studies that share a directory share their cells; and as a cell's numbers depend
// on its Spec and data alone, neither on what runs beside it nor on the number of
// threads, results.csv comes out the same.
package study
