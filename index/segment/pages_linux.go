package segment

import "golang.org/x/sys/unix"

// dropPages unmaps the pages of a mapped file; they stay in the page cache.
func dropPages(mapped []byte) {
	if len(mapped) == 0 {
		return
	}
	// If the advice is not taken, that costs memory and nothing else.
	_ = unix.Madvise(mapped, unix.MADV_DONTNEED)
}
