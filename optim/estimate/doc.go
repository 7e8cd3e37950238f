// Package estimate has what estimators of several packages share: the covariance of an estimate and what its rows do
// not identify, Newton's method for losses whose Hessian fits into memory, gonum's L-BFGS, Hessians by differences, and
// k-means. It knows vectors and matrices only: no graph, no data set.
package estimate
