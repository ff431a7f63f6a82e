//! The tables, the JSON and the drawings of the model.

use super::costs::{LINES, REMOTE_FACTOR};
use super::published::Comparison;
use super::published::{self, Nodes};
use super::queue::Shape;
use super::{ModelReport, Prediction, SHAPES, SIZES};
use serde_json::{Value, json};
use wellspring::Mode;
use wellspring_bench::chart::{Axis, Drawing, Lines, Point, Series};
use wellspring_bench::contender::Work;
use wellspring_bench::format::{digits, duration, percent, rate};
use wellspring_bench::page::{Origin, Section};
use wellspring_bench::sections::MODES;
use wellspring_bench::table::Table;

impl ModelReport {
    /// Tables of the costs, the published figures and the predictions.
    #[must_use]
    pub(crate) fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.costs_table()];
        tables.extend(self.comparisons.iter().map(comparison));
        tables.extend(SIZES.map(|bytes| self.predictions_table(bytes)));
        tables.push(self.conclusion());
        tables
    }

    fn costs_table(&self) -> Table {
        let costs = &self.costs;
        let mut table = Table::new("What the model computes with", &["", ""]);
        let mut row = |name: &str, value: String| table.rows.push(vec![name.into(), value]);
        let line = if costs.is_line_measured {
            "measured"
        } else {
            "assumed"
        };
        row("backend", costs.backend.into());
        row(
            "a KiB of keystream",
            format!(
                "{}, measured",
                duration(1024.0 * costs.generation_ns_per_byte)
            ),
        );
        row(
            "a key: the time under the lock",
            format!("{}, measured", duration(costs.key_ns)),
        );
        row(
            "around a locked read",
            format!("{}, measured", duration(costs.around_lock_ns)),
        );
        row(
            "32 bytes from a tap",
            format!("{}, measured", duration(costs.tap_read_ns)),
        );
        row(
            "a cache line within a socket",
            format!("{}, {line}", duration(costs.local_line_ns)),
        );
        row(
            "a cache line between sockets",
            format!(
                "{}, assumed: {REMOTE_FACTOR} times that",
                duration(REMOTE_FACTOR * costs.local_line_ns)
            ),
        );
        row("lines that move with a lock", format!("{LINES}, assumed"));
        row(
            "waiters served before the next owner",
            "a half, assumed: they poll one word and do not sleep".into(),
        );
        row(
            "reseeds",
            "every 100 ms, assumed: the most there can be".into(),
        );
        row(
            "not in the model",
            "memory bandwidth, clocks that fall with load, hyperthreads".into(),
        );
        table
    }

    fn at(&self, bytes: usize, mode: Mode) -> impl Iterator<Item = &Prediction> {
        let wanted = move |one: &&Prediction| one.bytes == bytes && one.mode == mode;
        self.predictions.iter().filter(wanted)
    }

    fn predictions_table(&self, bytes: usize) -> Table {
        let shapes = SHAPES.map(name);
        let head: Vec<&str> = std::iter::once("")
            .chain(shapes.iter().map(String::as_str))
            .collect();
        let title = format!(
            "Predicted: reads of {}, sockets x threads on each",
            Work::Fill(bytes).name()
        );
        let mut table = Table::new(title, &head);
        for mode in Mode::ALL {
            let cells = self.at(bytes, mode).map(|one| rate(one.bytes_per_second));
            table
                .rows
                .push(std::iter::once(mode.to_string()).chain(cells).collect());
        }
        table
    }

    /// The largest machine, over one thread.
    fn conclusion(&self) -> Table {
        let head = ["", "over one thread", "of the ideal", "time spent waiting"];
        let shape = SHAPES[SHAPES.len() - 1];
        let mut table = Table::new(
            format!(
                "Predicted at {} sockets, {} threads",
                shape.sockets,
                shape.threads()
            ),
            &head,
        );
        for bytes in SIZES {
            for mode in Mode::ALL {
                let Some(one) = self.at(bytes, mode).last() else {
                    continue;
                };
                table.rows.push(vec![
                    format!("{mode}, {}", Work::Fill(bytes).name()),
                    format!("{}x", digits(one.speedup)),
                    percent(one.speedup / shape.threads() as f64),
                    percent(one.waiting_share),
                ]);
            }
        }
        table
    }

    /// Every figure.
    #[must_use]
    pub(crate) fn json(&self) -> Value {
        let costs = &self.costs;
        let comparisons = self.comparisons.iter().map(|comparison| {
            let rows = comparison.rows.iter().map(
                |row| json!({ "what": row.what, "published": row.published, "model": row.model }),
            );
            json!({
                "title": comparison.title,
                "unit": comparison.unit,
                "rows": rows.collect::<Vec<_>>(),
                "assumptions": comparison.assumptions,
                "differences": comparison.differences,
            })
        });
        let predictions = self.predictions.iter().map(|one| {
            json!({
                "mode": one.mode.name(),
                "bytes": one.bytes,
                "sockets": one.shape.sockets,
                "threads": one.shape.threads(),
                "bytes_per_second": one.bytes_per_second,
                "speedup": one.speedup,
                "waiting_share": one.waiting_share,
            })
        });
        json!({
            "costs": {
                "backend": costs.backend,
                "generation_ns_per_byte": costs.generation_ns_per_byte,
                "key_ns": costs.key_ns,
                "around_lock_ns": costs.around_lock_ns,
                "tap_read_ns": costs.tap_read_ns,
                "local_line_ns": costs.local_line_ns,
                "local_line_measured": costs.is_line_measured,
                "remote_line_factor_assumed": REMOTE_FACTOR,
                "lines_assumed": LINES,
            },
            "comparisons": comparisons.collect::<Vec<_>>(),
            "predictions": predictions.collect::<Vec<_>>(),
        })
    }

    /// Drawings of the published figures and the predictions.
    #[must_use]
    pub(crate) fn section(&self) -> Section {
        let predicted = SIZES.map(|bytes| self.plot(bytes));
        Section {
            title: "Larger machines".into(),
            words: format!(
                "Not measured: a queue for locks, computed with the costs of {} on this machine. The first chart holds the \
                 model against what was published for Linux in 2015; the others predict 16 threads a socket on 1, 2, 4 and 8 \
                 sockets. Dotted: as many times as there are nodes or threads. The tables list the assumptions.",
                self.costs.backend
            ),
            origin: Origin::Modelled,
            drawings: std::iter::once(nodes(&published::nodes()))
                .chain(predicted)
                .collect(),
        }
    }

    fn plot(&self, bytes: usize) -> Drawing {
        let series = MODES.map(|mode| Series {
            name: mode.to_string(),
            is_dashed: true,
            points: self
                .at(bytes, mode)
                .map(|one| Point {
                    x: one.shape.threads() as f64,
                    y: one.speedup,
                    words: words(one),
                })
                .collect(),
        });
        let most = SHAPES[SHAPES.len() - 1].threads() as f64;
        let speedups = self.predictions.iter().map(|one| one.speedup);
        let lines = Lines {
            title: format!("Predicted: reads of {}", Work::Fill(bytes).name()),
            x: Axis {
                label: "threads; 16 fill a socket".into(),
                is_logarithmic: true,
                ticks: [1, 4, 16, 32, 64, 128]
                    .map(|threads| (f64::from(threads), threads.to_string()))
                    .to_vec(),
                from: 0.9,
                to: most * 1.1,
            },
            y: Axis::logarithmic("times one thread", speedups, |factor| {
                format!("{}x", digits(factor))
            }),
            series: series.into(),
            ideal: vec![(1.0, 1.0), (most, most)],
        };
        lines.draw()
    }
}

/// The published figures as full lines, the model's as dashed ones.
fn nodes(kinds: &[Nodes]) -> Drawing {
    let series = |kind: &Nodes, origin: &str, points: &[(usize, f64)]| Series {
        name: format!("{}, {origin}", kind.name),
        is_dashed: origin == "model",
        points: points
            .iter()
            .map(|&(nodes, factor)| Point {
                x: nodes as f64,
                y: factor,
                words: format!("{nodes} nodes, {}x", digits(factor)),
            })
            .collect(),
    };
    let both = |kind: &Nodes| {
        [
            series(kind, "published", &kind.published),
            series(kind, "model", &kind.model),
        ]
    };
    let series: Vec<Series> = kinds.iter().flat_map(both).collect();
    let factors = series
        .iter()
        .flat_map(|one| one.points.iter().map(|point| point.y));
    let lines = Lines {
        title: "Linux 2015: published and modelled".into(),
        x: Axis {
            label: "nodes".into(),
            is_logarithmic: true,
            ticks: [1, 2, 3, 4, 8]
                .map(|nodes| (f64::from(nodes), nodes.to_string()))
                .to_vec(),
            from: 0.95,
            to: 8.4,
        },
        y: Axis::logarithmic("times one node", factors, |factor| {
            format!("{}x", digits(factor))
        }),
        series,
        ideal: vec![(1.0, 1.0), (8.0, 8.0)],
    };
    lines.draw()
}

fn words(one: &Prediction) -> String {
    format!(
        "{} threads, {}x, {}, {} of the time waiting",
        name(one.shape),
        digits(one.speedup),
        rate(one.bytes_per_second),
        percent(one.waiting_share)
    )
}

fn name(shape: Shape) -> String {
    format!("{} x {}", shape.sockets, shape.threads_per_socket)
}

fn comparison(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        comparison.title,
        &["", "published", "model", "model over published"],
    );
    for row in &comparison.rows {
        table.rows.push(vec![
            row.what.clone(),
            format!("{} {}", digits(row.published), comparison.unit),
            format!("{} {}", digits(row.model), comparison.unit),
            format!("{}x", digits(row.model / row.published)),
        ]);
    }
    table.notes = comparison
        .assumptions
        .iter()
        .map(|assumed| format!("assumed: {assumed}"))
        .collect();
    table.note(comparison.differences)
}
