// Package pi says what pi writes: session files of all versions and dialects,
// directories, settings and environment variables. It also knows how pi resumes a
// session. No other package knows anything about pi. The central type is Agent, an
// adapter.Agent. The package imports adapter, jsonl, scope and internal/session.
package pi
