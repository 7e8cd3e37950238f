// Package trees grows regression trees on gradients, for methods that are boosted and codes that
// are leaves. Go has no library for it that is kept and grows trees of several outputs; these do
// no more than is asked of them here.
//
// A tree is oblivious (Kohavi 1994): all splits of a level compare the same column with the same threshold, so that
// D levels make a code of D bits, and 2^D leaves. A leaf has a value for each of C outputs. With
// gradients g and curvatures h of a loss (N×C each), a level takes the split with the most
//
//	Σ_leaves Σ_k G²/(H + λ) ,  G = Σ g_ik ,  H = Σ h_ik over the leaf's rows
//
// and a leaf's value is −G/(H + λ), the Newton step of a ridge (Chen and Guestrin 2016).
package trees
