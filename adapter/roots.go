package adapter

func (pi) Roots(env Environment) ([]Root, error) { return nil, nil }
