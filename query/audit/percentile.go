package audit

import "math/bits"

// percentiles returns, for each of two percentages, the smallest number that at least so
// many percent of the numbers do not exceed. There must be some, none negative; it may
// reorder them.
func percentiles(list []int32, low, high int) (atLow, atHigh int32) {
	place := func(percent int) int { return max((percent*len(list)+99)/100, 1) - 1 } // rounded up
	if len(list) < 1000 {
		return quickselect(list, place(low)), quickselect(list, place(high))
	}
	// Few numbers are in one bucket, so that this reads all of them only twice.
	var counts [buckets]int
	for _, v := range list {
		counts[bucketOf(v)]++
	}
	bucket := func(k int) (bucket, place int) {
		for ; counts[bucket] <= k; bucket++ {
			k -= counts[bucket]
		}
		return bucket, k
	}
	a, lowPlace := bucket(place(low))
	b, highPlace := bucket(place(high))
	inA, inB := make([]int32, 0, counts[a]), make([]int32, 0, counts[b])
	for _, v := range list {
		switch bucketOf(v) {
		case a:
			inA = append(inA, v)
		case b:
			inB = append(inB, v)
		}
	}
	if a == b {
		inB = inA
	}
	return quickselect(inA, lowPlace), quickselect(inB, highPlace)
}

// bucketOf returns the bucket of a number. There are 32 for every power of two.
func bucketOf(v int32) int {
	shift := max(bits.Len32(uint32(v))-6, 0)
	return shift<<5 + int(uint32(v)>>shift)
}

const buckets = 25<<5 + 64 // for 31 bits

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
