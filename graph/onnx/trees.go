package onnx

// machineLearning is the domain of ONNX's operators for trees, and version 3 of it the first of TreeEnsembleRegressor as
// it is written here.
const (
	machineLearning        = "ai.onnx.ml"
	machineLearningVersion = 3
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

// Trees are the sums of the votes in the leaves that each row of x, in float32, falls into, in float64 (N×classes). Each
// tree begins with its root. Sums are of float32, in which whole numbers are exact.
func (g *Network) Trees(x Value, trees [][]TreeNode, classes int) Value {
	var tree, place, column, left, right, voter, voterTree, class []int
	var threshold, weight []float32
	var modes []string
	for t, nodes := range trees {
		for i, n := range nodes {
			tree, place = append(tree, t), append(place, i)
			column, threshold, left, right = append(column, n.Column), append(threshold, n.Threshold), append(left, n.Left), append(right, n.Right)
			mode := "BRANCH_LEQ"
			if n.Leaf {
				mode = "LEAF"
			}
			modes = append(modes, mode)
			for _, v := range n.Votes {
				voterTree, voter, class, weight = append(voterTree, t), append(voter, i), append(class, v.Class), append(weight, v.Weight)
			}
		}
	}
	out := g.name("TreeEnsembleRegressor")
	text := nodeOf("TreeEnsembleRegressor", []Value{x}, []Value{out}, []Attribute{
		Int("n_targets", classes), Text("aggregate_function", "SUM"), Text("post_transform", "NONE"),
		Ints("nodes_treeids", tree...), Ints("nodes_nodeids", place...), Ints("nodes_featureids", column...),
		singles("nodes_values", threshold), texts("nodes_modes", modes), Ints("nodes_truenodeids", left...), Ints("nodes_falsenodeids", right...),
		Ints("target_treeids", voterTree...), Ints("target_nodeids", voter...), Ints("target_ids", class...), singles("target_weights", weight),
	}).Text(7, machineLearning) // domain
	g.trees = true
	g.nodes = append(g.nodes, node{[]Value{x}, []Value{out}, text})
	return g.Cast(out, Double)
}

// singles is an attribute of several numbers.
func singles(name string, values []float32) Attribute {
	m := message{}.Text(1, name)
	for _, v := range values {
		m = m.Single(7, v)
	}
	return Attribute(m.Number(20, 6)) // floats, FLOATS
}

// texts is one of several words.
func texts(name string, values []string) Attribute {
	m := message{}.Text(1, name)
	for _, v := range values {
		m = m.Text(9, v)
	}
	return Attribute(m.Number(20, 8)) // strings, STRINGS
}
