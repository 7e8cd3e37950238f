package simd

import "math"

// Adam holds the numbers of one step of Adam: decay rates β₁ and β₂, weight decay λ,
// factor 1−ηλ' on the parameters, rate η/(1−β₁ᵗ), scale 1/√(1−β₂ᵗ) and ε.
type Adam struct {
	Beta1, Beta2, Decay, Shrink, Rate, Scale, Epsilon float32
}

// Step moves the parameters θ and their moments m and v along the gradient,
//
//	g ← g + λ θ,   m ← β₁ m + (1−β₁) g,   v ← β₂ v + (1−β₂) g²,
//	θ ← shrink θ − rate m / (scale √v + ε) ,
//
// and leaves the gradient. It panics if the lengths differ.
func (a Adam) Step(theta, grad, m, v []float32) {
	sameLength("Adam.Step", len(theta), len(grad))
	sameLength("Adam.Step", len(theta), len(m))
	sameLength("Adam.Step", len(theta), len(v))
	if k := sets[isa].adam; k != nil && len(theta) > 0 {
		k(&theta[0], &grad[0], &m[0], &v[0], len(theta), a.Beta1, 1-a.Beta1, a.Beta2, 1-a.Beta2, a.Decay, a.Shrink, a.Rate, a.Scale, a.Epsilon)
	} else {
		adamPortable(a, theta, grad, m, v)
	}
}

func adamPortable(a Adam, theta, grad, m, v []float32) {
	for i, x := range theta {
		// float32 around a product: no compiler may fuse it with the addition
		g := grad[i] + float32(a.Decay*x)
		m[i] = float32(a.Beta1*m[i]) + float32((1-a.Beta1)*g)
		v[i] = float32(a.Beta2*v[i]) + float32((1-a.Beta2)*g*g)
		theta[i] = float32(a.Shrink*x) - a.Rate*m[i]/(float32(float32(math.Sqrt(float64(v[i])))*a.Scale)+a.Epsilon)
	}
}
