package method

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/optim"
)

// TestEveryMethodListsItsSettings: each key is named once and explained, its default lies
// in its own range, and setting it to its default changes nothing.
func TestEveryMethodListsItsSettings(t *testing.T) {
	for _, m := range All {
		model, keys, err := m.Build(Options{})
		if err != nil {
			t.Fatalf("%s: %v", m.Name, err)
		}
		again, _, _ := m.Build(Options{})
		comparable := reflect.DeepEqual(model, again) // not so if it holds functions
		seen := map[string]bool{}
		for _, k := range keys {
			if seen[k.Name] || k.Line == "" || k.Kind == "" || !strings.Contains(k.Name, ".") {
				t.Errorf("%s: the key %+v is there twice or says nothing", m.Name, k)
			}
			seen[k.Name] = true
			words, depends := k.Default.(string)
			if depends && !strings.HasPrefix(k.Kind, "word of") {
				continue // told in words
			}
			text := words
			if !depends {
				text = strings.Trim(strings.ReplaceAll(reflectText(k.Default), " ", ","), "[]")
			}
			if k.Name == "optim.gradient" {
				continue // a cross-validation has a coarser one where nobody says
			}
			same, _, err := m.Build(Options{Values: Values{k.Name: text}})
			if err != nil || comparable && !reflect.DeepEqual(same, model) {
				t.Errorf("%s: %s=%s is not its default (%v)", m.Name, k.Name, text, err)
			}
		}
	}
}

func reflectText(v any) string { return fmt.Sprint(v) }

// TestSettingsFile: groups may be nested or dotted, lists are lists, and --set wins.
func TestSettingsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.yaml")
	text := "optim:\n  rate: 3.0e-4\n  epochs: 7\ndivide.batch: 64\nodir: {strengths: [1, 0.1]}\nbilinear.scale: learned\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	got, err := ReadValues([]string{path, "optim.epochs=9"})
	want := Values{"optim.rate": "0.0003", "optim.epochs": "9", "divide.batch": "64", "odir.strengths": "1,0.1", "bilinear.scale": "learned"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
	for _, bad := range []string{"- 1\n", "optim: [\n", "optim:\n", "optim: {rate: 1}\noptim.rate: 2\n"} {
		if err := os.WriteFile(path, []byte(bad), 0o666); err != nil {
			t.Fatal(err)
		}
		var input *data.InputError
		if _, err := ReadValues([]string{path}); !errors.As(err, &input) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestDivideSettings: a key goes to the methods that have it, one with a method's name to
// that method, and one that nobody has is an error.
func TestDivideSettings(t *testing.T) {
	var c *Catalog
	got, err := c.Divide(Values{"optim.rate": "0.1", "codebook.slots": "8", "ln.optim.rate": "0.2", "histogram.bins": "9"}, []string{"vq", "ln", "ts", "histogram"})
	want := map[string]Values{
		"vq": {"optim.rate": "0.1", "codebook.slots": "8"}, "ln": {"optim.rate": "0.2"}, "histogram": {"histogram.bins": "9"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
	for _, key := range []string{"codebook.slot", "ts.optim.rate", "vq.net.hidden"} {
		if _, err := c.Divide(Values{key: "1"}, []string{"vq", "ts"}); err == nil || !strings.HasPrefix(err.Error(), "none of vq and ts has a setting "+key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestStoreIsBoundedByMemory: nobody's choice leaves the bound to optim.LBFGS.
func TestStoreIsBoundedByMemory(t *testing.T) {
	if got := (&Options{}).Minimize().(optim.LBFGS).Store; got != 0 {
		t.Errorf("%d steps are remembered where nobody chose", got)
	}
}

func TestDefaultSlots(t *testing.T) {
	for features, want := range map[int]int{512: 64, 16: 16, 128: 64, 768: 64, 2048: 64, 96: 48, 17: 17, 67: 1, 1: 1} {
		if got := defaultSlots(features); got != want {
			t.Errorf("%d features are cut into %d slots, not %d", features, got, want)
		}
	}
	if !slices.ContainsFunc(All, func(m Method) bool { return m.Split() == data.NoValidation }) {
		t.Error("every method wants validation rows")
	}
}

// TestRangeOfOnesOwn: a range of another module refuses in its own words, and the zero value takes all finite numbers.
func TestRangeOfOnesOwn(t *testing.T) {
	even := Range{Name: "whole number that is even", Holds: func(x float64) bool { return int(x)%2 == 0 }}
	for _, c := range []struct {
		in   Range
		text string
		says string
	}{{even, "4", ""}, {even, "3", "must be a whole number that is even"}, {Range{}, "-3", ""}, {Range{}, "Inf", "must be a number"}, {Range{}, "NaN", "must be a number"}} {
		o := Options{Values: Values{"own.x": c.text}}
		o.Float("own.x", 0, c.in, "", "a number")
		if err := o.Finish("own has no"); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s in %q: %v", c.text, c.in.Name, err)
		}
	}
}
