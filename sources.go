//go:build !sourceless

// Package calibra holds the module's own sources, by which a study tells whether the same code computed a cell.
package calibra

import "embed"

// Sources are the files of the packages that compute a cell, package experiments/study and what it imports.
//
//go:embed data/*.go data/*/*.go graph/*.go graph/*/*.go graph/onnx/protobuf/*.go
//go:embed graph/simd/*.s graph/simd/internal/*/*.go
//go:embed optim/*.go optim/*/*.go layers/*.go layers/*/*.go
//go:embed experiments/diagnosis/*.go experiments/internal/*/*.go experiments/method/*.go experiments/metrics/*.go
//go:embed experiments/metrics/internal/tile/*.go experiments/metrics/internal/tile/*.s experiments/paper/*.go
//go:embed experiments/program/*.go experiments/report/*.go experiments/report/tensorboard/*.go experiments/rowcheck/*.go
//go:embed experiments/run/*.go experiments/source/*.go experiments/study/*.go experiments/verdict/*.go
var Sources embed.FS
