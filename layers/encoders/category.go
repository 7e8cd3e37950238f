package encoders

// Category is a categorical column: its values are the whole numbers 0…Values−1.
type Category struct {
	Column int `json:"column"` // from 0
	Values int `json:"values"`
}

// categorical is a network that reads some columns as categories.
type categorical interface{ categories() []Category }

func categoriesOf(n Network) []Category {
	if c, ok := n.(categorical); ok {
		return c.categories()
	}
	return nil
}
