package audit

// percentiles returns, for each of two percentages, the smallest number that at least so
// many percent of the numbers do not exceed. There must be some, none negative; it may
// reorder them.
func percentiles(list []int32, low, high int) (atLow, atHigh int32) {
	place := func(percent int) int { return max((percent*len(list)+99)/100, 1) - 1 } // rounded up
	return quickselect(list, place(low)), quickselect(list, place(high))
}

// quickselect returns the number that would have the index k if the list were sorted. It
// reorders them.
func quickselect(list []int32, k int) int32 {
	// The number that belongs at k is between lo and hi.
	for lo, hi := 0, len(list)-1; lo < hi; {
		i, j, pivot := lo, hi, list[lo+(hi-lo)/2]
		for i <= j {
			for list[i] < pivot {
				i++
			}
			for list[j] > pivot {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return pivot
		}
	}
	return list[k]
}
