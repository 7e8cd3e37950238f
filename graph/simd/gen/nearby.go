//go:build generate

package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"

	"calibra/graph/simd/gen/isa"
)

func nearbyUnit() {
	kernel("leastScores", "(least, scores *float32, words, levels int, marks float32)", leastScores)
}

// leastScores keeps in least, so many rows of two vectors of slots, the least scores of each slot, ascending. scores
// has a row of two vectors for each word; the bits of a score that marks clears give way to the number of the word.
func leastScores() {
	bytes := 4 * isa.Lanes()
	marks, index := broadcastParam("marks"), zero()
	words, scores := gp("words"), gp("scores")
	levels, least := gp("levels"), gp("least")

	Label("word")
	var key [2]vec
	for v := range key {
		key[v] = isa.NewVec()
		VMOVUPS(operand.Mem{Base: scores, Disp: bytes * v}, key[v])
		and(marks, key[v], key[v])
		or(index, key[v], key[v])
	}
	at, left := GP64(), GP64()
	MOVQ(least, at)
	MOVQ(levels, left)
	Label("level")
	for v := range key {
		kept, less := isa.NewVec(), isa.NewVec()
		place := operand.Mem{Base: at, Disp: bytes * v}
		VMOVUPS(place, kept)
		lesser(kept, key[v], less)
		greater(kept, key[v], key[v])
		VMOVUPS(less, place)
	}
	ADDQ(operand.I32(int32(2*bytes)), at)
	DECQ(left)
	JNZ(operand.LabelRef("level"))
	addInt(bits(1), index, index)
	ADDQ(operand.I32(int32(2*bytes)), scores)
	DECQ(words)
	JNZ(operand.LabelRef("word"))
}
