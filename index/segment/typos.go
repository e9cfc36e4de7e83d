package segment

import (
	"slices"

	"pigrep/index/format"
)

// typed are the characters that Typos replaces others with, or inserts.
const typed = "abcdefghijklmnopqrstuvwxyz0123456789"

// Typos visits the terms of a field that one typing error makes of this one: a
// character left out, two neighbours swapped, or an ASCII letter or digit too many
// or in the place of another. It looks up what the errors could have made, which
// takes a twentieth of the time of Fuzzy's walk through the dictionary. The term is
// valid during the visit only.
func (s *Segment) Typos(f Field, term []byte, visit func(term []byte)) (err error) {
	var visiting bool
	defer format.ContainUnless(format.Guard(), &visiting, "list similar terms", &err)
	tree, have, err := s.fst(f)
	if err != nil || !have {
		return err
	}
	var found []string
	// try follows the pieces from the node after term[:before], and keeps the term
	// if it exists.
	try := func(at int, before int, pieces ...[]byte) {
		for _, p := range pieces {
			for _, c := range p {
				var ok bool
				if at, _, ok = tree.after(at, c); !ok {
					return
				}
			}
		}
		if _, ok := tree.ends(at); ok {
			found = append(found, string(slices.Concat(append([][]byte{term[:before]}, pieces...)...)))
		}
	}
	at := tree.root // the node after term[:i]
	for i := 0; i <= len(term); i++ {
		if i < len(term) {
			try(at, i, term[i+1:])
		}
		if i+1 < len(term) && term[i] != term[i+1] {
			try(at, i, []byte{term[i+1], term[i]}, term[i+2:])
		}
		for k := range len(typed) {
			c := typed[k]
			if _, _, ok := tree.after(at, c); !ok {
				continue
			}
			if i < len(term) && c != term[i] {
				try(at, i, []byte{c}, term[i+1:])
			}
			try(at, i, []byte{c}, term[i:])
		}
		if i == len(term) {
			break
		}
		var ok bool
		if at, _, ok = tree.after(at, term[i]); !ok {
			break
		}
	}
	slices.Sort(found)
	visiting = true
	for _, t := range slices.Compact(found) {
		visit([]byte(t))
	}
	visiting = false
	return nil
}
