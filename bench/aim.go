package main

import "fmt"

// Aim is a ratio that the design asks of Hapax: its median of a metric over the
// reference's.
type Aim struct {
	Metric  string
	Against string  // the reference
	AtMost  float64 `json:",omitempty"`
	AtLeast float64 `json:",omitempty"`
	Ratio   float64 // what came out
	Met     bool
}

// reference is the server that ratios are against.
const reference = "redis"

func atMost(metric string, ratio float64) Aim {
	return Aim{Metric: metric, Against: reference, AtMost: ratio}
}

func atLeast(metric string, ratio float64) Aim {
	return Aim{Metric: metric, Against: reference, AtLeast: ratio}
}

// judge fills in what came out, against rows of the same load.
func (a Aim) judge(own Row, all []Row) Aim {
	a.Ratio = ratio(own, all, a.Against, a.Metric)
	switch {
	case a.Ratio == 0: // nothing to compare with
	case a.AtMost > 0:
		a.Met = a.Ratio <= a.AtMost
	default:
		a.Met = a.Ratio >= a.AtLeast
	}
	return a
}

// String is the aim as a table's cell.
func (a Aim) String() string {
	bound := fmt.Sprintf("≥ %.2f", a.AtLeast)
	if a.AtMost > 0 {
		bound = fmt.Sprintf("≤ %.2f", a.AtMost)
	}
	verdict := "missed"
	if a.Met {
		verdict = "met"
	}
	if a.Ratio == 0 {
		verdict = "not compared"
	}
	return fmt.Sprintf("%s %s: %s", a.Metric, bound, verdict)
}

// ratio is own's median over that of another server's row of the same name, X
// and parameters; 0 when there is none.
func ratio(own Row, all []Row, against, metric string) float64 {
	for _, other := range all {
		if other.Server != against || other.Name != own.Name || other.X != own.X {
			continue
		}
		a, b := own.Metrics[metric], other.Metrics[metric]
		if len(a.All) > 0 && len(b.All) > 0 && b.Median != 0 {
			return a.Median / b.Median
		}
	}
	return 0
}
