package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLicences holds LICENSES.md to what the command links.
func TestLicences(t *testing.T) {
	modules, err := linked()
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("LICENSES.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := table(modules); string(have) != want {
		t.Errorf("LICENSES.md is stale; write it with go run ./experiments/release:\n%s", want)
	}
}

// TestBill holds a bill of materials to what govulncheck v1.1.4 printed (testdata/found.json) of
// calibra and of a database of four vulnerabilities made for this test: one whose code calibra
// links, one whose code it does not, one of the standard library, one mended before.
func TestBill(t *testing.T) {
	printed, err := os.Open(filepath.Join("testdata", "found.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer printed.Close()
	vulnerable, err := readVulnerabilities(printed)
	if err != nil {
		t.Fatal(err)
	}
	modules := []module{{Path: "github.com/goccy/go-yaml", Version: "v1.19.2", Licence: "MIT"}, {Path: "golang.org/x/text", Version: "v0.41.0", Licence: "BSD-3-Clause"}}
	b, err := json.Marshal(bill(modules, vulnerable))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"bom-ref":"pkg:golang/github.com/goccy/go-yaml@v1.19.2","name":"github.com/goccy/go-yaml","version":"v1.19.2","purl":"pkg:golang/github.com/goccy/go-yaml@v1.19.2","licenses":[{"expression":"MIT"}]`,
		`"name":"std"`,
		`{"name":"calibra:vulnerabilities","value":"looked up by govulncheck v1.1.4 in file:///database of 2026-01-02T03:04:05Z"}`,
		`"id":"GO-2099-0001","source":{"name":"Go vulnerability database","url":"https://pkg.go.dev/vuln/GO-2099-0001"},"references":[{"id":"CVE-2099-0001","source":{"name":"CVE"}}],"description":"A made vulnerability whose code is linked","recommendation":"update github.com/goccy/go-yaml to v1.99.0","analysis":{"state":"in_triage","detail":"calibra links the code at fault"},"affects":[{"ref":"pkg:golang/github.com/goccy/go-yaml@v1.19.2"}]`,
		`"analysis":{"state":"not_affected","justification":"code_not_present","detail":"calibra does not link the code at fault"},"affects":[{"ref":"pkg:golang/golang.org/x/text@v0.41.0"}]`,
		`"affects":[{"ref":"pkg:golang/std@1.26.8"}]`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the bill has no %s:\n%s", want, b)
		}
	}
	if strings.Contains(string(b), "GO-2099-0004") {
		t.Error("the bill has a vulnerability of another version")
	}
}

// TestUnsearched: a bill tells none found from none looked for.
func TestUnsearched(t *testing.T) {
	b, err := json.Marshal(bill(nil, unsearched))
	if err != nil || !strings.Contains(string(b), `"value":"not looked up"`) || strings.Contains(string(b), `"vulnerabilities":`) {
		t.Errorf("%v: %s", err, b)
	}
	const config = `{"config":{"scanner_name":"govulncheck","scanner_version":"v1.1.4","db":"https://vuln.go.dev",%s"scan_level":"symbol","scan_mode":"binary"}}`
	none, err := readVulnerabilities(strings.NewReader(strings.Replace(config, "%s", `"db_last_modified":"2026-01-02T03:04:05Z",`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if b, err = json.Marshal(bill(nil, none)); err != nil || !strings.Contains(string(b), `"vulnerabilities":[]`) {
		t.Errorf("%v: %s", err, b)
	}
	for _, printed := range []string{"", "{", strings.Replace(config, "%s", "", 1)} { // the last is what it prints of no database
		if _, err := readVulnerabilities(strings.NewReader(printed)); err == nil {
			t.Errorf("%q is taken for a search", printed)
		}
	}
}
