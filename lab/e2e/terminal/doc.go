// Package terminal tests pigrep in the terminals of tmux, and what it prints in shells.
package terminal
