package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// found is what govulncheck found in a binary.
type found struct {
	Searched        string // by what and where, or why nothing is known
	Vulnerabilities []vulnerability
}

// unsearched is found where nothing was looked for.
var unsearched = found{Searched: "not looked up"}

// vulnerability is one of CycloneDX 1.5.
type vulnerability struct {
	ID             string   `json:"id"`
	Source         link     `json:"source"`
	References     []named  `json:"references,omitempty"`
	Description    string   `json:"description"`
	Recommendation string   `json:"recommendation,omitempty"`
	Analysis       analysis `json:"analysis"`
	Affects        []ref    `json:"affects"`
}

type link struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// named is the same vulnerability elsewhere.
type named struct {
	ID     string `json:"id"`
	Source struct {
		Name string `json:"name"`
	} `json:"source"`
}

// analysis is whether the code at fault is there.
type analysis struct {
	State         string `json:"state"`
	Justification string `json:"justification,omitempty"`
	Detail        string `json:"detail"`
}

type ref struct {
	Ref string `json:"ref"`
}

// message is one of those of govulncheck -format json.
type message struct {
	Config *struct {
		Scanner  string     `json:"scanner_name"`
		Version  string     `json:"scanner_version"`
		DB       string     `json:"db"`
		Modified *time.Time `json:"db_last_modified"`
		Level    string     `json:"scan_level"`
		Mode     string     `json:"scan_mode"`
	} `json:"config"`
	OSV     *entry   `json:"osv"`
	Finding *finding `json:"finding"`
}

// entry is one of the database.
type entry struct {
	ID       string   `json:"id"`
	Aliases  []string `json:"aliases"`
	Summary  string   `json:"summary"`
	Details  string   `json:"details"`
	Database link     `json:"database_specific"`
}

// finding is a place in the binary that an entry is of.
type finding struct {
	OSV   string `json:"osv"`
	Fixed string `json:"fixed_version"`
	Trace []struct {
		Module   string `json:"module"`
		Version  string `json:"version"`
		Function string `json:"function"`
	} `json:"trace"`
}

// vulnerability is the entry as the bill of materials has it, before anything was found.
func (e *entry) vulnerability() *vulnerability {
	v := &vulnerability{ID: e.ID, Source: link{"Go vulnerability database", e.Database.URL}, Description: cmp.Or(e.Summary, e.Details)}
	for _, id := range e.Aliases {
		same := named{ID: id}
		same.Source.Name, _, _ = strings.Cut(id, "-") // CVE, GHSA
		v.References = append(v.References, same)
	}
	v.Analysis = analysis{"not_affected", "code_not_present", "calibra does not link the code at fault"}
	return v
}

// addTo adds to a vulnerability where it was found.
func (f *finding) addTo(v *vulnerability) {
	at := f.Trace[0]
	if at.Function != "" {
		v.Analysis = analysis{"in_triage", "", "calibra links the code at fault"}
	}
	if f.Fixed != "" {
		v.Recommendation = "update " + at.Module + " to " + f.Fixed
	}
	if in := (ref{purl(at.Module, at.Version)}); !slices.Contains(v.Affects, in) {
		v.Affects = append(v.Affects, in)
	}
}

// readVulnerabilities reads what govulncheck -format json -mode=binary printed of a binary with
// symbols. What it printed of a database that it did not reach is an error.
func readVulnerabilities(r io.Reader) (found, error) {
	var f found
	all := map[string]*vulnerability{}
	for d := json.NewDecoder(r); ; {
		var m message
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return found{}, fmt.Errorf("what govulncheck found cannot be read: %w", err)
		}
		switch {
		case m.Config != nil:
			c := m.Config
			if c.Modified == nil || c.Level != "symbol" || c.Mode != "binary" {
				return found{}, errors.New("govulncheck did not compare a binary's symbols with its database; run it with -format json -mode=binary where it can reach the database")
			}
			f.Searched = fmt.Sprintf("looked up by %s %s in %s of %s", c.Scanner, c.Version, c.DB, c.Modified.Format(time.RFC3339))
		case m.OSV != nil:
			all[m.OSV.ID] = m.OSV.vulnerability()
		case m.Finding != nil:
			v := all[m.Finding.OSV]
			if v == nil || len(m.Finding.Trace) == 0 {
				return found{}, fmt.Errorf("govulncheck found %q and does not say what it is", m.Finding.OSV)
			}
			m.Finding.addTo(v)
		}
	}
	if f.Searched == "" {
		return found{}, errors.New("what govulncheck found does not say where it looked")
	}
	f.Vulnerabilities = []vulnerability{} // none, which is known
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if v := all[id]; len(v.Affects) > 0 { // it lists other versions too
			f.Vulnerabilities = append(f.Vulnerabilities, *v)
		}
	}
	return f, nil
}

// purl names a module in a bill of materials, the standard library by its version without v.
func purl(path, version string) string {
	if path == "stdlib" {
		path, version = "std", strings.TrimPrefix(version, "v")
	}
	return "pkg:golang/" + path + "@" + version
}
