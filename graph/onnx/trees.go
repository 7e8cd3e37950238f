package onnx

// machineLearning is the domain of ONNX's operators for trees, and version 3 of it the first of TreeEnsembleRegressor
// as it is written here.
const (
	machineLearning        = "ai.onnx.ml"
	machineLearningVersion = 3

	treesOp = "TreeEnsembleRegressor"
)

// TreeNode is a node of a tree, a split or a leaf, whose Votes a row adds to the sums that it reaches.
type TreeNode struct {
	Leaf        bool
	Column      int     // of a split
	Threshold   float32 // a row of a number above goes to the right
	Left, Right int     // children, by their places among the tree's nodes
	Votes       []Vote  // of a leaf
}

// Vote is what a leaf adds to the sum of a class.
type Vote struct {
	Class  int
	Weight float32
}

// Trees are the sums of the votes in the leaves that each row of x, in float32, falls into, in float64 (N×classes).
// Each tree begins with its root. Sums are of float32, in which whole numbers are exact.
func (g *Network) Trees(x Value, trees [][]TreeNode, classes int) Value {
	return g.Cast(g.Node(treesOp, []Value{x}, Int("n_targets", classes), Text("aggregate_function", "SUM"),
		Text("post_transform", "NONE"), Attribute{treesAttribute, trees}), Double)
}

// treesAttribute is what an [Engine] reads of trees. In a file they are the attributes of treeAttributes.
const treesAttribute = "trees"

// treeAttributes are the lists in which a file has trees.
func treeAttributes(trees [][]TreeNode) []Attribute {
	var tree, place, column, left, right, voter, voterTree, class []int
	var threshold, weight []float32
	var modes []string
	for t, nodes := range trees {
		for i, n := range nodes {
			tree, place, column = append(tree, t), append(place, i), append(column, n.Column)
			threshold, left, right = append(threshold, n.Threshold), append(left, n.Left), append(right, n.Right)
			mode := "BRANCH_LEQ"
			if n.Leaf {
				mode = "LEAF"
			}
			modes = append(modes, mode)
			for _, v := range n.Votes {
				voterTree, voter = append(voterTree, t), append(voter, i)
				class, weight = append(class, v.Class), append(weight, v.Weight)
			}
		}
	}
	return []Attribute{
		{"nodes_treeids", tree}, {"nodes_nodeids", place}, {"nodes_featureids", column}, {"nodes_values", threshold},
		{"nodes_modes", modes}, {"nodes_truenodeids", left}, {"nodes_falsenodeids", right}, {"target_treeids", voterTree},
		{"target_nodeids", voter}, {"target_ids", class}, {"target_weights", weight},
	}
}

// treeEnsemble sums the votes of the leaves that each row falls into.
func treeEnsemble(in, out []*array, a attributes) {
	rows, columns, _ := in[0].around(-1)
	classes := a.whole("n_targets")
	out[0].set(Single, rows, classes)
	for b := range rows {
		row, sums := in[0].singles[b*columns:][:columns], out[0].singles[b*classes:][:classes]
		clear(sums)
		for _, nodes := range a[treesAttribute].([][]TreeNode) {
			n := &nodes[0]
			for !n.Leaf {
				if row[n.Column] <= n.Threshold {
					n = &nodes[n.Left]
				} else {
					n = &nodes[n.Right]
				}
			}
			for _, v := range n.Votes {
				sums[v.Class] += v.Weight
			}
		}
	}
}
