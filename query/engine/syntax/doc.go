// Package syntax answers: what does the text of a query mean? Parse turns the text into
// a tree of Nodes, its central type, and the String method of a node turns it back.
// Every text parses. What fits no rule is literal text, and warnings say so. filter.Fields
// has the fields, such as kind:call.
package syntax
