// Package verdict says what to do with a classifier: a pure function, [Judge], turns measured differences into one of
// five answers ([Say]) with one number, its interval and its p. Every command, page and JSON prints what it says.
package verdict
