package chart

import "pigrep/query/facets"

// Hits draws the hits of a query over time, low enough to stand above a list of them.
func Hits(days []facets.Day) *Chart {
	if len(days) == 0 {
		return &Chart{Kind: Bars, Low: true, Title: "Hits"}
	}
	by := PeriodFor(days[0].Start, days[len(days)-1].Start)
	hits := make(map[string]float64)
	var labels []string
	for _, d := range days {
		label := periodOf(d.Start, by)
		if hits[label] == 0 {
			labels = append(labels, label)
		}
		hits[label] += float64(d.Hits)
	}
	c := &Chart{Kind: Bars, Low: true, Title: "Hits by " + by, Head: by, Labels: filled(labels), Series: []Series{{Name: "hits"}}}
	for _, label := range c.Labels {
		c.Series[0].Values = append(c.Series[0].Values, hits[label])
	}
	return c
}
