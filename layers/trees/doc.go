// Package trees grows trees. There is no maintained Go library for trees with several outputs; this package does only
// what Calibra needs.
//
// [Forest] is bagged classification trees with random splits ([Growth]), which vote. What they say of the rows that
// they were grown on is said by the trees whose bags lack the row and its equals ([Forest.OutOfBag]).
package trees
