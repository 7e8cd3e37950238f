package experiments

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"calibra/data"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// mostDepth is how deep groups of settings may be nested in a file.
const mostDepth = 8

// readSettings reads a file of settings. It is looked through before it is decoded: a decoder
// of YAML takes more memory than there is for files that are made to that end.
func readSettings(path string) (map[string]any, error) {
	text, err := data.ReadSmall(path, data.MostSettings)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if err := checkSettings(text); err != nil {
		return nil, data.Inputf(path, "%w", err)
	}
	tree := map[string]any{}
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, data.Inputf(path, "is not YAML of settings: %s", yaml.FormatError(err, false, false))
	}
	return tree, nil
}

// checkSettings returns an error unless text is one document of groups that are nested no
// deeper than mostDepth and named by no anchors.
func checkSettings(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("is not YAML of settings: it is no text in UTF-8; save it so")
	}
	flow := 0         // brackets that are open
	var columns []int // of the block groups that are open
	begun := false
	var before *token.Token
	for _, t := range lexer.Tokenize(string(text)) {
		at := t.Position
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return fmt.Errorf("has %s in line %d: settings have no anchors and no aliases; write the values out", t.Value, at.Line)
		case token.DocumentHeaderType, token.DocumentEndType:
			if begun && t.Type == token.DocumentHeaderType {
				return fmt.Errorf("has a second document in line %d; settings are one", at.Line)
			}
			continue
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
			if t.Type == token.MappingValueType && before != nil {
				at = before.Position // of the key
			}
			if flow == 0 {
				for len(columns) > 0 && columns[len(columns)-1] >= at.Column {
					columns = columns[:len(columns)-1]
				}
				columns = append(columns, at.Column)
			}
		}
		if flow+len(columns) > mostDepth {
			return fmt.Errorf("has groups of settings deeper than %d in line %d; a setting is KEY: VALUE, as in optim.rate: 3e-4", mostDepth, at.Line)
		}
		begun = begun || t.Type != token.CommentType && t.Type != token.DirectiveType
		before = t
	}
	return nil
}
