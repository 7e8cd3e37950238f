// Package encode reads the features and logits of an encoder from raw data, into the
// npz file that every other command takes.
//
// The rows so far are kept beside it, in OUT.partial, so that a [Job] that was
// interrupted in whatever way goes on where it stopped. OUT itself appears whole or
// not at all.
package encode
