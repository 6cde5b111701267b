# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Sums a table of sales by region.

usage: summarise.py SALES.csv SUMMARY.csv
"""

import collections
import csv
import statistics
import sys


def main(source, target):
    amounts = collections.defaultdict(list)
    with open(source, newline="") as table:
        for row in csv.DictReader(table):
            amounts[row["region"]].append(int(row["units"]) * float(row["price"]))
    with open(target, "w", newline="") as summary:
        out = csv.writer(summary)
        out.writerow(["region", "orders", "revenue", "median_order"])
        for region, values in sorted(amounts.items(), key=lambda item: -sum(item[1])):
            out.writerow([region, len(values), f"{sum(values):.2f}", f"{statistics.median(values):.2f}"])
    best = max(amounts, key=lambda region: sum(amounts[region]))
    orders = sum(len(values) for values in amounts.values())
    print(f"{orders} orders in {len(amounts)} regions; most revenue: {best}, {sum(amounts[best]):.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
