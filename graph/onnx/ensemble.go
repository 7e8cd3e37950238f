package onnx

// ensemble is a TreeEnsembleRegressor as its nodes are walked: those of each tree one after the other, its root first.
type ensemble struct {
	roots       []int
	column      []int // of a split, −1 of a leaf
	threshold   []float32
	left, right []int
	votes       []int // where those of a leaf begin, and of the last where they end
	class       []int
	weight      []float32
	classes     int
}

// ensembleOf is that of the attributes that [Network.Trees] writes.
func ensembleOf(a *attributes) *ensemble {
	e := &ensemble{threshold: a.single["nodes_values"], class: a.lists["target_ids"], weight: a.single["target_weights"], classes: a.whole["n_targets"]}
	root, voted := 0, 0
	for i, tree := range a.lists["nodes_treeids"] {
		if i == 0 || tree != a.lists["nodes_treeids"][i-1] {
			root = i
			e.roots = append(e.roots, i)
		}
		column := a.lists["nodes_featureids"][i]
		if a.texts["nodes_modes"][i] == "LEAF" {
			column = -1
		}
		e.column = append(e.column, column)
		e.left, e.right = append(e.left, root+a.lists["nodes_truenodeids"][i]), append(e.right, root+a.lists["nodes_falsenodeids"][i])
		e.votes = append(e.votes, voted)
		for voted < len(e.class) && a.lists["target_treeids"][voted] == tree && a.lists["target_nodeids"][voted] == i-root {
			voted++
		}
	}
	e.votes = append(e.votes, voted)
	return e
}

// treeEnsemble sums the votes of the leaves that each row falls into.
func treeEnsemble(in, out []*array, a *attributes) {
	rows, columns, _ := in[0].around(-1)
	e := a.trees
	out[0].set(Single, rows, e.classes)
	for b := range rows {
		row, sums := in[0].singles[b*columns:][:columns], out[0].singles[b*e.classes:][:e.classes]
		clear(sums)
		for _, at := range e.roots {
			for e.column[at] >= 0 {
				if row[e.column[at]] <= e.threshold[at] {
					at = e.left[at]
				} else {
					at = e.right[at]
				}
			}
			for v := e.votes[at]; v < e.votes[at+1]; v++ {
				sums[e.class[v]] += e.weight[v]
			}
		}
	}
}
