// Command campaign attacks the command calibra as users, disks and other programs do, and
// counts what it does wrong:
//
//	folders    folders that others made, whose links and manifests name files elsewhere
//	settings   files of settings that a decoder of YAML does not survive
//	special files
//	           pipes, devices and directories by the names of files
//	surroundings
//	           shells that allow little, or set what nobody expects
//	kills      commands killed at any moment, mostly while they write: is what is
//	           there of one run, are inputs as they were, does the next run clear up?
//	files      features, predictions and tables with changed bytes, headers and values
//	models     model files of every method, changed likewise
//	extremes   every method on problems that lie at the edge of what it can fit
//	at once    several commands that write to one place
//	full disk  commands whose results do not fit where they are to go
//	ops        ops of somebody else's that compute in one type alone, called on another
//	fuzz       every fuzz test of the repository
//
// It is run in the repository's root, for some minutes or for hours:
//
//	make campaign                                        an hour
//	go run ./experiments/campaign -minutes 2 -seed 7     what CI does
//	go run ./experiments/campaign -only kills -kills 100
//
// The seed is printed, and the same seed makes the same attacks, moments of kills aside.
// Each failure is told with the command that shows it, its files are kept, and the exit
// code is 1. With -table the figures go to experiments/campaign/RESULTS.md.
package main
