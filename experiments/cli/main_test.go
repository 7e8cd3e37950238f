package cli

import (
	"os"
	"runtime"
	"testing"

	"calibra/experiments/report"
	"calibra/graph/simd/simdtest"
)

// asCommand makes the test binary the command itself.
const asCommand = "CALIBRA_TEST_AS_COMMAND"

// TestMain gives the tests one core, as other packages are tested beside them and small problems gain nothing by more,
// and collects their little garbage rarely. Those of many threads ask for them; go test -cpu 2 gives all of them two.
// Commands draw figures as SVG alone, unless CALIBRA_CHECK=all, as most of their time would go into PNG and PDF; a test
// of those calls inAllFormats.
func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(Main())
	}
	runtime.GOMAXPROCS(1)
	simdtest.SeldomCollect()
	if os.Getenv("CALIBRA_CHECK") != "all" {
		report.Formats = []string{"svg"}
	}
	code := m.Run()
	closeBrowser()
	os.Exit(code)
}

// inAllFormats has commands draw figures in all formats until the test ends.
func inAllFormats(t *testing.T) {
	some := report.Formats
	report.Formats = []string{"svg", "png", "pdf"}
	t.Cleanup(func() { report.Formats = some })
}
