package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFigures: each command that draws exports all its figures by --figures, in all forms; on paper with captions.
func TestFigures(t *testing.T) {
	inAllFormats(t)
	in, dir := write(t, features(300)), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if code, _, stderr := calibra(t, append([]string{"fit", "--in", in, "--method", "vq", "--out", at("fit"), "--figures", at("of fit")}, small...)...); code != 0 {
		t.Fatal(stderr)
	}
	predictions := filepath.Join(at("fit"), "predictions.npz")
	for _, c := range []struct {
		name  string
		args  []string
		drawn []string // among others
	}{
		{"fit", nil, []string{"reliability-top", "differences", "learning", "cells"}},
		{"evaluate", []string{"evaluate", "--in", predictions, "--replicates", "0", "--redraws", "5"}, []string{"reliability-top", "ess-profile"}},
		{"diagnose", []string{"diagnose", "--in", predictions, "--redraws", "19", "--out", at("diagnosis")}, []string{"map", "reliability-classes", "reliability-top"}},
		{"compare", []string{"compare", "--in", in, "--methods", "nc,ts", "--seeds", "1", "--out", at("compared")}, []string{"local", "global"}},
		{"study", []string{"study", "main", "--data", in, "--methods", "nc,ts", "--seeds", "1", "--out", at("study")}, nil},
		{"theory", []string{"theory", "fast", "co-occurrence"}, []string{"co-occurrence-error", "co-occurrence-schur"}}, // the cheapest with figures
	} {
		for _, style := range []string{"screen", "paper"} {
			to := at("of " + c.name)
			if style == "paper" || c.args != nil {
				args := append(slices.Clone(c.args), "--figures", to, "--style", style)
				if c.args == nil {
					args = append([]string{"fit", "--in", in, "--method", "vq", "--out", at("fit"), "--figures", to, "--style", style}, small...)
				}
				if code, _, stderr := calibra(t, args...); code != 0 {
					t.Fatalf("%s exits %d: %s", c.name, code, stderr)
				}
			}
			forms := []string{"svg", "pdf", "png", "csv"}
			if style == "paper" {
				forms = append(forms, "tex")
			}
			files := map[string]bool{}
			for _, path := range glob(t, filepath.Join(to, "*")) {
				files[filepath.Base(path)] = true
			}
			delete(files, "manifest.json")
			for name := range files {
				base := strings.TrimSuffix(name, filepath.Ext(name))
				for _, form := range forms {
					if !files[base+"."+form] {
						t.Errorf("%s, %s: %s has no %s", c.name, style, base, form)
					}
				}
			}
			if len(files)%len(forms) != 0 || len(files) == 0 {
				t.Errorf("%s, %s: %d files", c.name, style, len(files))
			}
			for _, name := range c.drawn {
				if !files[name+".svg"] {
					t.Errorf("%s, %s: %s is not drawn", c.name, style, name)
				}
			}
		}
	}
	for _, name := range []string{"compared", "study"} {
		if there := glob(t, filepath.Join(at(name), "figures")); there != nil {
			t.Errorf("%s has figures in two places", name)
		}
	}
	compiles(t, filepath.Join(at("compared"), "tables.tex"), at("of fit"), at("of evaluate"), at("of diagnose"), at("of compare"), at("of theory"))
	caption, err := os.ReadFile(filepath.Join(at("of fit"), "reliability-top.tex"))
	if err != nil || !bytes.Contains(caption, []byte(`\caption{How often the top class`)) || !bytes.Contains(caption, []byte(`\label{fig:reliability-top}`)) {
		t.Errorf("%s, %v", caption, err)
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestFigureFlags: what contradicts itself is refused before any work.
func TestFigureFlags(t *testing.T) {
	in := predictions(t)
	for args, want := range map[string]string{
		"--style paper":          "name a directory for them by --figures",
		"--figures x --style no": "must be one of",
	} {
		code, _, stderr := calibra(t, append([]string{"evaluate", "--in", in}, strings.Fields(args)...)...)
		if code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %s", args, code, stderr)
		}
	}
}
