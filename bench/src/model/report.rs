//! The model's tables, JSON and page.

use super::costs::{LINES, REMOTE_FACTOR};
use super::published::Comparison;
use super::queue::Shape;
use super::{ModelReport, Prediction, SHAPES, SIZES};
use crate::contender::Work;
use crate::format::{digits, duration, percent, rate};
use crate::json::{self, Value, object};
use crate::page::markup;
use crate::page::plot::{self, Axis, Plot, Series};
use crate::tables::{Table, text};
use wellspring::Mode;

impl ModelReport {
    /// Tables for a terminal.
    #[must_use]
    pub fn table(&self) -> String {
        text(&self.tables())
    }

    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.costs_table()];
        tables.extend(self.comparisons.iter().map(comparison));
        tables.extend(SIZES.map(|bytes| self.predictions_table(bytes)));
        tables.push(self.conclusion());
        tables
    }

    fn costs_table(&self) -> Table {
        let costs = &self.costs;
        let mut table = Table::new("What the model is fed with", &["", ""]);
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
            "a key, which is a claim's hold of the lock",
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

    /// The 8 sockets, in words.
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
    pub fn json(&self) -> String {
        let costs = &self.costs;
        let costs = object! {
            backend: costs.backend,
            generation_ns_per_byte: costs.generation_ns_per_byte,
            key_ns: costs.key_ns,
            around_lock_ns: costs.around_lock_ns,
            tap_read_ns: costs.tap_read_ns,
            local_line_ns: costs.local_line_ns,
            local_line_measured: costs.is_line_measured,
            remote_line_factor_assumed: REMOTE_FACTOR,
            lines_assumed: LINES,
        };
        let comparisons = self.comparisons.iter().map(|comparison| {
            let rows = comparison.rows.iter().map(|row| {
                object! { what: &row.what, published: row.published, model: row.model }
            });
            object! {
                title: comparison.title,
                unit: comparison.unit,
                rows: json::array(rows),
                assumptions: comparison.assumptions.to_vec(),
                differences: comparison.differences,
            }
        });
        let predictions = self.predictions.iter().map(|one| {
            object! {
                mode: one.mode.name(),
                bytes: one.bytes,
                sockets: one.shape.sockets,
                threads: one.shape.threads(),
                bytes_per_second: one.bytes_per_second,
                speedup: one.speedup,
                waiting_share: one.waiting_share,
            }
        });
        let report: Value = object! {
            costs: costs,
            comparisons: json::array(comparisons),
            predictions: json::array(predictions),
        };
        report.to_string()
    }

    /// A page with plots, in one file.
    #[must_use]
    pub fn html(&self) -> String {
        let header = markup::paragraph(&format!(
            "A discrete-event queue for locks, fed with the costs of {} on this machine. Medians; \
             what is assumed is listed below.",
            self.costs.backend
        ));
        let plots = SIZES.map(|bytes| self.plot(bytes));
        let figures: String = plots
            .iter()
            .map(|plot| format!("<figure>\n{}</figure>\n", plot.svg()))
            .collect();
        let legend = plot::legend(&plots[0].series);
        let words = "One socket fills up to 16 threads, then there are 2, 4 and 8 of them. Dotted: as many times \
                     as there are threads.";
        let figures = format!("<div class=\"row\">\n{figures}</div>\n{legend}");
        let tables: String = self.tables().iter().map(markup::table).collect();
        let body = [
            markup::section("Predicted throughput by threads", words, &figures),
            format!("<div class=\"tables\">\n{tables}</div>\n"),
        ];
        markup::page(
            "wellspring: the ladder on larger machines",
            &header,
            &body.concat(),
        )
    }

    fn plot(&self, bytes: usize) -> Plot {
        let modes = [
            (Mode::Canonical, 1),
            (Mode::Concurrent, 2),
            (Mode::PerNode, 3),
            (Mode::PerThread, 0),
        ];
        let series = modes.map(|(mode, color)| Series {
            name: mode.to_string(),
            color,
            is_strong: mode == Mode::PerThread,
            is_dashed: false,
            points: self
                .at(bytes, mode)
                .map(|one| (one.shape.threads() as f64, one.speedup, words(one)))
                .collect(),
        });
        let most = SHAPES[SHAPES.len() - 1].threads() as f64;
        let speedups = self.predictions.iter().map(|one| one.speedup);
        Plot {
            title: Some(Work::Fill(bytes).name()),
            width: 300.0,
            height: 300.0,
            x: Axis {
                label: "threads (logarithmic)".into(),
                is_logarithmic: true,
                ticks: [1, 4, 16, 32, 128]
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
        }
    }
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
