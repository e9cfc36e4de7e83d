// Package bleve maintains the store of an index: its directory store/, which Bleve's
// library and command line tool open as an index of theirs, without any code of ours.
//
//	store/index_meta.json   which engine Bleve must use
//	store/store/root.bolt   the snapshot: segments, deleted documents, mapping
//	store/store/*.zap       the segments, hard-linked
//
// Renew makes it show the newest generation. pigrep reads nothing from it, so it is
// neither synced nor verified: whatever happens to it, the next Renew repairs it.
//
// Bleve may open the store for writing, even while pigrep writes, and must not harm the
// index by what it does:
//
//   - It locks root.bolt and writes into it. So root.bolt is a separate file, not a
//     link, and Renew replaces it with a new one.
//   - It removes segments, which only removes links.
//   - It writes each new segment into whatever file has that name. If that were a link,
//     it would overwrite a segment of the index. Bleve numbers new segments upwards from
//     the highest number it finds, so links are numbered downwards: no later link gets a
//     number that Bleve has used.
//
// The layout follows Bleve's package index/scorch. The tests import that; the program
// must not, because initializing it takes 3 ms.
//
// Of our packages it may import index/segment.
package bleve
