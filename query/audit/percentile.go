package audit

// percentile returns the smallest number that at least so many percent of the numbers
// do not exceed. There must be some; it reorders them. It is a quickselect: with
// sorting, tools takes 10 % more CPU time over 1 GB of session files.
func percentile(list []int32, percent int) int32 {
	rank := (percent*len(list) + 99) / 100 // rounded up
	k := max(rank, 1) - 1
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
