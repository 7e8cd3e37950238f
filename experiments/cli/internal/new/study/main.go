// Command mine is calibra with a theory study of its own, mine.go, by the name "mine".
package main

import (
	"os"

	"calibra/experiments/cli"
)

func main() { os.Exit(cli.Main(cli.Study(mine))) }
