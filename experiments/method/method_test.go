package method

import "testing"

// TestMethodsAreWhole: nothing that is said of a method is left to chance.
func TestMethodsAreWhole(t *testing.T) {
	titles := map[string]string{}
	for _, m := range All {
		if m.Group == Outside || m.Cost == (Cost{}) || m.Line == "" || len(m.Needs) == 0 {
			t.Errorf("%s lacks group, cost, line or needs", m.Name)
		}
		if (m.Group == Paper || m.Group == Baseline && m.Name != "nc") != (m.Reference != "") {
			t.Errorf("%s of group %s has the reference %q", m.Name, m.Group, m.Reference)
		}
		if other := titles[m.written()]; other != "" {
			t.Errorf("%s and %s are written %s", m.Name, other, m.written())
		}
		titles[m.written()] = m.Name
	}
	outside := OnLogits("mine", "a map", nil)
	if cheap, dear := Moment.Of(1e4, 512, 10), outside.Cost.Of(1e4, 512, 10); dear < 10*cheap {
		t.Errorf("a method that nobody timed takes %g s, one that is fitted at once %g s", dear, cheap)
	}
}
