// Command release lists what the binaries of a release are made of: every module that
// the command links on any platform, its version and its licence.
//
//	go run ./experiments/release                     # write LICENSES.md beside this file
//	go run ./experiments/release -sbom sbom.json     # write a bill of materials in CycloneDX 1.5
//
// The bill has the vulnerabilities that are known, where -vulnerabilities names what
// govulncheck -format json -mode=binary printed of a binary with symbols, and else states that
// they were not looked up. make release runs the second. A test holds LICENSES.md, and with it the versions, to what
// is linked.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"calibra/data"
	"calibra/data/disk"

	"github.com/google/licensecheck"
)

// module is one that the command links.
type module struct {
	Path, Version, Dir, Licence string
}

// platforms are those of the releases, but for the architecture.
var platforms = []string{"linux", "darwin", "windows"}

const program = "calibra/experiments/cmd/calibra"

// chosen are the licences of modules that offer a choice.
var chosen = map[string]string{
	"github.com/golang/freetype": "FTL", // or GPL-2.0-or-later
}

// linked lists the modules that the command links on any platform, by their paths.
func linked() ([]module, error) {
	found := map[string]module{}
	for _, system := range platforms {
		list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", program)
		list.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", system, err)
		}
		for line := range strings.Lines(string(out)) {
			if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(f) == 3 {
				found[f[0]] = module{Path: f[0], Version: f[1], Dir: f[2]}
			}
		}
	}
	all := slices.SortedFunc(maps.Values(found), func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	for i, m := range all {
		var err error
		if all[i].Licence = chosen[m.Path]; all[i].Licence == "" {
			if all[i].Licence, err = licence(m.Dir); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// licence is the SPDX identifier of the licence in a folder, or several joined by AND.
func licence(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		text, err := data.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		for _, m := range licensecheck.Scan(text).Match {
			if !m.IsURL && !slices.Contains(ids, m.ID) {
				ids = append(ids, m.ID)
			}
		}
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("%s has no licence that is known", dir)
	}
	return strings.Join(ids, " AND "), nil
}

// table is LICENSES.md.
func table(modules []module) string {
	var out strings.Builder
	out.WriteString("What `calibra` links, with the versions that go.mod pins. `go run ./experiments/release` writes this file.\n\n| module | version | licence |\n|---|---|---|\n")
	for _, m := range modules {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", m.Path, m.Version, m.Licence)
	}
	return out.String()
}

// bill is a bill of materials in CycloneDX 1.5.
func bill(modules []module, vulnerable found) any {
	type licences struct {
		Expression string `json:"expression"`
	}
	type component struct {
		Type     string     `json:"type"`
		Ref      string     `json:"bom-ref"`
		Name     string     `json:"name"`
		Version  string     `json:"version,omitempty"`
		PURL     string     `json:"purl,omitempty"`
		Licences []licences `json:"licenses"`
	}
	type property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	var all []component
	for _, m := range append(slices.Clone(modules), module{Path: "std", Version: strings.TrimPrefix(runtime.Version(), "go"), Licence: "BSD-3-Clause"}) {
		at := purl(m.Path, m.Version)
		all = append(all, component{Type: "library", Ref: at, Name: m.Path, Version: m.Version, PURL: at, Licences: []licences{{m.Licence}}})
	}
	b := map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata": map[string]any{
			"component":  component{Type: "application", Ref: "calibra", Name: "calibra", Licences: []licences{{"Apache-2.0"}}},
			"properties": []property{{"calibra:vulnerabilities", vulnerable.Searched}},
		},
		"components": all,
	}
	if vulnerable.Vulnerabilities != nil {
		b["vulnerabilities"] = vulnerable.Vulnerabilities
	}
	return b
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	sbom := flag.String("sbom", "", "write a bill of materials here in place of LICENSES.md")
	vulnerabilities := flag.String("vulnerabilities", "", "what govulncheck -format json -mode=binary printed, for the bill of materials")
	flag.Parse()
	modules, err := linked()
	must(err)
	path, text := filepath.Join("experiments", "release", "LICENSES.md"), table(modules)
	if *sbom != "" {
		vulnerable := unsearched
		if *vulnerabilities != "" {
			printed, err := data.ReadFile(*vulnerabilities)
			must(err)
			vulnerable, err = readVulnerabilities(bytes.NewReader(printed))
			must(err)
		}
		b, err := json.MarshalIndent(bill(modules, vulnerable), "", "  ")
		must(err)
		path, text = *sbom, string(b)+"\n"
	}
	must(disk.WriteBytes(path, []byte(text)))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
