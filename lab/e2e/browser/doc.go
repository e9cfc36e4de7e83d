// Package browser tests the pages of pigrep in Chromium.
package browser
