// Package pi reads what the pi coding agent keeps on disk: session files of all
// versions and dialects, directories, settings and environment variables; and it
// knows how pi resumes a session. No other package does. Its central type is Agent,
// an adapter.Agent. It imports adapter, jsonl, scope and the nouns.
package pi
