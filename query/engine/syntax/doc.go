// Package syntax answers: what does the text of a query mean? Parse turns the text into
// a tree of Nodes, its central type, and the String method of a node turns it back.
// Every text parses. What fits no rule is literal text, and warnings say so. Fields such
// as kind:call are those of filter.Fields.
package syntax
