// Package lists makes lists of lists.
package lists

// Map returns what of makes of each element of a list.
func Map[T, R any](list []T, of func(T) R) []R {
	made := make([]R, len(list))
	for i := range list {
		made[i] = of(list[i])
	}
	return made
}
