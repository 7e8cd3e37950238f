// Package work shares work out among the cores. It alone starts goroutines; a panic in one of them goes on where it is
// waited for, as a [*Panic].
//
// [Run], [Each] and [Ranges] are for blocks of microseconds: they wake no more threads than are idle. [Parts] are for
// what takes longer, may fail and can be cancelled. All give the same bytes on any number of threads where the cut into
// blocks does not depend on it and no two blocks write the same memory.
//
// [Lines] are those of a reader that may end while one of them is answered.
//
// A long computation reports to its context where it is ([WithProgress], [Span], [Piece], [Report]).
package work
