// Package checked has the code that metrics and diagnosis share: predictions with their labels and weights, checked and
// exponentiated once ([Sample]), matrices read by row, quantiles, and loops over all cores.
//
// A [Sample] has N rows of C classes. Its rows are those of the input that count: rows of weight 0 are left out.
package checked
