// Command mine is calibra with a baseline of its own, mine.go, by the name "mine".
package main

import (
	"embed"
	"os"

	"calibra/experiments/cli"
	"calibra/experiments/method"
)

// sources tell calibra study which cells this code has computed before. Name the folders of further packages too: *.go
// rank/*.go
//
//go:embed *.go
var sources embed.FS

func main() { os.Exit(cli.Main(mine, method.Sources{Files: sources})) }
