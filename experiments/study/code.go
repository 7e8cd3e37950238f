package study

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"calibra/experiments/method"
	"calibra/experiments/program"
	"calibra/experiments/run"
)

// codeOf is the digest of the code that computes a cell: of this package and all that it imports, and of the packages
// from outside that have a part in it, with what their parts hold. "" where that is not known, as where a card
// computes.
func codeOf(spec run.Spec, features int, code *program.Code) string {
	if spec.Executor != nil {
		return ""
	}
	values, err := method.ParseValues(spec.Set)
	if err != nil {
		return ""
	}
	options := method.Options{Catalog: spec.Catalog, Values: values, Features: features}
	outside, err := spec.Catalog.Outside(spec.Method, options)
	if err != nil {
		return ""
	}
	of, sum := &contents{packages: []string{"calibra/experiments/study"}}, sha256.New()
	of.to = sum
	of.add(reflect.ValueOf(outside))
	digest := code.Digest(of.packages...)
	if of.unknown || digest == "" {
		return ""
	}
	io.WriteString(sum, digest)
	return hex.EncodeToString(sum.Sum(nil))
}

// contents are what a value holds: numbers and words, and the packages of its types and functions.
type contents struct {
	to       io.Writer
	packages []string
	pointers []uintptr
	unknown  bool // it holds a function with variables of its own, which nobody can read
}

// add adds a value with all that it holds.
func (c *contents) add(v reflect.Value) {
	if !v.IsValid() {
		fmt.Fprintln(c.to, "nil")
		return
	}
	t := v.Type()
	fmt.Fprintln(c.to, t.PkgPath(), t)
	c.packages = append(c.packages, t.PkgPath())
	for _, argument := range argumentPackage.FindAllStringSubmatch(t.Name(), -1) {
		c.packages = append(c.packages, argument[1])
	}
	switch v.Kind() {
	case reflect.Func:
		if !v.IsNil() {
			c.function(runtime.FuncForPC(v.Pointer()).Name())
		}
	case reflect.Interface:
		c.add(v.Elem())
	case reflect.Pointer:
		at := slices.Index(c.pointers, v.Pointer())
		if fmt.Fprintln(c.to, at); at < 0 {
			c.pointers = append(c.pointers, v.Pointer())
			c.add(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			c.add(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprintln(c.to, v.Len())
		for i := range v.Len() {
			c.add(v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, key := range keys {
			c.add(key)
			c.add(v.MapIndex(key))
		}
	case reflect.Chan, reflect.UnsafePointer:
		c.unknown = true
	default:
		fmt.Fprintf(c.to, "%#v\n", v)
	}
}

// argumentPackage finds the packages of type arguments in the name of a type: Pair[example.org/mine.Rank,…].
var argumentPackage = regexp.MustCompile(`([^\[\],*]+)\.\w+`)

// withoutVariables are names of functions that hold none: F, T.M, (*T).M, and a literal in a declaration of the
// package.
var (
	withoutVariables = regexp.MustCompile(`^(init\.func\d+|\w+|\w+\.\w+|\(\*\w+\)\.\w+)$`)
	literal          = regexp.MustCompile(`^\w+\.func\d+$`)
)

// function adds the package of a function, "example.org/mine.Rank.func1".
func (c *contents) function(name string) {
	folder := strings.LastIndex(name, "/") + 1
	last, rest, _ := strings.Cut(name[folder:], ".")
	path, err := url.PathUnescape(name[:folder] + last)
	c.packages = append(c.packages, path)
	inside := literal.MatchString(rest) && !strings.HasPrefix(rest, "init.")
	c.unknown = c.unknown || err != nil || inside || !withoutVariables.MatchString(rest)
	fmt.Fprintln(c.to, name)
}
