// Package pi knows what the pi coding agent keeps on disk: its session files of
// all versions and dialects, its directories, settings and variables, and how it
// opens a session again. It is the only package that does. Its central type is
// Agent, an adapter.Adapter; it imports the adapter package, jsonl and the nouns.
package pi
