package main

import "testing"

// What go test -fuzz of Go 1.26 prints.
func TestTimeUp(t *testing.T) {
	const began = "fuzz: elapsed: 0s, gathering baseline coverage: 0/1 completed\n"
	for _, c := range []struct {
		name, output string
		want         bool
	}{
		{"the time was up", began + "fuzz: elapsed: 1s, execs: 4101 (4100/sec), new interesting: 0 (total: 120)\n--- FAIL: FuzzOpen (1.12s)\n    context deadline exceeded\nFAIL\nexit status 1\nFAIL\tcalibra/data\t1.129s\n", true},
		{"an input was found", began + "--- FAIL: FuzzFound (0.12s)\n    --- FAIL: FuzzFound (0.00s)\n        a_test.go:4: found wrong\n    \n    Failing input written to testdata/fuzz/FuzzFound/0e0183732375d667\n    To re-run:\n    go test -run=FuzzFound/0e0183732375d667\nFAIL\nexit status 1\nFAIL\tfz\t0.118s\n", false},
		{"an input was found at the end", began + "--- FAIL: FuzzFound (0.12s)\n    context deadline exceeded\nFAIL\n    Failing input written to testdata/fuzz/FuzzFound/0e0183732375d667\nFAIL\n", false},
		{"a known input", "failure while testing seed corpus entry: FuzzSeed/seed#0\n" + began + "--- FAIL: FuzzSeed (0.02s)\n    --- FAIL: FuzzSeed (0.00s)\n        a_test.go:3: seed wrong\n    \nFAIL\nexit status 1\nFAIL\tfz\t0.024s\n", false},
		{"an input whose test says the same", began + "--- FAIL: FuzzFound (0.12s)\n    --- FAIL: FuzzFound (0.00s)\n        a_test.go:4: context deadline exceeded\n    \n    Failing input written to testdata/fuzz/FuzzFound/0e\nFAIL\n", false},
		{"a worker that ended", began + "--- FAIL: FuzzExit (0.04s)\n    fuzzing process hung or terminated unexpectedly: exit status 3\n    Failing input written to testdata/fuzz/FuzzExit/42cc427079d7ad14\n    To re-run:\n    go test -run=FuzzExit/42cc427079d7ad14\nFAIL\nexit status 1\nFAIL\tfz\t0.042s\n", false},
		{"a package that does not compile", "# fz\nb_test.go:1:1: expected 'package', found broken\nFAIL\tfz [setup failed]\nFAIL\n", false},
	} {
		if got := timeUp(c.output); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
