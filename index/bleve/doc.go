// Package bleve keeps the directory store/ of an index, which is an index of Bleve:
// its library and its command line tool open it without any code of ours.
//
//	store/index_meta.json   which engine Bleve needs
//	store/store/root.bolt   the snapshot: segments, deleted documents, mapping
//	store/store/*.zap       the segments, hard-linked
//
// Renew makes it show the newest generation. No answer comes from it, so its content is
// neither synced nor verified: whatever was done to it, the next Renew repairs it.
//
// Bleve may open the store for writing, while pigrep writes too, and must not harm the
// index. It writes into root.bolt, which therefore is no link, and holds a lock on it:
// Renew writes a new one and renames it. Removing a segment only removes a link. A new
// segment, however, is written into whatever file has its name, which would be ours if
// that were a link. Bleve numbers new segments upwards from the highest number it found,
// so the links are numbered downwards: no later link has a number that Bleve took.
//
// What Bleve expects was read from its package index/scorch, which the program does not
// import: initializing it takes 3 ms. The tests do.
//
// Of our packages it may import index/segment.
package bleve
