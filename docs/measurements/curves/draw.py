#!/usr/bin/env python3
"""Draws the throughput of 1 to N threads on several machines, side by side: index.html, one file without scripts.

To add a machine, on it:
    cargo xtask bench --only throughput --json /tmp/report.json && python3 docs/measurements/curves/draw.py /tmp/report.json
Without a report it draws the machines of this folder again. A machine's file has its CPU's name and the figures of all modes.
"""

import html
import json
import math
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).parent
SIZES = ["32 B", "4 KiB", "64 KiB"]
COLOURS = {"per-thread": "#0072b2", "per-node": "#009e73", "concurrent": "#e69f00", "canonical": "#d55e00",
           "getrandom(2)": "#555555", "rand::rng()": "#cc79a7"}
WIDTH, HEIGHT, EDGE = 340, 240, 44
LOW, HIGH = 1e7, 1e12  # bytes per second


def add(report):
    """Keeps what is drawn of a report: a file named after the CPU and the number of CPUs."""
    names = ["name", "request", "threads", "bytes_per_second"]
    rows = [{name: row[name] for name in names} for row in report["throughput"]
            if row["name"] in COLOURS and row["request"] in SIZES]
    kept = {name: report[name] for name in ["host", "date", "version", "commit"]} | {"throughput": rows}
    cpu = re.sub(r"[^a-z0-9]+", "-", report["host"]["cpu"].lower()).strip("-")
    text = json.dumps(kept, indent=0) + "\n"
    (FOLDER / f"{cpu}-{report['host']['cpus']}.json").write_text(text)


def chart(machine, size, most):
    """One size on one machine: both axes are logarithmic and the same for all machines."""
    def place(threads, speed):
        x = EDGE + (WIDTH - 2 * EDGE) * math.log2(threads) / max(math.log2(most), 1)
        y = HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * math.log(speed / LOW) / math.log(HIGH / LOW)
        return f"{x:.1f},{y:.1f}"

    parts = [f'<svg width="{WIDTH}" height="{HEIGHT}"><text x="{EDGE}" y="20">{size}, bytes/s by threads</text>']
    for power in range(7, 13):
        point = place(1, 10.0**power).split(",")
        parts.append(f'<path d="M{EDGE} {point[1]}H{WIDTH - EDGE}" stroke="#ddd"/>\n'
                     f'<text x="2" y="{point[1]}">1e{power}</text>')
    for power in range(int(math.log2(most)) + 1):
        x = place(2**power, LOW).split(",")[0]
        parts.append(f'<text x="{x}" y="{HEIGHT - EDGE + 16}" text-anchor="middle">{2**power}</text>')
    for name, colour in COLOURS.items():
        rows = [row for row in machine["throughput"] if (row["name"], row["request"]) == (name, size)]
        points = [place(row["threads"], row["bytes_per_second"]) for row in sorted(rows, key=lambda row: row["threads"])]
        parts.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in (p.split(",") for p in points)]
    return "\n".join(parts) + "\n</svg>"


def page(machines):
    """All machines, one below the other."""
    most = max(row["threads"] for machine in machines for row in machine["throughput"])
    legend = "\n".join(f'<b style="color:{colour}">{name}</b>' for name, colour in COLOURS.items())
    parts = ["<!doctype html><meta charset=utf-8><title>Throughput by threads</title>",
             "<style>body{font:14px sans-serif}text{font-size:11px}</style>", "<p>", legend]
    for machine in machines:
        host = machine["host"]
        title = f"{host['cpu']}, {host['cpus']} CPUs, {host['system']}, load {host['load']}, {machine['date'][:10]}"
        if "nodes" in host:
            title += f", {host['nodes']} NUMA nodes, {host['last_level_caches']} last-level caches"
        parts.append(f"<h3>{html.escape(title)}</h3>\n" + "\n".join(chart(machine, size, most) for size in SIZES))
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    for path in sys.argv[1:]:
        add(json.loads(pathlib.Path(path).read_text()))
    files = sorted(FOLDER.glob("*.json"))
    (FOLDER / "index.html").write_text(page([json.loads(file.read_text()) for file in files]))
