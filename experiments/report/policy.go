package report

import (
	"crypto/sha256"
	"encoding/base64"
)

// Policy is a Content-Security-Policy under which pages of this package work: they load nothing from elsewhere, and no
// script runs but theirs and those given, whatever else a page holds. Figures carry their styles in attributes.
func Policy(scripts ...string) string {
	policy := "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; connect-src 'self'; img-src 'self' data:; style-src 'unsafe-inline'; script-src"
	for _, s := range append([]string{script, mapScript}, scripts...) {
		sum := sha256.Sum256([]byte(s))
		policy += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return policy
}
