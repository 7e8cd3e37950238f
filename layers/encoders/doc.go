// Package encoders trains the classifiers that Calibra calibrates, where the
// features do not come from elsewhere: from raw columns to penultimate features
// and logits. An encoder is trained on rows of its own, then frozen.
package encoders
