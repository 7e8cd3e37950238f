// Package method says what a way to calibrate is, and lists all of them.
//
// A [Method] has a name, what is said of it in lists, the arrays that it needs, its cost, and New, which makes its
// calibrator from [Options]: the settings that the user chose, as [Values] by key, with defaults for the others. [All]
// lists the methods of this module. A [Catalog] is that list with the methods, rules, metrics and raw sources of other
// modules, and finds each by its name; [Catalog.Recommend] is the method to take where nobody names one.
//
//	m, err := method.Find("vq")
//	calibrator, keys, err := m.Build(method.Options{Values: method.Values{"codebook.slots": "32"}})
//
// A method that a module adds is a literal, or is made of a [layers.Map] by [OnCodewords] or [OnLogits].
package method
