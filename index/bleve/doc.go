// Package bleve keeps the directory store/ of an index, which is an index of Bleve:
// its library and its command line tool open it without any code of ours.
//
//	store/index_meta.json   which engine Bleve needs
//	store/store/root.bolt   the snapshot: segments, deleted documents, mapping
//	store/store/*.zap       the segments, hard-linked
//
// Renew makes it what the newest generation is. Nothing of pigrep reads it, so it is
// neither synced nor checked: whatever was done to it, the next Renew puts it right.
//
// Bleve may open the store for writing, while pigrep writes too, and must not harm the
// index. It writes into root.bolt, which therefore is no link, and holds a lock on it:
// Renew writes a new one and renames it. When Bleve removes a segment it removes a
// link. But when it makes one it writes into whatever file has that name. It numbers
// its segments upwards from the highest number it found, so the links count downwards.
//
// What Bleve expects was read from its package index/scorch, which the program does not
// import: initializing it takes 3 ms. The tests do.
//
// Of our packages it may import index/segment.
package bleve
