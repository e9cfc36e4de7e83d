// Package lists makes and sorts lists.
package lists

import "sort"

// Map returns what of makes of each element of a list.
func Map[T, R any](list []T, of func(T) R) []R {
	made := make([]R, len(list))
	for i := range list {
		made[i] = of(list[i])
	}
	return made
}

// Sort is slices.SortFunc for lists that are short or seldom sorted. It is slower, but adds
// less than a tenth of the code to the program: that has about 15 kB for each type of values.
func Sort[T any](list []T, compare func(a, b T) int) {
	sort.Slice(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}

// SortStable is Sort that keeps equal values in their order.
func SortStable[T any](list []T, compare func(a, b T) int) {
	sort.SliceStable(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}
