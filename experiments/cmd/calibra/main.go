// Command calibra fits, applies and judges local multiclass calibrators.
package main

import (
	"os"

	"calibra/experiments/cli"
)

func main() {
	os.Exit(cli.Main())
}
