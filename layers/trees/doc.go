// Package trees grows trees. There is no maintained Go library for trees with several outputs; this package does only what
// Calibra needs.
//
// [Forest] is bagged classification trees with random splits ([Growth]), which vote. What they say of the rows that they were
// grown on is said by the trees whose bags lack the row and its equals ([Forest.OutOfBag]).
//
// [Tree] is a regression tree on gradients, for boosted methods. It is oblivious (Kohavi 1994): all splits of a level compare
// the same column with the same threshold, so that D levels give a code of D bits, and 2^D leaves. A leaf has a value for
// each of C outputs. With gradients g and curvatures h of a loss (N×C each), a level takes the split with the most
//
//	Σ_leaves Σ_k G²/(H + λ) ,  G = Σ g_ik ,  H = Σ h_ik over the leaf's rows
//
// and a leaf's value is −G/(H + λ), the Newton step of a ridge (Chen and Guestrin 2016).
package trees
