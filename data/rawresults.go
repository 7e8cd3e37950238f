package data

// OpenRawResults reads a csv of raw results as the paper's authors write it: a
// header and a row for each sample, with the columns true (the label), preds (the
// predicted class, not read), logits_0 … logits_{C−1} and features_0 …
// features_{M−1}, in any order. Other columns are not read. Whatever is wrong
// with the file is an *InputError.
func OpenRawResults(path string) (*Set, error) {
	s, err := Open(path)
	if err != nil {
		return nil, err
	}
	return s.Test, s.Require("test_logits", "test_labels")
}
