package program

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"

	"calibra/data"
	"calibra/graph/blas"
)

// Program is the program that made a number. Another one may make another number of the
// same Spec and data.
type Program struct {
	Version string `json:"version"` // "calibra v0.3.0 6511d47cab12, go1.25.0"
	// Digest is the SHA-256 of the executable, in hexadecimal digits: a change of any
	// line of code, of a module or of the compiler is another digest.
	Digest string `json:"digest"`
	// Commit is the first twelve digits of the commit that it was built from, "" where that is not
	// known or the files were changed.
	Commit string `json:"commit,omitempty"`
	// Products names the library that multiplies matrices, which decides the last digits. The vector
	// kernels round alike on AVX2 and AVX-512 and so are one.
	Products string `json:"matrix_products"`
}

// ThisProgram is the running program.
func ThisProgram() (Program, error) {
	digest, err := executableDigest()
	version, commit := built()
	return Program{Version: version, Digest: digest, Commit: commit, Products: blas.Name()}, err
}

// String is the version with the first digits of the digest.
func (p Program) String() string {
	return fmt.Sprintf("%s, executable %s", p.Version, p.Digest[:min(12, len(p.Digest))])
}

// executableDigest reads the file that was started, once. Linux opens it under the first
// name even where another build has taken its place.
var executableDigest = sync.OnceValues(func() (string, error) {
	f, err := data.OpenFile("/proc/self/exe")
	if err != nil {
		var path string
		if path, err = os.Executable(); err == nil {
			f, err = data.OpenFile(path)
		}
	}
	if err != nil {
		return "", fmt.Errorf("program: read the executable, by which results are told from those of other programs: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("program: read the executable, by which results are told from those of other programs: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
})

// built are the version of the program and the first digits of the commit that it was built from, "" where that is not
// known or the files were changed.
func built() (version, commit string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "calibra", ""
	}
	words := []string{"calibra", info.Main.Version}
	changed := false
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			if commit = s.Value[:min(len(s.Value), 12)]; !strings.Contains(info.Main.Version, commit) {
				words = append(words, commit)
			}
		case s.Key == "vcs.modified":
			changed = s.Value != "false"
		}
	}
	if changed {
		commit = ""
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ") + ", " + info.GoVersion, commit
}
