// Package onnx reads the penultimate features and the logits of any exported network,
// through ONNX Runtime's shared library.
//
// The library is opened when the program runs, with purego and without cgo, so the
// default build needs and links nothing. Where it is looked for:
//
//	Settings.Library         a path, if one is given
//	CALIBRA_ONNXRUNTIME      a path
//	libonnxruntime.so        on the loader's path (.dylib on macOS)
//
// It ships in every distribution of ONNX Runtime: the releases on GitHub, the Python
// package (onnxruntime/capi/libonnxruntime.so.*) and npm's onnxruntime-node. Only
// functions of the first version of its C API are called, which no later version may
// move (https://onnxruntime.ai/docs/api/c).
//
// A [Model] is a network with one input and two outputs, the features and the logits;
// [Preset] is what is done to images before it.
package onnx
