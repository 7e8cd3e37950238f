//go:build sourceless

package calibra

import "embed"

// Sources are none in a released binary, which is its own digest.
var Sources embed.FS
