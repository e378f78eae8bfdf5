package main

import (
	"fmt"
	"slices"
)

func reportHead(durable bool) {
	title := "Persistence off"
	if durable {
		title = "appendfsync always"
	}
	fmt.Printf("\n## %s\n\n", title)
	fmt.Println("| | server | CPU µs/request | requests/s | p50 ms | p99 ms | CPU ratio | rate ratio | aim |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|")
}

// reportRow prints a line for each server. Ratios are of medians.
func reportRow(r row, servers []*process, results [][]result) {
	cpu := func(x result) float64 { return x.cpuMicro }
	rate := func(x result) float64 { return x.rate }
	var reference []result
	for i, p := range servers {
		if p.name == "redis" {
			reference = results[i]
		}
	}
	for i, p := range servers {
		aim := ""
		if i == 0 {
			aim = aims(r)
		}
		fmt.Printf("| %s | %s | %s | %s | %s | %s | %.2f | %.2f | %s |\n", r.name, p.name,
			spread(results[i], cpu, "%.2f"), spread(results[i], rate, "%.0f"),
			spread(results[i], func(x result) float64 { return x.p50 }, "%.2f"),
			spread(results[i], func(x result) float64 { return x.p99 }, "%.2f"),
			median(results[i], cpu)/median(reference, cpu), median(results[i], rate)/median(reference, rate), aim)
	}
}

func aims(r row) string {
	switch {
	case r.aimCPU > 0:
		return fmt.Sprintf("CPU ≤ %.2f, rate ≥ %.1f", r.aimCPU, r.aimRate)
	case r.aimRate > 0:
		return fmt.Sprintf("rate ≥ %.1f", r.aimRate)
	}
	return ""
}

func sorted(results []result, of func(result) float64) []float64 {
	var values []float64
	for _, r := range results {
		values = append(values, of(r))
	}
	slices.Sort(values)
	return values
}

func median(results []result, of func(result) float64) float64 {
	v := sorted(results, of)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

func spread(results []result, of func(result) float64, format string) string {
	v := sorted(results, of)
	return fmt.Sprintf(format+" ["+format+"–"+format+"]", median(results, of), v[0], v[len(v)-1])
}
