package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// asCommand makes the test binary the command itself.
const asCommand = "CALIBRA_TEST_AS_COMMAND"

// TestMain gives the tests one core, as other packages are tested beside them and small problems gain nothing by more,
// and collects their little garbage rarely. Those of many threads ask for them; go test -cpu 2 gives all of them two.
func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(Main())
	}
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	code := m.Run()
	closeBrowser()
	os.Exit(code)
}
